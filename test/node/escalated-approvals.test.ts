// Parked actions that wait too long are escalated: from then on more people may decide. It holds by the clock, is said once where the
// question was asked, survives what may die, and ends with the expiry.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as fc from "fast-check";
import { z } from "zod";
import { listOrDecide } from "../../src/cli/commands/approve.ts";
import { readEscalationTime, ruleNow, withEscalation } from "../../src/features/approvals/escalation.ts";
import { readWaitingRows } from "../../src/features/approvals/waiting-rows.ts";
import type { Question } from "../../src/feature/approval-contract.ts";
import { action, type ActionSet, type ApproversRule } from "../../src/index.ts";
import { everyCrash, reply, text, toolCall } from "../../src/testing/index.ts";
import {
  agentOf,
  Clerk,
  effect,
  eventsOf,
  firstWaiting,
  open,
  say,
  scene,
  soon,
  waiting,
  type Host
} from "./actions-kit.ts";
import { DAY_MS } from "../kit/time.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

const RULE: ApproversRule = { from: ["ann"], escalate: { after: "4 hours", to: ["boss"] } };
const STEPS = [reply(toolCall("pay", { euros: 5 })), reply(text("wait")), reply(text("ok"))];

const paying = (approvals: ApproversRule): ActionSet => ({
  pay: action({
    description: "Pays.",
    inputSchema: z.object({ euros: z.number() }),
    kind: "durable-pause",
    approvals,
    execute: ({ euros }) => {
      effect(`paid ${euros}`);
      return { paid: euros };
    }
  })
});

async function parked(approvals: ApproversRule = RULE, overrides?: Parameters<typeof open>[2]) {
  const host = open(STEPS, paying(approvals), overrides);
  await say(host, "pay");
  const { executionId: id, inputHash = "" } = await firstWaiting(host);
  return { host, approve: async (by: string) => (await agentOf(host)).approveExecution(id, { by, inputHash }), id };
}

const item = (host: Host) =>
  host.sql<{ due_at: number | null; claim: number }>(Clerk, "a", "SELECT due_at, claim FROM cf_work")[0];

test("who it is escalated to decides from then on, and not before", async () => {
  const { host, approve } = await parked();
  expect(await approve("boss")).toMatchObject({ status: "error" });
  expect((await firstWaiting(host)).escalation).toMatchObject({ isReached: false, to: ["boss"] });
  await host.advance(4 * HOUR_MS);
  expect((await firstWaiting(host)).escalation).toMatchObject({ isReached: true, to: ["boss"] });
  expect(await approve("eve")).toMatchObject({ status: "error" });
  expect(scene.effects).toEqual([]);
  expect(await approve("boss")).toEqual({ paid: 5 });
  await soon(host);
  expect(scene.effects).toEqual(["paid 5"]);
});

test("those who could decide before can still", async () => {
  const { host, approve } = await parked();
  await host.advance(5 * HOUR_MS);
  expect(await approve("ann")).toEqual({ paid: 5 });
});

test("a program that reads the file of the agent finds when it expires, not when it is escalated", async () => {
  const { host } = await parked();
  const [{ expiresAt } = {}] = await waiting(host);
  const read = () => readWaitingRows((query) => host.sql(Clerk, "a", query));
  expect(read()).toMatchObject([{ expiresAt }]);
  await host.advance(5 * HOUR_MS);
  expect(read()).toMatchObject([{ expiresAt }]);
});

test("one event says so, by the item of the parked action itself, over restarts", async () => {
  const { host, id } = await parked();
  const { at = 0 } = (await firstWaiting(host)).escalation ?? {};
  expect(item(host)).toEqual({ due_at: at, claim: 0 });
  await host.restart();
  await host.advance(4 * HOUR_MS);
  await host.restart();
  await host.advance(DAY_MS);
  expect(eventsOf("action:pause:escalated")).toEqual([{ action: "pay", executionId: id, to: ["boss"] }]);
  const [{ expiresAt } = {}] = await waiting(host);
  expect(item(host)).toEqual({ due_at: expiresAt, claim: 1 });
});

test("the expiry wins: what has expired is decided by no one", async () => {
  const { host, approve, id } = await parked(RULE, { actionPendingApprovalTtlMs: 3 * HOUR_MS });
  await host.advance(5 * HOUR_MS);
  expect(await approve("boss")).toMatchObject({ status: "error" });
  expect(await waiting(host, id)).toEqual([]);
  expect(eventsOf("action:pause:escalated")).toEqual([]);
  expect(eventsOf("action:pause:swept")).toEqual([{ swept: 1 }]);
  const later = await parked(RULE, { actionPendingApprovalTtlMs: 5 * HOUR_MS });
  await later.host.advance(6 * HOUR_MS);
  expect(await later.approve("boss")).toMatchObject({ status: "error" });
  expect(eventsOf("action:pause:swept")).toEqual([{ swept: 1 }]);
  expect(scene.effects).toEqual([]);
});

test("a question without an expiry is escalated and waits on; no wake is left", async () => {
  const { host, approve } = await parked(RULE, { actionPendingApprovalTtlMs: false });
  await host.advance(4 * HOUR_MS);
  expect(eventsOf("action:pause:escalated")).toHaveLength(1);
  expect(item(host)).toEqual({ due_at: null, claim: 1 });
  await host.advance(300 * DAY_MS);
  expect(await approve("boss")).toEqual({ paid: 5 });
});

test("fewer people may be enough then, and what was approved before counts", async () => {
  const { host, approve } = await parked({
    required: 2,
    from: ["ann", "bob"],
    escalate: { after: "90 minutes", to: ["boss"], required: 1 }
  });
  expect(await approve("ann")).toMatchObject({ votes: { required: 2, by: ["ann"] } });
  await host.advance(90 * 60_000);
  expect(await firstWaiting(host)).not.toHaveProperty("votes");
  expect(await approve("boss")).toEqual({ paid: 5 });
});

test("without a number of its own as many people must approve as before", async () => {
  const { host, approve } = await parked({
    required: 2,
    from: ["ann", "bob"],
    escalate: { after: "1 day", to: ["boss"] }
  });
  await host.advance(DAY_MS);
  expect(await approve("boss")).toMatchObject({ votes: { required: 2, by: ["boss"] } });
  expect(await approve("ann")).toEqual({ paid: 5 });
});

test("authorizeApproval is asked with what is known of the escalation, and may refuse still", async () => {
  const asked: unknown[] = [];
  const { host, approve } = await parked(RULE, {
    authorizeApproval: ({ escalation, by }) => {
      asked.push([by, escalation?.isReached]);
      return by !== "boss";
    }
  });
  await host.advance(4 * HOUR_MS);
  expect(await approve("boss")).toMatchObject({ status: "error" });
  expect(await approve("ann")).toEqual({ paid: 5 });
  expect(asked).toEqual([
    ["boss", true],
    ["ann", true]
  ]);
});

test("a rule that the class has no more escalates nothing", async () => {
  const { host, approve } = await parked();
  scene.behaviour.actions = () => paying({ from: ["ann"] });
  await host.advance(4 * HOUR_MS);
  expect(eventsOf("action:pause:escalated")).toEqual([]);
  expect(await approve("boss")).toMatchObject({ status: "error" });
  expect(await approve("ann")).toEqual({ paid: 5 });
});

test("the terminal and inspectors say so", async () => {
  const { host } = await parked();
  await host.advance(4 * HOUR_MS);
  const agent = await agentOf(host);
  const printed: string[] = [];
  const client = { getSnapshot: () => ({ pendingApprovals: [] }), call: () => agent.pendingApprovals() };
  const parsed = { positionals: ["clerk"], flag: () => false, text: () => undefined, list: () => [] };
  await listOrDecide(client as never, parsed as never, { print: (line) => void printed.push(line) });
  expect(printed.join()).toContain("(escalated: boss may decide, too)");
});

test("killed at every write and await, it is escalated, decided by the escalation group, and runs once", async () => {
  const { points } = await everyCrash({
    create: async () => {
      const { host } = await parked({ ...RULE, escalate: { after: "1 minute", to: ["boss"] } });
      return host;
    },
    script: async (host) => {
      await host.advance(60_000);
      await approveAsBoss(host);
    },
    finish: async (host) => {
      await host.advance(301_000);
      await approveAsBoss(host);
      await host.advance(301_000);
    },
    // Without an idempotencyKey a run that a crash cut off is not repeated: its outcome is then unknown, never twice.
    inspect: async (host) => {
      expect(scene.effects.length).toBeLessThanOrEqual(1);
      expect(eventsOf("action:pause:escalated").length).toBeLessThanOrEqual(2);
      const decided = host.sql<{ body: string }>(Clerk, "a", "SELECT body FROM cf_decisions");
      return decided.map(({ body }) => (JSON.parse(body) as { by: string }).by);
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(5);
});

async function approveAsBoss(host: Host): Promise<void> {
  const agent = await agentOf(host);
  for (const { executionId, inputHash = "" } of await waiting(host))
    await agent.approveExecution(executionId, { by: "boss", inputHash });
  await host.idle();
}

test("times are read as they are meant, and nothing else is a time", () => {
  expect(["1 minute", "30 minutes", "4 hours", "1 hour", "2 days"].map(readEscalationTime)).toEqual(
    [1, 30, 240, 60, 2880].map((minutes) => minutes * 60_000)
  );
  for (const wrong of [
    "",
    "4",
    "four hours",
    "0 hours",
    "-1 hours",
    "1.5 hours",
    "367 days",
    "4 weeks",
    " 4 hours",
    4,
    null
  ])
    expect(readEscalationTime(wrong)).toBeUndefined();
});

test("at no time does anyone decide whom neither list names, and from the time on both lists do", () => {
  const name = fc.constantFrom<string[]>("ann", "bob", "cleo", "dan");
  const names = fc.uniqueArray(name, { minLength: 1 });
  fc.assert(
    fc.property(names, names, name, fc.nat(20), fc.boolean(), (from, to, by, now, isFunction) => {
      const rule: ApproversRule = {
        from,
        escalate: { after: "1 hour", to: isFunction ? (who) => to.includes(who) : to }
      };
      const asked = withEscalation({ escalatesAt: 10 } as Question, rule, now);
      const then = ruleNow(rule, asked)?.from;
      const approver = { surface: "app", id: by, verified: true };
      const may = typeof then === "function" ? then(by, approver) : then?.includes(by);
      expect(may).toBe(from.includes(by) || (now >= 10 && to.includes(by)));
    })
  );
});

test.each([
  [{ escalate: { after: "soon", to: ["boss"] } }],
  [{ escalate: { after: "4 hours" } }],
  [{ escalate: { after: "4 hours", to: "boss" } }],
  [{ escalate: { after: "4 hours", to: [] } }],
  [{ required: 2, from: ["ann", "bob"], escalate: { after: "4 hours", to: ["boss"], required: 4 } }],
  [{ escalate: null }]
])("an escalation that cannot be is refused where it is written: %j", (rule) => {
  expect(() => paying(rule as ApproversRule)).toThrow("has approvals that cannot be");
});
