// The class of docs/core.md, run: what it names it has, and nothing else.
import { createScript, createTestHost, reply, scriptedModel, text, toolCall } from "everthink/testing";
import { expect, test } from "vitest";
import { Cashier } from "./examples/core.ts";

test("the class of the core page runs an action once, and its schedule asks an hour later", async () => {
  const script = createScript([
    reply(toolCall("refund", { order: "A1" })),
    reply(text("Done.")),
    reply(text("Closed."))
  ]);
  class Scripted extends Cashier {
    override getModel() {
      return scriptedModel(script);
    }
  }
  const host = createTestHost({ agents: { Cashier: Scripted } });
  const cashier = await host.get(Scripted, "till");
  expect(await cashier.runTurn({ input: "Refund A1" })).toMatchObject({
    message: { parts: expect.arrayContaining([expect.objectContaining({ output: "Paid back A1." })]) }
  });
  await cashier.remindLater("Close the till.");
  await host.restart();
  await host.advance(3_601_000);
  const again = await host.get(Scripted, "till");
  expect(JSON.stringify(await again.messages)).toContain("Close the till.");
});

test("names of capabilities that the class does not have are not there", async () => {
  const host = createTestHost({ agents: { Cashier } });
  const cashier = await host.get(Cashier, "till");
  for (const name of ["queue", "runFiber", "addMcpServer", "workspace", "submitMessages"])
    expect(name in cashier).toBe(false);
});
