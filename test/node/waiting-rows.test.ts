// What waits, read from the rows of an agent that is not asked: of every kind of question the same ids that the agent lists,
// and none when it is decided.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readWaitingRows } from "../../src/features/approvals/waiting-rows.ts";
import type { ReadRows } from "../../src/session/last-words.ts";
import type { InboxView } from "../../src/features/inspection/views.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import * as code from "./execute-kit.ts";
import * as inspected from "./inspection-kit.ts";
import * as workflow from "./workflow-prompts-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const idsOf = (read: ReadRows) => readWaitingRows(read).map(({ id }) => id);

/** An agent that asked with this call, and the ids in its rows. */
async function asking(toolName: string, input: object) {
  const host = inspected.open([reply(toolCall(toolName, input)), reply(text("wait")), reply(text("done"))]);
  await inspected.ask(host, "please");
  const rows: ReadRows = (query) => host.sql(inspected.Subject, "a", query);
  const { approvals } = await inspected.look<InboxView>(host, "inbox");
  return { host, rows, approvals };
}

test.each([
  ["a parked action", "pay", { euros: 5 }],
  ["a call of the chat", "ship", { to: "Rome" }]
])("%s is in the rows with its id and age, also after a restart, until it is decided", async (_kind, name, input) => {
  const { host, rows, approvals } = await asking(name, input);
  const asked = readWaitingRows(rows);
  expect(asked).toEqual(approvals.map(({ id, askedAt, expiresAt }) => ({ id, askedAt, expiresAt })));
  expect(asked).toHaveLength(1);
  expect(asked[0]?.askedAt).toBeLessThanOrEqual(host.now);
  expect(asked[0]?.askedAt).toBeGreaterThan(host.now - 60_000);
  await host.restart();
  expect(idsOf(rows)).toEqual([asked[0]?.id]);
  await inspected.request(host, "decide", inspected.KEY, { id: asked[0]?.id, decision: "reject" });
  await host.advance(1000);
  expect(readWaitingRows(rows)).toEqual([]);
});

test("a parked action has the time at which it expires", async () => {
  const { approvals } = await asking("pay", { euros: 5 });
  const [{ askedAt, expiresAt } = { askedAt: 0, expiresAt: 0 }] = approvals;
  expect((expiresAt ?? 0) - (askedAt ?? 0)).toBe(30 * 24 * 3_600_000);
});

test("code that waits is in the rows until it is decided", async () => {
  const host = code.open(code.runs(`await tools.deploy({ ref: "a" })`));
  await code.say(host);
  await host.idle();
  const rows: ReadRows = (query) => host.sql(code.Coder, "a", query);
  const waiting = await (await code.coder(host)).pendingApprovals();
  expect(idsOf(rows)).toEqual(waiting.map(({ executionId }) => executionId));
  expect(waiting).toHaveLength(1);
  await (await code.coder(host)).rejectExecution(waiting[0]?.executionId ?? "");
  await host.idle();
  expect(readWaitingRows(rows)).toEqual([]);
});

test("a question of a workflow is in the rows until it is decided", async () => {
  const { host } = workflow.open();
  const agent = await workflow.supportOf(host);
  await agent.start([{ name: "escalate", prompt: "Wake the team?", human: true }], "w");
  await host.idle();
  const rows: ReadRows = (query) => host.sql(workflow.Support, "a", query);
  const waiting = await agent.pendingApprovals();
  expect(idsOf(rows)).toEqual(waiting.map(({ executionId }) => executionId));
  expect(waiting).toHaveLength(1);
  await agent.rejectExecution(waiting[0]?.executionId ?? "", "no", { by: "ada" });
  await host.idle();
  expect(readWaitingRows(rows)).toEqual([]);
});

test("a question further back than 500 messages is not looked for, and an agent without tables holds nothing", async () => {
  const { host, rows } = await asking("ship", { to: "Rome" });
  const agent = await host.get(inspected.Subject, "a");
  await agent.fill(480);
  expect(readWaitingRows(rows)).toHaveLength(1);
  await agent.fill(520);
  expect(readWaitingRows(rows)).toEqual([]);
  expect(readWaitingRows(() => [])).toEqual([]);
});

test("tables of another version hold nothing, and do not fail the list", () => {
  const names = ["cf_work", "cf_action_pauses", "cm_executions", "cf_conversations", "assistant_messages"].map(
    (name) => ({
      name
    })
  );
  const rows: ReadRows = (query) => {
    if (query.includes("sqlite_master")) return names;
    throw new Error("no such column: due_at");
  };
  expect(readWaitingRows(rows)).toEqual([]);
});
