// Decisions over code that waits: several calls at once, several humans at once, and what the class is asked about each.
import { tool } from "ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { createExecuteRuntime } from "../../src/features/execute/index.ts";
import { reply, text } from "../../src/testing/index.ts";
import { Coder, coder, messages, open, output, part, runs, say, scene, TOOLS, type Host } from "./execute-kit.ts";

/** Two calls side by side that wait together. */
const BATCH = `await Promise.all([tools.deploy({ ref: "a" }), tools.deploy({ ref: "b" })])`;

async function paused(code = BATCH): Promise<{ host: Host; executionId: string }> {
  const host = open(runs(code, [reply(text("I go on."))]));
  await say(host);
  const { executionId } = await output(host);
  return { host, executionId };
}

const approve = async (host: Host, id: string, decision: object) => (await coder(host)).approveExecution(id, decision);

/** The class is asked about a call of this number, and answers when it is let. */
function heldUp(seq: number) {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<boolean>();
  const ref = seq === 0 ? "a" : "b";
  scene.authorize = ({ descriptor }) => {
    if (Reflect.get(descriptor.input, "ref") !== ref) return true;
    scene.authorize = () => true;
    asked.resolve();
    return answered.promise;
  };
  return { asked: asked.promise, go: () => answered.resolve(true) };
}

test("an approval that another one of the same run has overtaken waits for its pass: no call is made twice", async () => {
  const { host, executionId } = await paused();
  const { asked, go } = heldUp(1);
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // Hooks may be asynchronous; the kit's type has the plain form.
  scene.before = (() => {
    begun.resolve();
    return ended.promise;
  }) as never;
  const later = approve(host, executionId, { seq: 1 });
  await asked;
  const first = approve(host, executionId, { seq: 0 });
  await begun.promise;
  go();
  for (let moments = 0; moments < 5; moments++) await new Promise((resolve) => setImmediate(resolve));
  ended.resolve();
  expect(await first).toMatchObject({ status: "paused", pending: [{ seq: 1 }] });
  expect(await later).toMatchObject({ status: "completed", result: ["deployed a", "deployed b"] });
  expect(scene.effects).toEqual(["deploy a", "deploy b"]);
});

test("of two approvals of one call at once the later one does nothing", async () => {
  const { host, executionId } = await paused();
  const { asked, go } = heldUp(1);
  const later = approve(host, executionId, { seq: 1 });
  await asked;
  expect(await approve(host, executionId, { seq: 1 })).toMatchObject({ status: "paused", pending: [{ seq: 0 }] });
  go();
  expect(await later).toMatchObject({ status: "error", error: expect.stringContaining("Nothing was done") });
  expect(scene.effects).toEqual(["deploy b"]);
});

test("a rejection of a call that was approved and has run meanwhile ends nothing", async () => {
  const { host, executionId } = await paused();
  const { asked, go } = heldUp(0);
  const rejected = (await coder(host)).rejectExecution(executionId, "no");
  await asked;
  expect(await approve(host, executionId, { seq: 0 })).toMatchObject({ status: "paused", pending: [{ seq: 1 }] });
  go();
  expect(await rejected).toMatchObject({ status: "error", error: expect.stringContaining("no longer pending") });
  expect(await approve(host, executionId, {})).toMatchObject({ status: "completed" });
  expect(scene.effects).toEqual(["deploy a", "deploy b"]);
});

test("the class decides over the very call, with the arguments it would run with", async () => {
  const { host, executionId } = await paused();
  const asked: unknown[] = [];
  scene.authorize = ({ descriptor: { action, input }, decision }) => {
    asked.push([decision, action, input]);
    return Reflect.get(input, "ref") === "a";
  };
  for (const decision of [{ seq: 1 }, { seq: 0, args: { ref: "prod" } }])
    expect(await approve(host, executionId, decision)).toMatchObject({ status: "error" });
  expect(scene.effects).toEqual([]);
  expect(await approve(host, executionId, { seq: 0 })).toMatchObject({ status: "paused", pending: [{ seq: 1 }] });
  expect(asked).toEqual([
    ["approve", "tools.deploy", { ref: "b" }],
    ["approve", "tools.deploy", { ref: "prod" }],
    ["approve", "tools.deploy", { ref: "a" }]
  ]);
});

test("describePausedExecution changes the words and not whose call it is; one that throws changes nothing", async () => {
  const host = open(runs(BATCH));
  scene.describe = () => ({ summary: "Deploys.", permissions: ["deploy"], toolCallId: "x", requestId: "y" }) as object;
  await say(host);
  expect(await part(host)).toMatchObject({
    approvalDescriptor: { action: "tools.deploy", summary: "Deploys.", permissions: ["deploy"], toolCallId: "c1" }
  });
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  scene.describe = () => {
    throw new Error("no words");
  };
  const [pending] = await (await coder(host)).pendingApprovals();
  expect(pending?.descriptor).toMatchObject({ summary: "tools.deploy", kind: "durable-pause" });
  expect(pending?.descriptor.requestId).not.toBe("y");
  log.mockRestore();
});

test("a run whose runtime is not there any more is answered with an error, and waits on", async () => {
  const { host, executionId } = await paused();
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  scene.tools = () => ({});
  await host.restart();
  const before = await messages(host);
  for (const decided of [await approve(host, executionId, {}), await (await coder(host)).rejectExecution(executionId)])
    expect(decided).toMatchObject({ status: "error", executionId });
  expect([await messages(host), scene.effects]).toEqual([before, []]);
  expect(String(log.mock.calls.flat())).toContain("getTools() returned no tool of createExecuteTool");
  log.mockRestore();
});

test("a run that is rolled back while it waits waits no more, and its part says so", async () => {
  const undone = vi.fn();
  const note = Object.assign(tool({ inputSchema: z.object({}), execute: () => 1 }), { revert: undone });
  const code = `await tools.note({}); await tools.deploy({ ref: "a" })`;
  const host = open(runs(code, [reply(text("I go on."))]), { tools: { ...TOOLS, note } });
  await say(host);
  const { executionId } = await output(host);
  const agent = await coder(host);
  expect(await agent.use("rollback", { executionId })).toEqual(["tools.note"]);
  expect(undone).toHaveBeenCalledTimes(1);
  await host.idle();
  expect(await output(host)).toMatchObject({ status: "rejected", executionId, reason: "It was rolled back." });
  expect(await agent.pendingApprovals()).toEqual([]);
  expect(await approve(host, executionId, {})).toMatchObject({ status: "error" });
  expect(host.sql(Coder, "a", "SELECT status, due_at FROM cm_executions")).toEqual([
    { status: "rolled_back", due_at: null }
  ]);
  expect(scene.effects).toEqual([]);
});

test("after a restart a decision waits for a runtime that takes a moment to be made", async () => {
  const { host, executionId } = await paused(`await tools.deploy({ ref: "a" })`);
  scene.tools = () => ({});
  scene.runtime = async (agent) => {
    await new Promise((resolve) => setImmediate(resolve));
    return createExecuteRuntime(agent, { tools: TOOLS }).tool;
  };
  await host.restart();
  expect(await approve(host, executionId, {})).toMatchObject({ status: "completed" });
  expect(scene.effects).toEqual(["deploy a"]);
});

test("what waited too long is not approved, although no wake has ended it yet", async () => {
  const { host, executionId } = await paused(`await tools.deploy({ ref: "a" })`);
  // The time is there; the alarm is late.
  host.sql(Coder, "a", "UPDATE cm_executions SET due_at = ?", host.now);
  expect(await approve(host, executionId, {})).toMatchObject({
    status: "error",
    error: expect.stringContaining("expired")
  });
  expect(scene.effects).toEqual([]);
  await host.idle();
  expect(await output(host)).toMatchObject({ status: "rejected", reason: expect.stringContaining("expired") });
});

test("a human is shown every value that a call would run with, also those that are no JSON", async () => {
  const given: unknown[] = [];
  const send = tool({
    description: "Sends.",
    inputSchema: z.looseObject({}),
    needsApproval: true,
    execute: (input) => void given.push(input)
  });
  const code = `await tools.send({
    to: new Map([["evil@example.com", new Set(["secret"])]]),
    amount: 9000000000000000123n,
    bytes: new TextEncoder().encode("pay me"),
    at: new Date(0),
    none: undefined
  })`;
  const host = open(runs(code, [reply(text("I go on."))]));
  scene.options = () => ({ tools: { send } });
  await say(host);
  const { executionId } = await output(host);
  const shown = {
    to: [["evil@example.com", ["secret"]]],
    amount: "9000000000000000123n",
    bytes: "base64:cGF5IG1l",
    at: "1970-01-01T00:00:00.000Z"
  };
  const response = await host.fetch("/agents/coder/a/approvals");
  const [waiting] = (await response.json()) as { descriptor: { input: object } }[];
  expect(waiting?.descriptor.input).toEqual(shown);
  expect(await part(host)).toMatchObject({ approvalDescriptor: { input: shown } });
  await approve(host, executionId, {});
  expect(given).toEqual([expect.objectContaining({ amount: 9000000000000000123n, at: new Date(0) })]);
});

test("a result that is no JSON is shown whole, in its turn and after a decision", async () => {
  const value = `{ sum: 5n, by: new Map([["a", new Set([1])]]), at: new Date(0), raw: new Uint8Array([112, 97, 121]) }`;
  const shown = { sum: "5n", by: [["a", [1]]], at: "1970-01-01T00:00:00.000Z", raw: "base64:cGF5" };
  const atOnce = open(runs(`return ${value}`));
  await say(atOnce);
  expect(await output(atOnce)).toMatchObject({ status: "completed", result: shown });
  const { host, executionId } = await paused(`await tools.deploy({ ref: "a" }); return ${value}`);
  expect(await approve(host, executionId, {})).toMatchObject({ status: "completed", result: shown });
  await host.idle();
  expect(await output(host)).toMatchObject({ status: "completed", result: shown });
});

test("a decision with the hash of another question, or of none, decides nothing", async () => {
  const { host, executionId } = await paused();
  const [first] = await (await coder(host)).pendingApprovals();
  const hash = first?.inputHash ?? "";
  for (const decision of [{ inputHash: "0".repeat(hash.length) }, { seq: 1, inputHash: hash }]) {
    const refused = { status: "error", error: expect.stringContaining("another input than the one") };
    expect(await approve(host, executionId, decision)).toMatchObject(refused);
    expect(await (await coder(host)).rejectExecution(executionId, "no", decision)).toMatchObject(refused);
  }
  expect(scene.effects).toEqual([]);
  expect(await approve(host, executionId, { seq: 0, inputHash: hash })).toMatchObject({ status: "paused" });
  expect(scene.effects).toEqual(["deploy a"]);
});
