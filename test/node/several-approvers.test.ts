// Parked actions that need several people: each counts once, one rejection rejects, and the effect happens once, with the last
// approval that is needed.
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, type ActionSet, type ApproversRule } from "../../src/index.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { agentOf, Clerk, connect, effect, firstWaiting, open, say, scene, soon, type Host } from "./actions-kit.ts";

afterEach(() => void vi.restoreAllMocks());

const inputSchema = z.object({ euros: z.number() });
const paying = (approvals: ApproversRule): ActionSet => ({
  pay: action({
    description: "Pays.",
    inputSchema,
    kind: "durable-pause",
    approvals,
    execute: ({ euros }) => {
      effect(`paid ${euros}`);
      return { paid: euros };
    }
  })
});

async function parked(approvals: ApproversRule): Promise<{ host: Host; id: string; inputHash: string }> {
  const host = open([reply(toolCall("pay", { euros: 5 })), reply(text("wait")), reply(text("ok"))], paying(approvals));
  await say(host, "pay");
  const { executionId, inputHash = "" } = await firstWaiting(host);
  return { host, id: executionId, inputHash };
}

const approve = async (host: Host, id: string, decision: object) =>
  (await agentOf(host)).approveExecution(id, decision);
const rows = (host: Host) =>
  host.sql<{ answer: string; body: string }>(Clerk, "a", "SELECT answer, body FROM cf_decisions ORDER BY id");

test("the effect happens with the last approval that is needed; the same person counts once", async () => {
  const { host, id, inputHash } = await parked({ required: 2 });
  expect(await approve(host, id, { by: "ann", inputHash })).toEqual({
    status: "waiting",
    executionId: id,
    votes: { required: 2, by: ["ann"] }
  });
  await host.restart();
  expect(await approve(host, id, { by: "ann", inputHash })).toMatchObject({ votes: { required: 2, by: ["ann"] } });
  expect(await firstWaiting(host)).toMatchObject({ votes: { required: 2, by: ["ann"] } });
  expect(scene.effects).toEqual([]);
  expect(await approve(host, id, { by: "bob", inputHash })).toEqual({ paid: 5 });
  expect(await approve(host, id, { by: "bob", inputHash })).toEqual({ paid: 5 });
  await soon(host);
  expect(scene.effects).toEqual(["paid 5"]);
});

test("two last approvals at one moment are one effect", async () => {
  const { host, id, inputHash } = await parked({ required: 2 });
  await approve(host, id, { by: "ann", inputHash });
  const outputs = await Promise.all(["bob", "cleo"].map((by) => approve(host, id, { by, inputHash })));
  await soon(host);
  expect(outputs).toContainEqual({ paid: 5 });
  expect(JSON.stringify(outputs)).toContain("it was approved before, by bob");
  expect(scene.effects).toEqual(["paid 5"]);
});

test("one rejection rejects, whatever was approved before", async () => {
  const { host, id, inputHash } = await parked({ required: 3 });
  await approve(host, id, { by: "ann", inputHash });
  const agent = await agentOf(host);
  expect(await agent.rejectExecution(id, "too much", { by: "bob", inputHash })).toMatchObject({ status: "rejected" });
  expect(await approve(host, id, { by: "cleo", inputHash })).toMatchObject({ status: "error" });
  await soon(host);
  expect(scene.effects).toEqual([]);
  expect(JSON.stringify(scene.script.calls.at(-1)?.prompt)).toContain("too much");
});

test.each<[string, ApproversRule]>([
  ["a list of names", { from: ["ann", "bob"] }],
  ["a function of who decides", { from: (by, { verified }) => verified && by !== "eve" }]
])("only those of `from` decide, by %s", async (_, rule) => {
  const { host, id, inputHash } = await parked(rule);
  expect(await approve(host, id, { by: "eve", inputHash })).toMatchObject({ status: "error" });
  expect(await approve(host, id, { inputHash })).toMatchObject({ status: "error" });
  expect(scene.effects).toEqual([]);
  expect(await approve(host, id, { by: "ann", inputHash })).toEqual({ paid: 5 });
});

test("a name that only a client claims does not count: one client would be several people", async () => {
  const { host, id, inputHash } = await parked({ required: 2 });
  const socket = await connect(host);
  for (const by of ["ann", "bob"]) {
    socket.send({ type: "rpc", id: by, method: "approveExecution", args: [id, { by, inputHash }] });
    await soon(host);
  }
  expect(scene.effects).toEqual([]);
  expect(await firstWaiting(host)).toMatchObject({ votes: { required: 2, by: [] } });
});

test("what several people approve is approved as it is, and a `from` that fails lets no one decide", async () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { host, id, inputHash } = await parked({ required: 2 });
  expect(await approve(host, id, { by: "ann", inputHash, input: { euros: 1 } })).toMatchObject({ status: "error" });
  const failing = await parked({
    from: () => {
      throw new Error("down");
    }
  });
  const output = await approve(failing.host, failing.id, { by: "ann", inputHash: failing.inputHash });
  expect(output).toMatchObject({ status: "error" });
  expect(error).toHaveBeenCalled();
  expect(scene.effects).toEqual([]);
});

test("every approval is a row, and the decision says who approved before", async () => {
  const { host, id, inputHash } = await parked({ required: 2 });
  await approve(host, id, { by: "ann", inputHash });
  await approve(host, id, { by: "bob", inputHash });
  const shown = rows(host).map(({ answer, body }) => ({ answer, ...(JSON.parse(body) as { by: string }) }));
  expect(shown).toMatchObject([
    { answer: "voted", by: "ann" },
    { answer: "approved", by: "bob", votes: ["ann"] }
  ]);
});

test.each([
  [{ required: 0 }],
  [{ required: 21 }],
  [{ required: 1.5 }],
  [{ required: 3, from: ["ann", "bob"] }],
  [{ from: "ann" }]
])("a rule that cannot be is refused where it is written: %j", (rule) => {
  expect(() => paying(rule as ApproversRule)).toThrow("has approvals that cannot be");
  const gated = { description: "Pays.", inputSchema, approval: true, approvals: { required: 2 }, execute: () => 1 };
  expect(() => action(gated)).toThrow('need the kind "durable-pause"');
});
