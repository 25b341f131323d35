// The example of docs/execute.md, run.
import { expect, test } from "vitest";
import {
  createScript,
  createTestHost,
  createTestLoader,
  reply,
  scriptedModel,
  text,
  toolCall
} from "everthink/testing";
import { Bookkeeper } from "./examples/execute.ts";
import { user } from "../kit/messages.ts";

const CODE = `
  const due = await tools.invoices({ month: "2030-01" });
  const largest = due.sort((a, b) => b.total - a.total)[0];
  await tools.remind({ id: largest.id })`;

test("the model's code calls two tools and waits for a human at the second", async () => {
  const script = createScript([
    reply(toolCall("execute", { code: CODE })),
    reply(text("Waiting.")),
    reply(text("Done."))
  ]);
  class Scripted extends Bookkeeper {
    override getModel() {
      return scriptedModel(script);
    }
  }
  const host = createTestHost({ agents: { Scripted }, env: { LOADER: createTestLoader() } });
  const agent = await host.get(Scripted, "a");
  await agent.saveMessages([user("u", "Remind the largest.")]);
  const [pending] = await agent.pendingApprovals();
  expect(pending).toMatchObject({
    source: "codemode",
    descriptor: { action: "tools.remind", input: { id: "2030-01-1" } }
  });
  expect(await agent.approveExecution(pending?.executionId ?? "")).toMatchObject({ result: "reminded 2030-01-1" });
});
