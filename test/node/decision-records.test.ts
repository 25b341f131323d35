// A decision over an approval is one row, whatever asked the question: written with the decision, shown by inspectors, kept
// for decisions that are sent again, and bounded.
import { afterEach, expect, test, vi } from "vitest";
import type { InboxView, TurnsView, TurnTimeline } from "../../src/features/inspection/views.ts";
import { KEPT_DECISIONS } from "../../src/features/approvals/decision-log.ts";
import { reply, text, toolCall, type Step, type TestHost, type TestSocket } from "../../src/testing/index.ts";
import { ask, echo, look, open, request, KEY, scene, Subject, type Host } from "./inspection-kit.ts";
import { Coder, coder, open as openCoder, runs, say } from "./execute-kit.ts";
import { open as openSupport, Support, supportOf } from "./workflow-prompts-kit.ts";

afterEach(() => void vi.restoreAllMocks());

interface Row {
  readonly execution_id: string;
  readonly call_id: string;
  readonly answer: string;
  readonly body: string;
}

type Rows = (answer: Row & { body: Record<string, unknown> }) => unknown;

function decisions(host: TestHost<object>, agent: Parameters<TestHost<object>["sql"]>[0], show: Rows): unknown[] {
  const exists = host.sql(agent, "a", "SELECT 1 FROM sqlite_master WHERE name = 'cf_decisions'").length > 0;
  const rows = exists ? host.sql<Row>(agent, "a", "SELECT * FROM cf_decisions ORDER BY id") : [];
  return rows.map((row) => show({ ...row, body: JSON.parse(row.body) as never }));
}

const summary: Rows = ({ answer, body: { source, name, by, surface, reason } }) => ({
  ...{ answer, source, name, by, surface, reason }
});

async function asking(
  toolName: "ship" | "pay",
  input: object,
  more: Step[] = [echo, echo]
): Promise<{ host: Host; callId: string }> {
  const host = open([reply(toolCall(toolName, input)), reply(text("wait")), ...more]);
  await ask(host, "please");
  const { approvals } = await look<InboxView>(host, "inbox");
  return { host, callId: approvals[0]?.callId ?? "" };
}

async function answer(socket: TestSocket, host: Host, toolCallId: string, approved: boolean): Promise<void> {
  socket.send({ type: "cf_agent_tool_approval", toolCallId, approved, autoContinue: true });
  await host.advance(1000);
}

test("a turn without approvals writes none, and makes no table", async () => {
  const host = open([echo]);
  await ask(host, "hello");
  expect(host.sql(Subject, "a", "SELECT 1 FROM sqlite_master WHERE name = 'cf_decisions'")).toEqual([]);
});

test("a decision in the chat is one row; the same person sends it again without an error", async () => {
  vi.spyOn(Subject.prototype, "identifyApprover").mockReturnValue("ann");
  const { host, callId } = await asking("ship", { to: "Rome" });
  const socket = await host.connect("/agents/subject/a");
  await answer(socket, host, callId, true);
  await answer(socket, host, callId, true);
  expect(decisions(host, Subject, summary)).toEqual([
    { answer: "approved", source: "tool", name: "ship", by: "ann", surface: "socket", reason: null }
  ]);
  expect(scene.effects).toEqual(["ship Rome"]);
  expect(socket.frames.filter((frame) => JSON.stringify(frame).includes("not-open"))).toEqual([]);
});

test("the sender of another decision in the chat gets to know which one won", async () => {
  const { host, callId } = await asking("ship", { to: "Rome" });
  const socket = await host.connect("/agents/subject/a");
  await answer(socket, host, callId, false);
  await answer(socket, host, callId, true);
  expect(JSON.stringify(socket.frames)).toContain("it was rejected before");
  expect(scene.effects).toEqual([]);
  expect(decisions(host, Subject, summary)).toHaveLength(1);
});

test("a decision over a parked action is one row, and the sender of another one gets to know which one won", async () => {
  const { host } = await asking("pay", { euros: 5 });
  const agent = await host.get(Subject, "a");
  const [{ executionId, inputHash = "" } = { executionId: "" }] = await agent.pendingApprovals();
  const decision = { by: "ann", inputHash };
  expect(await agent.approveExecution(executionId, decision)).toEqual({ paid: 5 });
  expect(await agent.approveExecution(executionId, decision)).toEqual({ paid: 5 });
  expect(await agent.rejectExecution(executionId, "no", { by: "bob", inputHash })).toMatchObject({
    status: "error",
    error: expect.stringContaining("it was approved before, by ann")
  });
  expect(decisions(host, Subject, summary)).toEqual([
    { answer: "approved", source: "action", name: "pay", by: "ann", surface: "code", reason: null }
  ]);
});

test("what is not decided in time is one row without a person", async () => {
  const { host } = await asking("pay", { euros: 5 });
  await host.advance(31 * 24 * 3_600_000);
  expect(decisions(host, Subject, summary)).toMatchObject([{ answer: "expired", name: "pay", by: null }]);
  expect((await look<InboxView>(host, "inbox")).decided).toMatchObject([{ expired: true, approved: false, by: null }]);
});

test("each question of executed code has its own row", async () => {
  const host = openCoder(runs(`await tools.deploy({ ref: "a" }); await tools.deploy({ ref: "b" })`, [echo]));
  await say(host);
  for (const by of ["ann", "bob"]) {
    const [{ executionId, inputHash = "" } = { executionId: "" }] = await (await coder(host)).pendingApprovals();
    await (await coder(host)).approveExecution(executionId, { by, inputHash });
  }
  const shown: Rows = ({ call_id: callId, answer: given, body: { by, seq, name } }) => ({
    callId,
    given,
    by,
    seq,
    name
  });
  expect(decisions(host, Coder, shown)).toEqual([
    { callId: "c1", given: "approved", by: "ann", seq: 0, name: "tools.deploy" },
    { callId: "c1", given: "approved", by: "bob", seq: 1, name: "tools.deploy" }
  ]);
});

test("a question of a workflow that is decided is one row, with the reason", async () => {
  const { host } = openSupport();
  const agent = await supportOf(host);
  await agent.start([{ name: "escalate", prompt: "Wake the team?", human: true }], "w");
  await host.idle();
  const [{ executionId } = { executionId: "" }] = await agent.pendingApprovals();
  await agent.rejectExecution(executionId, "let them sleep", { by: "ada" });
  expect(decisions(host, Support, summary)).toEqual([
    { answer: "rejected", source: "workflow", name: "escalate", by: "ada", surface: "code", reason: "let them sleep" }
  ]);
});

test("an inspector is shown the row: through what the decision came, and over which question", async () => {
  const { host, callId } = await asking("pay", { euros: 5 });
  const [{ executionId, inputHash } = { executionId: "", inputHash: "" }] = (
    await look<InboxView>(host, "inbox")
  ).approvals.map(({ id, inputHash: hash }) => ({ executionId: id, inputHash: hash }));
  await request(host, "decide", KEY, { id: executionId, decision: "reject", by: "Lin", reason: "too much" });
  await host.idle();
  const { decided } = await look<InboxView>(host, "inbox");
  const shown = { callId, approved: false, by: "unverified:Lin", reason: "too much", surface: "http", inputHash };
  expect(decided).toMatchObject([shown]);
});

test("decisions of earlier versions, which kept no row, are listed from the conversation", async () => {
  for (const [toolName, input] of [
    ["ship", { to: "Rome" }],
    ["pay", { euros: 5 }]
  ] as const) {
    const { host, callId } = await asking(toolName, input);
    const id = (await look<InboxView>(host, "inbox")).approvals[0]?.id;
    await request(host, "decide", KEY, { id, decision: "reject", by: "Lin", reason: "no" });
    await host.advance(1000);
    host.sql(Subject, "a", "DELETE FROM cf_decisions");
    const shown = { callId, approved: false, by: "unverified:Lin", reason: "no", surface: null };
    expect((await look<InboxView>(host, "inbox")).decided).toMatchObject([shown]);
    const { turns } = await look<TurnsView>(host, "turns");
    const { attempts } = await look<TurnTimeline>(host, `turns/${turns.at(-1)?.turnId}`);
    expect(attempts[0]?.steps[0]?.calls).toMatchObject([{ approval: { approved: false, by: "unverified:Lin" } }]);
  }
});

test("the newest thousand are kept, and all go with the conversation", async () => {
  const again = [echo, reply(toolCall("pay", { euros: 6 })), echo, echo];
  const { host } = await asking("pay", { euros: 5 }, again);
  const agent = await host.get(Subject, "a");
  const rejectFirst = async () => {
    const [waiting] = await agent.pendingApprovals();
    await agent.rejectExecution(waiting?.executionId ?? "");
    await host.idle();
  };
  await rejectFirst();
  const rows = () => host.sql<{ n: number }>(Subject, "a", "SELECT COUNT(*) AS n FROM cf_decisions")[0]?.n;
  host.sql(
    Subject,
    "a",
    `INSERT INTO cf_decisions (execution_id, call_id, message_id, answer, decided_at, body)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${KEPT_DECISIONS + 9})
     SELECT 'e' || i, 'c', 'm', 'approved', 1, '{}' FROM n`
  );
  expect(rows()).toBe(KEPT_DECISIONS + 10);
  await ask(host, "again");
  await rejectFirst();
  expect(rows()).toBe(KEPT_DECISIONS);
  await agent.clearMessages();
  expect(rows()).toBe(0);
});
