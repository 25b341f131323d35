// The class's hook is called with each change of a submission's status: at least once, in order, whatever dies or hangs.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ThinkSubmissionInspection } from "../../src/index.ts";
import { HOOK_LIMIT_MS } from "../../src/features/submissions/status-calls.ts";
import { createTestHost, everyCrash } from "../../src/testing/index.ts";
import { thinkRuntimeOf } from "../../src/think/runtime.ts";
import { Clerk, clerkOf, echo, gatedAt, open, scene, statusOf, submitted, type Host } from "./submissions-kit.ts";
import { user } from "../kit/messages.ts";
import { DAY_MS, MINUTE, never, RECOVERED_MS, SECOND } from "../kit/time.ts";

// Each point of a crash run boots the agent three times.
vi.setConfig({ testTimeout: 120_000 });

beforeEach(() => {
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const callsOf = (id: string) =>
  scene.statuses.flatMap((line) => (line.startsWith(`${id} `) ? [line.slice(id.length + 1)] : []));

const calls = (host: Host) => host.sql(Clerk, "a", "SELECT key, claim FROM cf_work WHERE kind = 'submission-status'");

const sleep = (agent: Clerk, ms: number) => thinkRuntimeOf(agent).agent.clock.sleep(ms);

test("killed at any write or await, each status is a call, in order, of hooks that take long, throw and hang", async () => {
  const status = async ({ submissionId, status: at }: ThinkSubmissionInspection, agent: Clerk) => {
    const kinds = submissionId === "one" ? ["pending", "running", "completed"] : ["running", "completed", "pending"];
    if (at === kinds[0]) await sleep(agent, 3 * SECOND);
    if (at === kinds[1]) throw new Error("a bug of the hook");
    if (at === kinds[2]) await never();
  };
  const submitBoth = async (host: Host) => {
    const agent = await clerkOf(host);
    const accepted = ["one", "two"].map((id) => agent.submitMessages([user(id)], { submissionId: id }));
    // Wakes come while the hooks run.
    await host.advance(MINUTE);
    await Promise.all(accepted);
  };
  const inspect = async (host: Host) => ({
    ends: await Promise.all(["one", "two"].map((id) => statusOf(host, id))),
    // A kill repeats calls that it cut off, and no other.
    orders: ["one", "two"].map((id) => callsOf(id).filter((at, index, all) => at !== all[index - 1])),
    isOnceMore: scene.statuses.length <= 6 + 2,
    left: calls(host)
  });
  const outcomes: object[] = [];
  const { points } = await everyCrash({
    create: () => open(echo, { status }),
    script: submitBoth,
    // A caller whose process died asks again.
    finish: async (host) => {
      await submitBoth(host);
      await host.advance(RECOVERED_MS);
    },
    inspect: async (host) => {
      const outcome = await inspect(host);
      outcomes.push(outcome);
      return outcome;
    },
    points: "both"
  });
  const [whole] = outcomes;
  const order = ["pending", "running", "completed"];
  expect(whole).toEqual({ ends: ["completed", "completed"], orders: [order, order], isOnceMore: true, left: [] });
  expect(points).toBeGreaterThan(50);
});

test("changes that a process had no time to call the hook with are calls of the next one, with what was so then", async () => {
  const seen: ThinkSubmissionInspection[] = [];
  const host = open(echo, { status: (submission) => (submission.status === "running" ? never() : undefined) });
  await submitted(host, "a");
  await host.idle();
  expect([await statusOf(host, "a"), callsOf("a")]).toEqual(["completed", ["pending", "running"]]);
  scene.behaviour = { status: (submission) => void seen.push(submission) };
  host.kill();
  host.sql(Clerk, "a", `UPDATE cf_submissions SET output = '{"large":true}'`);
  await host.restart();
  // Read from outside: a call would start the agent.
  await host.advance(5 * MINUTE);
  expect(callsOf("a")).toEqual(["pending", "running", "running", "completed"]);
  const [running, completed] = seen;
  expect(running).toEqual({
    ...{ submissionId: "a", requestId: "a", status: "running" },
    ...{ createdAt: expect.any(Number), startedAt: expect.any(Number) }
  });
  expect(completed?.output).toEqual({ large: true });
  expect(completed).toEqual(await (await clerkOf(host)).inspectSubmission("a"));
  expect(calls(host)).toEqual([]);
  expect(host.alarm(Clerk, "a")).toBeNull();
});

test("a submission that is deleted before the hook was called is a call with what it was", async () => {
  const host = open(echo, { status: ({ status }, agent) => (status === "running" ? sleep(agent, SECOND) : undefined) });
  const metadata = { order: "o1" };
  const agent = await clerkOf(host);
  await agent.submitMessages([user("u")], { submissionId: "a", metadata });
  await host.idle();
  expect(await agent.deleteSubmission("a")).toBe(true);
  const seen: ThinkSubmissionInspection[] = [];
  scene.behaviour = { status: (submission) => void seen.push(submission) };
  await host.advance(SECOND);
  expect(seen).toMatchObject([{ submissionId: "a", status: "completed", metadata, completedAt: expect.any(Number) }]);
});

test("a hook in which the process dies is called again less and less often, for a day; other submissions go on", async () => {
  const host = open(echo, {
    status: ({ submissionId, status }) => {
      if (submissionId === "deadly" && status === "completed") host.kill();
    }
  });
  await submitted(host, "deadly").catch(() => undefined);
  await host.idle();
  for (let hour = 0; hour < 26; hour += 1) {
    for (let step = 0; step < 12; step += 1) {
      if (host.crashed) await host.restart();
      await host.advance(5 * MINUTE);
    }
  }
  const deaths = callsOf("deadly").filter((status) => status === "completed").length;
  expect(deaths).toBeGreaterThan(100);
  expect(deaths).toBeLessThan(400);
  if (host.crashed) await host.restart();
  await host.advance(DAY_MS);
  expect(host.crashed).toBe(false);
  expect(calls(host)).toEqual([]);
  await submitted(host, "next");
  await host.idle();
  expect(callsOf("next")).toEqual(["pending", "running", "completed"]);
});

test("a hook that hangs about one submission delays no call about another", async () => {
  const host = open(echo, { status: ({ submissionId }) => (submissionId === "slow" ? never() : undefined) });
  const agent = await clerkOf(host);
  const slow = agent.submitMessages([user("slow")], { submissionId: "slow" });
  await host.idle();
  await submitted(host, "quick");
  expect(callsOf("quick")).toEqual(["pending"]);
  await host.advance(HOOK_LIMIT_MS);
  await slow;
  await host.idle();
  expect(callsOf("quick")).toEqual(["pending", "running", "completed"]);
  expect(callsOf("slow")).toEqual(["pending", "running"]);
});

test("a hook may submit, and waits no longer for that than its own hook takes", async () => {
  const host = open(echo, {
    status: async ({ submissionId, status }, agent) => {
      if (submissionId === "a" && status === "completed") await agent.submitText("next", { submissionId: "b" });
    }
  });
  await submitted(host, "a");
  await host.idle();
  expect(scene.statuses).toEqual(["a pending", "a running", "a completed", "b pending", "b running", "b completed"]);
  expect(console.error).not.toHaveBeenCalled();
});

test("what is submitted in onStart is accepted when its hook has returned, as anywhere else", async () => {
  class Early extends Clerk {
    override async onStart() {
      await this.submitMessages([user("u")], { submissionId: "early" });
      scene.statuses.push("started");
    }
  }
  open();
  const host = createTestHost({ agents: { Early } });
  await host.get(Early, "a");
  await host.idle();
  expect(scene.statuses).toEqual(["early pending", "started", "early running", "early completed"]);
});

test("a call that cannot be read costs only itself", async () => {
  const host = open(echo, { status: ({ status }) => (status === "running" ? never() : undefined) });
  await submitted(host, "a");
  await host.idle();
  host.kill();
  host.sql(Clerk, "a", "UPDATE cf_work SET payload = '{' WHERE key LIKE 'a:%running'");
  await host.restart();
  await host.advance(5 * MINUTE);
  expect(callsOf("a")).toEqual(["pending", "running", "completed"]);
});

test("a cancel of a running submission that user code undoes leaves its end to be announced", async () => {
  const { gate, steps } = gatedAt("a");
  const host = open(steps);
  await submitted(host, "a");
  await gate.reached;
  const agent = await clerkOf(host);
  await agent.undoCancel("a");
  const ended = agent.waitForSubmission("a", { timeoutMs: MINUTE });
  gate.open();
  await host.idle();
  expect(callsOf("a")).toEqual(["pending", "running", "completed"]);
  expect(await ended).toMatchObject({ status: "completed" });
});

test("a submission that is deleted and submitted anew under its id has all of its calls, also while an old one is owed", async () => {
  let isDeadly = true;
  const host = open(echo, {
    status: ({ status }) => {
      if (status === "completed" && isDeadly) host.kill();
    }
  });
  await submitted(host, "a").catch(() => undefined);
  await host.idle();
  for (let death = 1; death < 10; death += 1) {
    await host.restart();
    await host.advance(5 * MINUTE);
  }
  isDeadly = false;
  await host.restart();
  expect(calls(host)).toMatchObject([{ claim: 10 }]);
  await (await clerkOf(host)).deleteSubmission("a");
  scene.statuses.length = 0;
  const again = submitted(host, "a");
  await host.advance(5 * MINUTE);
  await again;
  expect(callsOf("a")).toEqual(["completed", "pending", "running", "completed"]);
});
