// The examples of docs/budgets.md are run: what they limit is limited.
import { expect, test } from "vitest";
import { createTestHost, reply, scriptedModel, text, toolCall, usage } from "everthink/testing";
import { user } from "../kit/messages.ts";
import { Assistant, Searching } from "./examples/budgets.ts";

const steps = () => [
  reply(toolCall("search", { query: "news" }), usage({ input: 1_000, output: 10 })),
  reply(text("Nothing."), usage({ input: 1_000, output: 10 }))
];

test("the assistant's turn is counted with the price of its model", async () => {
  class Scripted extends Assistant {
    override getModel() {
      return scriptedModel([reply(text("Hi."), usage({ input: 1_000, output: 10 }))], {
        provider: "openai.responses",
        modelId: "gpt-5"
      });
    }
  }
  const agent = await createTestHost({ agents: { Scripted } }).get(Scripted, "a");
  expect(await agent.saveMessages([user("hi")])).toMatchObject({ status: "completed" });
  const { total, accounts } = await agent.getCosts();
  expect(total.usd).toBeCloseTo((1_000 * 1.25 + 10 * 10) / 1e6, 9);
  expect(accounts.map(({ account }) => account)).toContainEqual(expect.stringMatching(/^key:nobody:/));
});

test("the searching one has a price of its own, and counts its searches", async () => {
  class Scripted extends Searching {
    readonly #model = scriptedModel(steps(), { provider: "openai", modelId: "gpt-5" });
    override getModel() {
      return this.#model;
    }
  }
  const agent = await createTestHost({ agents: { Scripted } }).get(Scripted, "a");
  expect(await agent.saveMessages([user("hi")])).toMatchObject({ status: "completed" });
  const perCall = (1_000 * 1 + 10 * 8) / 1e6;
  expect((await agent.getCosts()).total.usd).toBeCloseTo(0.005 + 2 * perCall, 9);
});
