// Actions that park until a human decides: what is shown, what may lie in the way, and what happens without a decision.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { createGate, reply, stall, text, toolCall } from "../../src/testing/index.ts";
import {
  agentOf,
  chunksOf,
  Clerk,
  connect,
  effect,
  eventsOf,
  firstWaiting,
  ledger,
  open,
  outputAt,
  promptAt,
  say,
  scene,
  soon,
  stored,
  storedPart,
  stubEntry,
  waiting
} from "./actions-kit.ts";
import { deploy, call, STEPS, parked, descriptorOf, WAITED, CONTINUED } from "./actions-deployment.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { linesOf, user } from "../kit/messages.ts";
import { DAY_MS } from "../kit/time.ts";

describe("a parked action", () => {
  test("does not run, and the turn ends after one more step without tools", async () => {
    const { host } = await parked(undefined, [call, reply(text("Waiting.")), reply(text("never said"))]);
    expect(scene.effects).toEqual([]);
    expect(scene.script.callCount).toBe(2);
    expect(scene.script.calls[1]?.tools ?? []).toEqual([]);
    expect(scene.responses).toMatchObject([{ status: "completed" }]);
    expect(ledger(host)).toEqual([]);
    expect(linesOf(await stored(host))).toEqual(WAITED);
  });

  test("ends the turn even if the model tries to call again", async () => {
    const again = reply(toolCall("deploy", { ref: "main" }, { id: "c2" }));
    const { host } = await parked(undefined, [call, again, again]);
    expect(scene.script.callCount).toBe(2);
    expect(await waiting(host)).toHaveLength(1);
  });

  test("ends the turn in the same way when the process died after it parked", async () => {
    const again = reply(toolCall("deploy", { ref: "main" }, { id: "c2" }));
    const host = open([call, reply(stall()), again, again, reply(text("never said"))], { deploy });
    ask(await connect(host), "r1");
    await host.advance(2_000);
    await host.restart();
    await host.advance(60_000);
    expect(scene.script.callCount).toBe(3);
    expect(scene.script.calls[2]?.tools ?? []).toEqual([]);
    expect(await waiting(host)).toMatchObject([{ descriptor: descriptorOf("r1") }]);
  });

  test("shows the model status, executionId, action and message, and nothing else", async () => {
    const { host, executionId } = await parked();
    expect(await outputAt(host)).toEqual({
      status: "paused",
      executionId,
      action: "deploy",
      message: expect.any(String) as string
    });
    expect(promptAt(1)).toContain(executionId);
    expect(promptAt(1)).not.toContain("Deploy?");
  });

  test("has a complete descriptor on its chunk, on its stored part and in pendingApprovals, and no `approval`", async () => {
    const host = open(STEPS, { deploy });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    const descriptor = descriptorOf("r1");
    expect(chunksOf(socket).find(({ type }) => type === "tool-output-available")).toMatchObject({
      approvalDescriptor: descriptor
    });
    const part = await storedPart(host);
    expect(part).toMatchObject({ state: "output-available", approvalDescriptor: descriptor });
    expect(part).not.toHaveProperty("approval");
    expect(await waiting(host)).toMatchObject([
      { executionId: expect.stringMatching(/^actpause_/) as string, source: "action", descriptor }
    ]);
    expect((await firstWaiting(host)).descriptor).toEqual(descriptor);
  });

  test("is not a pending interaction: the next question is answered as usual", async () => {
    const { host } = await parked();
    expect(await say(host, "u2")).toMatchObject({ status: "completed" });
    expect(await waiting(host)).toHaveLength(1);
  });

  test("parks only if its policy says so", async () => {
    const sometimes = action({
      description: "Deploy.",
      inputSchema: z.object({ ref: z.string() }),
      kind: "durable-pause",
      approval: ({ input }) => input.ref === "main",
      execute: ({ ref }) => effect(ref)
    });
    const host = open([reply(toolCall("deploy", { ref: "dev" })), reply(text("ok"))], { deploy: sometimes });
    await say(host, "u1");
    expect(scene.effects).toEqual(["dev"]);
    expect(await waiting(host)).toEqual([]);
  });
});

test("every client hears the outcome and the continuation, the approving one too", async () => {
  const { host, executionId } = await parked();
  const [one, two] = [await connect(host), await connect(host)];
  one.send({ type: "rpc", id: "x", method: "approveExecution", args: [executionId] });
  await soon(host);
  for (const socket of [one, two]) {
    const updated = framesOf(socket).find(({ type }) => type === "cf_agent_message_updated");
    expect(JSON.stringify(updated)).toContain('"deployed":"main"');
    const ends = framesOf(socket).filter(({ type, done }) => type === "cf_agent_use_chat_response" && done === true);
    expect(ends).toHaveLength(1);
    expect(JSON.stringify(chunksOf(socket))).toContain("It is out.");
  }
});

test("a rejection without a reason has one", async () => {
  const { host, executionId } = await parked();
  expect(await stubEntry.reject(host, executionId)).toMatchObject({ reason: "Rejected by user" });
});

test("several wait in the order in which they were parked, and are decided one by one", async () => {
  const two = reply(toolCall("deploy", { ref: "a" }, { id: "c1" }), toolCall("deploy", { ref: "b" }, { id: "c2" }));
  const host = open([two, reply(text("Two wait.")), reply(text(" One.")), reply(text(" Both."))], { deploy });
  await say(host, "u1");
  const [first, second] = await waiting(host);
  expect([first, second].map((one) => one?.descriptor.input)).toEqual([{ ref: "a" }, { ref: "b" }]);
  expect(await waiting(host, second?.executionId)).toEqual([second]);
  await stubEntry.approve(host, second?.executionId ?? "");
  await soon(host);
  expect(scene.effects).toEqual(["deploy b"]);
  expect(await waiting(host)).toEqual([first]);
  await stubEntry.reject(host, first?.executionId ?? "");
  await soon(host);
  expect(linesOf(await stored(host))).toEqual([
    "user:u1",
    "assistant:Two wait.",
    "assistant: One.",
    "assistant: Both."
  ]);
});

describe("what is in the way", () => {
  test("a pending approval survives unrelated turns and can still be answered", async () => {
    const { host, executionId } = await parked(undefined, [
      call,
      reply(text("Waiting.")),
      reply(text("Aside.")),
      reply(text("It is out."))
    ]);
    await say(host, "u2");
    expect(await outputAt(host)).toMatchObject({ status: "paused", executionId });
    await stubEntry.approve(host, executionId);
    await soon(host);
    expect(await outputAt(host)).toEqual({ deployed: "main" });
    expect(scene.script.callCount).toBe(4);
    expect(promptAt(3)).toContain('"deployed":"main"');
    expect((await stored(host)).length).toBeGreaterThanOrEqual(4);
    expect(linesOf(await stored(host)).join()).toContain("It is out.");
  });

  test("an approval while the turn that parked it still speaks: it runs at once and is told when that turn is over", async () => {
    const gate = createGate();
    const host = open([call, reply(text("Wai"), gate.wait(), text("ting.")), reply(text("It is out."))], { deploy });
    ask(await connect(host), "r1");
    await host.idle();
    const { executionId } = await firstWaiting(host);
    expect(await stubEntry.approve(host, executionId)).toEqual({ deployed: "main" });
    expect(await waiting(host)).toEqual([]);
    expect(scene.script.callCount).toBe(2);
    gate.open();
    await soon(host);
    expect(scene.effects).toEqual(["deploy main"]);
    expect(await outputAt(host)).toEqual({ deployed: "main" });
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:Waiting.", "assistant:It is out."]);
  });

  test("an approval during another turn waits for its end", async () => {
    const { host, executionId } = await parked(undefined, [
      call,
      reply(text("Waiting.")),
      reply(text("Aside.")),
      reply(text("It is out."))
    ]);
    const agent = await agentOf(host);
    await Promise.all([agent.saveMessages([user("u2")]), agent.approveExecution(executionId)]);
    await soon(host);
    expect(scene.effects).toEqual(["deploy main"]);
    expect(scene.script.callCount).toBe(4);
  });

  test("a part that was compacted away is told in a note, and the conversation goes on", async () => {
    const { host, executionId } = await parked(undefined, [
      call,
      reply(text("Waiting.")),
      reply(text("Aside.")),
      reply(text("It is out."))
    ]);
    await say(host, "u2");
    const agent = await agentOf(host);
    const messages = await stored(host);
    await agent.shorten(messages[0]?.id ?? "", messages[1]?.id ?? "");
    await stubEntry.approve(host, executionId);
    await soon(host);
    expect(scene.effects).toEqual(["deploy main"]);
    expect(scene.script.callCount).toBe(4);
    expect(promptAt(3)).toContain("deployed");
  });

  test("clearing the conversation takes what waited with it", async () => {
    const { host, executionId } = await parked();
    await (await agentOf(host)).clearMessages();
    expect(await waiting(host)).toEqual([]);
    expect(await stubEntry.approve(host, executionId)).toMatchObject({ status: "error" });
    expect(scene.effects).toEqual([]);
    expect(await stored(host)).toEqual([]);
  });

  test("an action that was removed meanwhile is said to be gone, and the conversation goes on", async () => {
    const { host, executionId } = await parked();
    const other = action({ description: "Other.", inputSchema: z.object({}), execute: () => 1 });
    scene.behaviour.actions = () => ({ other });
    await host.restart();
    expect(await stubEntry.approve(host, executionId)).toMatchObject({ status: "error", action: "deploy" });
    await soon(host);
    expect(await waiting(host)).toEqual([]);
    expect(linesOf(await stored(host))).toEqual(CONTINUED);
  });
});

describe("without a decision", () => {
  test("after 30 days the pause is replaced by its expiry, with no client connected and no new turn", async () => {
    const { host, executionId } = await parked();
    await host.advance(29 * DAY_MS);
    expect(await waiting(host)).toHaveLength(1);
    await host.advance(DAY_MS + 60_000);
    expect(await outputAt(host)).toEqual({ status: "expired", executionId, action: "deploy" });
    expect(await waiting(host)).toEqual([]);
    expect(scene.script.callCount).toBe(2);
    expect(eventsOf("action:pause:swept")).toEqual([{ swept: 1 }]);
    expect(await stubEntry.approve(host, executionId)).toMatchObject({ status: "error" });
    expect(host.alarm(Clerk, "a")).toBeNull();
  });

  test("or never, if the class says so; and what waits costs no wake", async () => {
    const { host, executionId } = await parked({ actionPendingApprovalTtlMs: false });
    await host.advance(400 * DAY_MS);
    expect(host.alarm(Clerk, "a")).toBeNull();
    await stubEntry.approve(host, executionId);
    expect(scene.effects).toEqual(["deploy main"]);
  });
});

test("parking, approving and rejecting are events", async () => {
  const { executionId, host } = await parked();
  await stubEntry.approve(host, executionId);
  expect(eventsOf("action:pause:created")).toEqual([{ action: "deploy", executionId, toolCallId: "c1" }]);
  expect(eventsOf("action:pause:approved")).toEqual([{ action: "deploy", executionId }]);
  const other = await parked();
  await stubEntry.reject(other.host, other.executionId);
  expect(eventsOf("action:pause:rejected")).toEqual([{ action: "deploy", executionId: other.executionId }]);
});
