// Recurring tasks: declared in code, scheduled once, run once per occurrence, and never stopped by one that fails.
import type { UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  defineScheduledTasks,
  Think,
  type ThinkScheduledTaskContext,
  type ThinkScheduledTasks
} from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  type Script,
  type TestHost
} from "../../src/testing/index.ts";

// A run per point at which it is killed.
vi.setConfig({ testTimeout: 120_000 });

const HOUR = 3_600_000;
const START = Date.UTC(2030, 0, 1);

/** What outlives the process. */
let script: Script;
let tasks: (agent: Planner) => ThinkScheduledTasks | Promise<ThinkScheduledTasks>;
let timezone: string | undefined;
let handled: ThinkScheduledTaskContext[];
let errors: string[];

class Planner extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override getScheduledTasks() {
    return tasks(this);
  }
  override getDefaultTimezone() {
    return timezone;
  }
  override onError(...args: unknown[]) {
    errors.push(String(args.at(-1)));
  }
  remember() {
    return this.schedule(5 * HOUR, "note", "mine");
  }
  note() {}
  async spawn(name: string) {
    const child = await this.subAgent(Planner, name);
    return (await child.listScheduledTasks()) as unknown[];
  }
  async shots() {
    return (await this.listSchedules()).map(({ payload }) => payload as object);
  }
  async childSchedules(name: string) {
    const child = await this.subAgent(Planner, name);
    return (await child.shots()).length;
  }
  async reconcileChild(name: string) {
    const child = await this.subAgent(Planner, name);
    await child.reconcileScheduledTasks();
  }
}

type Host = TestHost<{ Planner: DurableObjectNamespace<Planner> }>;

beforeEach(() => {
  script = createScript(() => reply(text("ok")));
  tasks = () => ({});
  timezone = undefined;
  handled = [];
  errors = [];
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const open = (): Host => createTestHost({ agents: { Planner }, now: START });
const plannerOf = (host: Host) => host.get(Planner, "a");
const record = (context: ThinkScheduledTaskContext) => void handled.push(context);
const rowsOf = (host: Host) =>
  host.sql(Planner, "a", "SELECT task_id, schedule_id, next_run_at FROM cf_scheduled_tasks ORDER BY task_id");
const shotsOf = (host: Host) =>
  host.sql<{ id: string; time_ms: number; callback: string }>(
    Planner,
    "a",
    `SELECT key AS id, payload ->> '$.time' AS time_ms, payload ->> '$.callback' AS callback FROM cf_work
     WHERE kind = 'schedule' ORDER BY time_ms`
  );

async function started(host: Host) {
  const agent = await plannerOf(host);
  await host.idle();
  return agent;
}

describe("running", () => {
  test("a prompt becomes a submission under the occurrence's key, with the task's metadata", async () => {
    tasks = () => ({
      digest: { schedule: "every 1 hour", prompt: "Write it.", metadata: { team: "a" }, channel: "mail" }
    });
    const host = open();
    const agent = await started(host);
    await host.advance(HOUR);
    const [submission] = await agent.listSubmissions();
    expect(submission).toMatchObject({
      status: "completed",
      metadata: {
        team: "a",
        source: "scheduled-task",
        taskId: "digest",
        scheduledFor: START + HOUR,
        schedule: "every 1 hour"
      }
    });
    expect(submission?.idempotencyKey).toMatch(new RegExp(`^think-schedule:[\\w-]{22}:digest:${START + HOUR}$`));
    const [question] = (await agent.getMessages()) as UIMessage[];
    expect(question).toMatchObject({ parts: [{ type: "text", text: "Write it." }], metadata: { channel: "mail" } });
    expect(await agent.listScheduledTasks()).toMatchObject([
      {
        taskId: "digest",
        nextRunAt: START + 2 * HOUR,
        lastOutcome: "submitted",
        lastSubmissionId: submission?.submissionId
      }
    ]);
  });

  test("a handler is given the occurrence, by the clock of its timezone", async () => {
    tasks = () => ({
      morning: { schedule: "every day at 09:00 in America/New_York", handler: record, metadata: { n: 1 } }
    });
    const host = open();
    await started(host);
    const scheduledFor = Date.UTC(2030, 0, 1, 14);
    await host.advance(scheduledFor - START);
    expect(handled).toEqual([
      {
        taskId: "morning",
        scheduledFor,
        scheduledForDate: new Date(scheduledFor),
        lateByMs: 0,
        occurrenceKey: `morning:${scheduledFor}`,
        idempotencyKey: expect.stringContaining(`:morning:${scheduledFor}`),
        schedule: "every day at 09:00",
        scheduleKind: "wall-clock",
        timezone: "America/New_York",
        metadata: { n: 1 }
      }
    ]);
  });

  test("an agent that slept over five occurrences runs one, and goes on with the phase it had", async () => {
    tasks = () => ({ tick: { schedule: "every 1 hour", handler: record } });
    const host = open();
    await started(host);
    host.loseAlarm(Planner, "a");
    await host.evict(Planner, "a");
    await host.advance(5 * HOUR + 1_800_000);
    expect(handled).toHaveLength(0);
    await started(host);
    await host.advance(1_000);
    expect(handled.map(({ scheduledFor, lateByMs }) => [scheduledFor - START, lateByMs >= 4 * HOUR])).toEqual([
      [HOUR, true]
    ]);
    await host.advance(HOUR);
    expect(handled.map(({ scheduledFor }) => scheduledFor - START)).toEqual([HOUR, 6 * HOUR]);
  });

  test("a handler that fails once is tried again; one that always fails runs three times, is reported, and goes on", async () => {
    let runs = 0;
    tasks = () => ({
      once: {
        schedule: "every 1 hour",
        retry: { maxAttempts: 2 },
        handler: (context) => {
          record(context);
          if (handled.length === 1) throw new Error("once");
        }
      },
      always: {
        schedule: "every 2 hours",
        handler: () => {
          runs += 1;
          throw new Error("always");
        }
      }
    });
    const host = open();
    const agent = await started(host);
    await host.advance(HOUR + 60_000);
    expect(handled).toHaveLength(2);
    expect(new Set(handled.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(errors).toEqual([]);
    await host.advance(HOUR);
    expect([runs, errors]).toEqual([3, ["Error: always"]]);
    expect(await agent.listScheduledTasks()).toMatchObject([
      { taskId: "always", nextRunAt: START + 4 * HOUR, lastOutcome: "failed", lastError: "always" },
      { taskId: "once", nextRunAt: START + 3 * HOUR, lastOutcome: "handled" }
    ]);
  });

  test("a prompt function that throws submits nothing, and the next occurrence is scheduled", async () => {
    let isBroken = true;
    tasks = () => ({
      digest: {
        schedule: "every 1 hour",
        prompt: async () => {
          if (isBroken) throw new Error("no data");
          return "now";
        }
      }
    });
    const host = open();
    const agent = await started(host);
    await host.advance(HOUR + 60_000);
    expect(await agent.listSubmissions()).toEqual([]);
    isBroken = false;
    await host.advance(HOUR);
    expect(await agent.listSubmissions()).toHaveLength(1);
  });

  test("an occurrence that is delivered twice is one submission and one next one-shot", async () => {
    tasks = () => ({ digest: { schedule: "every 1 hour", prompt: "Write it." } });
    const host = open();
    const agent = await started(host);
    const [shot] = await agent.shots();
    await host.advance(HOUR);
    await agent.internal_runScheduledTask(shot);
    await host.idle();
    expect(await agent.listSubmissions()).toHaveLength(1);
    expect(shotsOf(host)).toHaveLength(1);
    await expect(agent.internal_runScheduledTask({ taskId: "digest" })).rejects.toThrow("cannot be read");
  });

  test("an occurrence that was handled, or belongs to an earlier schedule, is not handled when it is delivered again", async () => {
    tasks = () => ({ tick: { schedule: "every 1 hour", handler: record } });
    const host = open();
    const agent = await started(host);
    const [shot] = await agent.shots();
    await host.advance(HOUR);
    expect(handled).toHaveLength(1);
    await agent.internal_runScheduledTask(shot);
    await agent.internal_runScheduledTask({ ...shot, scheduleHash: "another", scheduledFor: START + 5 * HOUR });
    expect(handled).toHaveLength(1);
    expect(shotsOf(host)).toHaveLength(1);
  });

  test("a handler that changes its own schedule has one next occurrence, by the new schedule", async () => {
    const handler = async (context: ThinkScheduledTaskContext) => {
      record(context);
      tasks = () => ({ tick: { schedule: "every 3 hours", handler: record } });
      await agent.reconcileScheduledTasks();
    };
    tasks = () => ({ tick: { schedule: "every 1 hour", handler } });
    const host = open();
    const agent = await started(host);
    await host.advance(HOUR);
    expect(shotsOf(host).map(({ time_ms }) => time_ms - START)).toEqual([4 * HOUR]);
    await host.advance(3 * HOUR);
    expect(handled.map(({ scheduledFor }) => scheduledFor - START)).toEqual([HOUR, 4 * HOUR]);
  });

  test("an occurrence that a deploy cuts off is run again under the same key, and is no failure", async () => {
    const handler = (context: ThinkScheduledTaskContext) => {
      record(context);
      if (handled.length === 1) throw new Error("Durable Object reset because its code was updated.");
    };
    tasks = () => ({ tick: { schedule: "every 1 hour", handler } });
    const host = open();
    await started(host);
    await host.advance(HOUR + 10 * 60_000);
    expect(handled.map(({ occurrenceKey }) => occurrenceKey)).toEqual(Array(2).fill(`tick:${START + HOUR}`));
    expect(errors.filter((error) => !error.includes("code was updated"))).toEqual([]);
    await host.advance(HOUR);
    expect(handled).toHaveLength(3);
  });

  test("a prompt is left out while the submission of the one before is not over, if the task says so", async () => {
    const gate = createGate();
    script = createScript([reply(gate.wait(), text("slow")), reply(text("quick"))]);
    tasks = () => ({ digest: { schedule: "every 1 minute", prompt: "Write it.", overlap: "skip" } });
    const host = open();
    const agent = await started(host);
    await host.advance(3 * 60_000);
    expect(await agent.listSubmissions()).toHaveLength(1);
    expect(await agent.listScheduledTasks()).toMatchObject([{ lastOutcome: "skipped", nextRunAt: START + 4 * 60_000 }]);
    gate.open();
    await host.advance(60_000);
    expect(await agent.listSubmissions({ status: "completed" })).toHaveLength(2);
    expect(await agent.listScheduledTasks()).toMatchObject([{ lastOutcome: "submitted" }]);
  });

  test("too late is left out if the task says so", async () => {
    tasks = () => ({ digest: { schedule: "every 1 hour", handler: record, maxLatenessMs: 60_000 } });
    const host = open();
    const agent = await started(host);
    host.loseAlarm(Planner, "a");
    await host.evict(Planner, "a");
    await host.advance(90 * 60_000);
    await started(host);
    await host.advance(1_000);
    expect(handled).toEqual([]);
    expect(await agent.listScheduledTasks()).toMatchObject([{ lastOutcome: "skipped", nextRunAt: START + 2 * HOUR }]);
  });

  test("declarations that cannot be read when a task is due are read again, and the occurrence runs", async () => {
    let isBroken = false;
    tasks = () => {
      if (isBroken) throw new Error("the database is away");
      return { tick: { schedule: "every 1 hour", handler: record } };
    };
    const host = open();
    await started(host);
    isBroken = true;
    await host.advance(HOUR + 10_000);
    isBroken = false;
    await host.advance(60_000);
    expect(handled.map(({ scheduledFor }) => scheduledFor - START)).toEqual([HOUR]);
    await host.advance(HOUR);
    expect(handled).toHaveLength(2);
  });

  test("a task can be run now, beside its schedule", async () => {
    tasks = () => ({
      tick: { schedule: "every 1 hour", handler: record },
      ask: { schedule: "every 2 hours", prompt: "Now?" }
    });
    const host = open();
    const agent = await started(host);
    await host.advance(60_000);
    expect(await agent.runScheduledTask("tick")).toMatchObject({ lastOutcome: "handled", nextRunAt: START + HOUR });
    expect(await agent.runScheduledTask("ask")).toMatchObject({ lastOutcome: "submitted" });
    await expect(agent.runScheduledTask("none")).rejects.toThrow('no scheduled task "none"');
    expect(handled).toHaveLength(1);
  });
});

describe("reconciling", () => {
  test("a second time changes no row and no one-shot; a removed task takes only its own; others survive", async () => {
    tasks = () => ({
      a: { schedule: "every 1 hour", prompt: "A" },
      b: { schedule: "every 2 hours", prompt: "B" }
    });
    const host = open();
    const agent = await started(host);
    await agent.remember();
    const before = [rowsOf(host), shotsOf(host)];
    await agent.reconcileScheduledTasks();
    await agent.internal_reconcileScheduledTasks();
    await host.restart();
    await started(host);
    expect([rowsOf(host), shotsOf(host)]).toEqual(before);
    tasks = () => ({ b: { schedule: "every 2 hours", prompt: "B, in other words" } });
    await (await plannerOf(host)).reconcileScheduledTasks();
    expect(rowsOf(host)).toEqual([before[0]?.[1]]);
    expect(shotsOf(host).map(({ callback }) => callback)).toEqual(["internal_runScheduledTask", "note"]);
  });

  test("a one-shot that is missing is made again for the same time", async () => {
    tasks = () => ({ a: { schedule: "every 1 hour", prompt: "A" } });
    const host = open();
    const agent = await started(host);
    host.sql(Planner, "a", "UPDATE cf_scheduled_tasks SET schedule_id = NULL");
    await agent.reconcileScheduledTasks();
    expect(shotsOf(host)).toHaveLength(1);
    const [shot] = shotsOf(host);
    await agent.cancelSchedule(shot?.id ?? "");
    await host.advance(60_000);
    await agent.reconcileScheduledTasks();
    expect(shotsOf(host).map(({ time_ms }) => time_ms)).toEqual([START + HOUR]);
    expect(rowsOf(host)).toMatchObject([{ next_run_at: START + HOUR }]);
  });

  test("another default timezone gives the tasks that rely on it another one-shot", async () => {
    timezone = "Europe/London";
    tasks = () => ({
      a: { schedule: "every day at 09:00", prompt: "A" },
      b: { schedule: "every day at 09:00 in UTC", prompt: "B" }
    });
    const host = open();
    const agent = await started(host);
    const [a, b] = rowsOf(host);
    timezone = "Asia/Tokyo";
    await agent.reconcileScheduledTasks();
    const [otherA, sameB] = rowsOf(host);
    expect(otherA?.["schedule_id"]).not.toBe(a?.["schedule_id"]);
    expect(otherA?.["next_run_at"]).toBe(Date.UTC(2030, 0, 2));
    expect(sameB).toEqual(b);
    expect(shotsOf(host)).toHaveLength(2);
  });

  test("one of three that is not usable is reported; the others are scheduled and run", async () => {
    // Built at run time: the types would refuse it.
    const broken = { schedule: "every now and then", prompt: "B" } as object as ThinkScheduledTasks[string];
    tasks = () => ({
      a: { schedule: "every 1 hour", handler: record },
      b: broken,
      c: { schedule: "every 1 hour", handler: record }
    });
    const host = open();
    const agent = await started(host);
    expect(await agent.getOnStartDegradations()).toMatchObject([{ step: "scheduled-task-reconcile" }]);
    await expect(agent.reconcileScheduledTasks()).rejects.toThrow(
      'The scheduled task "b" is not usable: Unsupported schedule DSL'
    );
    await host.advance(HOUR);
    expect(handled.map(({ taskId }) => taskId).sort()).toEqual(["a", "c"]);
  });

  test("a class that cannot say its tasks serves all the same, and keeps those it had", async () => {
    tasks = () => ({ a: { schedule: "every 1 hour", handler: record } });
    const host = open();
    await started(host);
    tasks = () => {
      throw new Error("not yet");
    };
    await host.restart();
    const agent = await started(host);
    expect(await agent.getOnStartDegradations()).toMatchObject([
      { step: "scheduled-task-reconcile", error: "not yet" }
    ]);
    expect(shotsOf(host)).toHaveLength(1);
  });

  test("a schedule that changed without a restart is not run as it was, and is run as it is", async () => {
    tasks = () => ({ a: { schedule: "every 1 hour", handler: record } });
    const host = open();
    await started(host);
    tasks = () => ({ a: { schedule: "every 3 hours", handler: record } });
    await host.advance(HOUR);
    expect(handled).toEqual([]);
    await host.advance(3 * HOUR);
    expect(handled.map(({ scheduledFor }) => scheduledFor - START)).toEqual([4 * HOUR]);
  });

  test("equal tasks of a parent and two sub-agents are three, and taking one agent's away leaves the others", async () => {
    let without: string | undefined;
    const tick: ThinkScheduledTasks = { tick: { schedule: "every 1 hour", handler: record } };
    tasks = (agent) => (agent.name === without ? {} : tick);
    const host = open();
    const agent = await started(host);
    await agent.spawn("one");
    await agent.spawn("two");
    await host.idle();
    await host.advance(HOUR);
    expect(new Set(handled.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
    without = "one";
    await agent.reconcileChild("one");
    expect([await agent.childSchedules("one"), await agent.childSchedules("two"), shotsOf(host).length]).toEqual([
      0, 1, 1
    ]);
    await host.advance(HOUR);
    expect(handled).toHaveLength(5);
  });

  test("an agent without tasks has no table for them and arms no alarm", async () => {
    const host = open();
    await started(host);
    expect(host.alarm(Planner, "a")).toBeNull();
    expect(host.sql(Planner, "a", "SELECT name FROM sqlite_master WHERE name LIKE 'cf_schedule%'")).toEqual([]);
  });
});

test("killed at any write or await, each occurrence is submitted once and the next is scheduled", async () => {
  tasks = () => defineScheduledTasks({ digest: { schedule: "every 1 hour", prompt: "Write it." } });
  const { points } = await everyCrash({
    create: () => {
      script = createScript(() => reply(text("ok")));
      return open();
    },
    script: async (host) => {
      await started(host);
      await host.advance(HOUR);
    },
    finish: async (host) => {
      await started(host);
      // Up to the same time, whenever it was killed.
      await host.advance(START + 2 * HOUR - 60_000 - host.now);
    },
    inspect: async (host) => {
      const agent = await started(host);
      const messages = (await agent.getMessages()) as UIMessage[];
      return {
        said: messages.map(({ role }) => role),
        submissions: (await agent.listSubmissions()).map(({ status }) => status),
        shots: shotsOf(host).length,
        next: (await agent.listScheduledTasks()).map(({ nextRunAt = 0 }) => nextRunAt - START)
      };
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(10);
});
