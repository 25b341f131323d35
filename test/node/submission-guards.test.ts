// Limits and orders of submissions that only hard use would miss.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_WAITING } from "../../src/features/submissions/submissions.ts";
import {
  Clerk,
  clerkOf,
  echo,
  eventsOf,
  gatedAt,
  open,
  scene,
  statusOf,
  submitted,
  type Host
} from "./submissions-kit.ts";
import { message, user } from "../kit/messages.ts";
import { never } from "../kit/time.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

/** As if so many had been accepted after the first. */
function fillQueue(host: Host, last: number): void {
  host.sql(
    Clerk,
    "a",
    `INSERT INTO cf_submissions (seq, created_at, id, fingerprint, request)
       SELECT ?, created_at, ?, fingerprint, request FROM cf_submissions WHERE seq = 1`,
    last,
    `minted-${last.toString(36)}`
  );
}

test("an agent takes 10,000 submissions that wait and refuses the next by name; when one has ended it takes another", async () => {
  const { gate, steps } = gatedAt("a");
  const host = open(steps);
  await submitted(host, "a");
  await gate.reached;
  host.kill();
  fillQueue(host, MAX_WAITING);
  await host.restart();
  const refused = submitted(host, "b");
  await expect(refused).rejects.toMatchObject({ code: "submission-queue-full" });
  expect(await statusOf(host, "b")).toBeUndefined();
  gate.open();
  await host.advance(120_000);
  expect(await statusOf(host, "a")).toBe("completed");
  await submitted(host, "c");
  await host.advance(120_000);
  expect(await statusOf(host, "c")).toBe("completed");
});

test("a process that dies in the hook for pending is not needed: the object's own wake runs the submission", async () => {
  const host = open(echo, { status: ({ status }) => (status === "pending" ? never() : undefined) });
  await clerkOf(host);
  await host.advance(3_600_000);
  submitted(host, "a").catch(() => undefined);
  await host.idle();
  expect(host.alarm(Clerk, "a") ?? Infinity).toBeLessThanOrEqual(host.now + 5_000);
  scene.behaviour = {};
  await host.restart();
  await host.advance(5 * 60_000);
  // Read from outside: a call would start the agent.
  expect(host.sql(Clerk, "a", "SELECT status FROM cf_submissions")).toEqual([{ status: "completed" }]);
});

test("an end that user code undoes is told to no hook, event or caller that waits", async () => {
  const { gate, steps } = gatedAt("a");
  const host = open(steps);
  await submitted(host, "a", "b");
  await gate.reached;
  const agent = await clerkOf(host);
  await agent.undoCancel("b");
  await host.idle();
  expect(await statusOf(host, "b")).toBe("pending");
  expect(scene.statuses).not.toContain("b aborted");
  expect(eventsOf("submission:status")).not.toContain("submission:status b aborted");
  gate.open();
  await host.idle();
  expect(await statusOf(host, "b")).toBe("completed");
});

/** From now on no turn can begin. */
const fillDisk = (host: Host) =>
  host.sql(
    Clerk,
    "a",
    `CREATE TRIGGER full_disk BEFORE INSERT ON cf_journal WHEN new.body LIKE '%"turn-admitted"%'
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`
  );

test("a submission that cannot be started is tried again less and less often, by the agent's own wake, and logged", async () => {
  const host = open();
  await submitted(host, "first");
  await host.idle();
  const error = vi.mocked(console.error);
  fillDisk(host);
  await submitted(host, "second");
  const failures = () => error.mock.calls.filter(([line]) => String(line).includes("could not be started")).length;
  await host.advance(600_000);
  expect(failures()).toBeGreaterThan(5);
  expect(failures()).toBeLessThan(20);
  host.sql(Clerk, "a", "DROP TRIGGER full_disk");
  await host.advance(600_000);
  expect(host.sql(Clerk, "a", "SELECT status FROM cf_submissions WHERE id = 'second'")).toEqual([
    { status: "completed" }
  ]);
});

test("one that cannot be started when the turn before it ends has a wake of its own", async () => {
  const { gate, steps } = gatedAt("a");
  const host = open(steps);
  await submitted(host, "a", "b");
  await gate.reached;
  fillDisk(host);
  gate.open();
  await host.idle();
  // Not the turn's, which is half a minute away.
  expect(host.alarm(Clerk, "a") ?? Infinity).toBeLessThanOrEqual(host.now + 10_000);
});

test.each([
  ["a NUL", "a\0b"],
  ["too many bytes", "é".repeat(1_000)]
])("an id with %s, which no record could hold, is refused", async (_what, submissionId) => {
  const host = open();
  const agent = await clerkOf(host);
  const refused = agent.submitMessages([user("u")], { submissionId });
  await expect(refused).rejects.toMatchObject({ code: "submission-invalid" });
  expect(await agent.listSubmissions()).toEqual([]);
});

test("the same key with another body, or another channel, is a conflict", async () => {
  const host = open();
  const agent = await clerkOf(host);
  const asked = { idempotencyKey: "k", body: { tier: 1 }, channel: "mail" };
  // Of its messages only a user's are stamped with the channel.
  const system = message("system", "s", "s");
  const submit = (options: object) => agent.submitMessages([system], { ...asked, ...options });
  expect((await submit({})).accepted).toBe(true);
  expect((await submit({})).conflict).toBeUndefined();
  expect((await submit({ body: { tier: 2 } })).conflict).toBe(true);
  expect((await submit({ channel: "chat" })).conflict).toBe(true);
});
