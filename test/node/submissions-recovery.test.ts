// Ends that are not the model's: a submission that waits for a human does not hold up the queue, and one that recovery
// gives up, or user code does not want recovered, is an error.
import { tool } from "ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import type { ChatRecoveryOptions } from "../../src/index.ts";
import { createTestHost, reply, stall, text, toolCall } from "../../src/testing/index.ts";
import { asked, Clerk, open, said, scene, statusOf, submitted } from "./submissions-kit.ts";
import { user } from "../kit/messages.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

test("one that ends with a question to a human is completed, the next ones run, and the question can be answered", async () => {
  const paid: string[] = [];
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: async ({ amount }) => void paid.push(`${amount}`)
  });
  const host = open(
    (call) => {
      if (call.prompt.at(-1)?.role === "tool") return reply(text("Paid."));
      return asked(call) === "pay" ? reply(toolCall("pay", { amount: 5 }, { id: "c1" })) : reply(text("ok"));
    },
    { tools: () => ({ pay }) }
  );
  await submitted(host, "pay", "next");
  await host.idle();
  expect([await statusOf(host, "pay"), await statusOf(host, "next")]).toEqual(["completed", "completed"]);
  expect(paid).toEqual([]);
  const socket = await host.connect("/agents/clerk/a");
  await host.idle();
  socket.send({ type: "cf_agent_tool_approval", toolCallId: "c1", approved: true, autoContinue: true });
  await host.advance(60_000);
  expect(paid).toEqual(["5"]);
  expect((await said(host)).at(-1)).toContain("Paid.");
});

test("one whose recovery is given up is an error with the words of the class, and the next one runs", async () => {
  class Impatient extends Clerk {
    override chatRecovery = { maxInterruptedAttempts: 2, terminalMessage: "We could not finish this." };
  }
  open((call) => (JSON.stringify(call.prompt).includes('"b"') ? reply(text("ok")) : reply(text("Hel"), stall())));
  const host = createTestHost({ agents: { Impatient } });
  const agent = () => host.get(Impatient, "a");
  await (await agent()).submitMessages([user("u-a", "a")], { submissionId: "a" });
  await (await agent()).submitMessages([user("u-b", "b")], { submissionId: "b" });
  for (let kill = 0; kill < 3; kill += 1) {
    await host.advance(31_000);
    await host.restart();
  }
  await host.advance(60_000);
  expect(await (await agent()).inspectSubmission("a")).toMatchObject({
    status: "error",
    error: "We could not finish this."
  });
  expect(await (await agent()).inspectSubmission("b")).toMatchObject({ status: "completed" });
  expect(scene.statuses.filter((line) => line === "a error")).toHaveLength(1);
});

test("one that user code does not want recovered is an error", async () => {
  class Resigned extends Clerk {
    override onChatRecovery(): ChatRecoveryOptions {
      return { continue: false };
    }
  }
  open(() => reply(text("Hel"), stall()));
  const host = createTestHost({ agents: { Resigned } });
  const agent = () => host.get(Resigned, "a");
  await (await agent()).submitMessages([user("u-a", "a")], { submissionId: "a" });
  await host.advance(2_000);
  await host.restart();
  await host.advance(120_000);
  const ended = await (await agent()).inspectSubmission("a");
  expect(ended).toMatchObject({ status: "error", error: expect.any(String) });
  expect(scene.script.callCount).toBe(1);
});
