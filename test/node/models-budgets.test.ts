// Several models under a budget: each call of each of them is reserved and settled by itself.
import type { LanguageModel } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { usd, type BudgetLimit } from "../../src/core/budgets.ts";
import { chatServicesOf } from "../../src/feature/services.ts";
import { Think } from "../../src/index.ts";
import {
  after,
  createScript,
  createTestHost,
  fail,
  reply,
  text,
  usage,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { user } from "../kit/messages.ts";

beforeEach(() => {
  const spies = [vi.spyOn(console, "warn"), vi.spyOn(console, "error")].map((spy) => spy.mockReturnValue(undefined));
  return () => spies.forEach((spy) => spy.mockRestore());
});

let scripts: readonly (readonly [provider: string, script: Script])[];
let limit: BudgetLimit;
let hedgeAfterMs: number;

class Spender extends Think {
  override modelFallback = { hedgeAfterMs };
  override workspaceTools = false;
  override getModel() {
    const [first] = this.getModels();
    if (!first) throw new Error("There is no script.");
    return first;
  }
  override getModels(): LanguageModel[] {
    const { clock } = chatServicesOf(this);
    return scripts.map(([provider, script]) => installedModel(script, { provider, modelId: "large", clock }));
  }
  override getPrices() {
    // A dollar per thousand tokens of the first, ten of the second.
    return [
      { provider: "a", model: "*", input: 1_000, output: 1_000 },
      { provider: "b", model: "*", input: 10_000, output: 10_000 }
    ];
  }
  override getBudgets() {
    return [limit];
  }
  override beforeTurn() {
    return { maxOutputTokens: 100 };
  }
}

interface Counted {
  readonly [column: string]: string | number;
  readonly provider: string;
  readonly state: string;
}

async function ask(steps: Record<string, Step[]>, given: { dollars: number; hedge?: number }) {
  scripts = Object.entries(steps).map(([provider, script]) => [provider, createScript(script)]);
  limit = { per: "conversation", limit: usd(given.dollars), then: "stop" };
  hedgeAfterMs = given.hedge ?? 0;
  const host = createTestHost({ agents: { Spender } });
  const agent = await host.get(Spender, "a");
  const ended = agent.saveMessages([user("u", "Hi")]);
  await host.advance(120_000);
  const outcome = await ended;
  const hasCalls = host.sql(Spender, "a", "SELECT 1 FROM sqlite_master WHERE name = 'cf_budget_calls'").length > 0;
  const query = "SELECT provider, state, usd FROM cf_budget_calls ORDER BY number";
  const calls = hasCalls ? host.sql<Counted>(Spender, "a", query) : [];
  return { outcome, calls, costs: await agent.getCosts() };
}

test("a model that stands in for another has a reservation of its own, at its own price", async () => {
  const { outcome, calls, costs } = await ask(
    { a: [fail(new Error("down"), { statusCode: 503 })], b: [reply(text("B."), usage({ input: 100, output: 10 }))] },
    { dollars: 1_000 }
  );
  expect(outcome.status).toBe("completed");
  expect(calls.map(({ provider }) => provider)).toEqual(["a", "b"]);
  expect(JSON.stringify(costs)).toContain("b");
});

test("both calls of a hedge are reserved, and none is left open", async () => {
  const words = (ms: number, said: string) => reply(after(ms), text(said), usage({ input: 100, output: 10 }));
  const { outcome, calls } = await ask(
    { a: [words(30_000, "A.")], b: [words(1_000, "B.")] },
    { dollars: 1_000, hedge: 2_000 }
  );
  expect(outcome.status).toBe("completed");
  expect(calls.map(({ provider, state }) => `${provider} ${state}`)).toEqual(["a settled", "b settled"]);
});

test("a call that does not fit ends the turn, and no other model is asked in its place", async () => {
  const { outcome, calls } = await ask({ a: [], b: [reply(text("B."))] }, { dollars: 0.001 });
  expect(outcome).toMatchObject({ status: "error", error: expect.stringContaining("has reached its budget") });
  expect(calls).toEqual([]);
});
