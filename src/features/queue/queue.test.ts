import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gate, World, type Methods, type TestAgent } from "../../testing/agent-core.test-support.ts";
import { DEAD_LETTER_LIMIT, QUEUE_ITEM_LIMIT } from "./queue-item.ts";

let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function boot(methods: Methods): TestAgent {
  return world.boot({ methods });
}

describe("queue", () => {
  test("runs items in order of insertion with payload and item, then removes them", async () => {
    const seen: unknown[][] = [];
    const agent = boot({ work: (...args) => void seen.push(args) });
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await agent.queue.enqueue("work", { i }));
    await world.settle();
    expect(seen.map(([payload]) => payload)).toEqual([0, 1, 2, 3, 4].map((i) => ({ i })));
    expect(seen[0]?.[1]).toEqual({
      id: ids[0],
      payload: { i: 0 },
      callback: "work",
      created_at: Math.floor(world.nowMs / 1000)
    });
    expect(world.count("cf_work")).toBe(0);
    expect(world.eventsOf("queue:create")).toEqual(ids.map((id) => ({ callback: "work", id })));
    expect(world.alarmAt).toBeNull();
  });

  test("one at a time per callback; different callbacks do not wait for each other", async () => {
    const { opened, open } = gate();
    const ran: string[] = [];
    let running = 0;
    const agent = boot({
      slow: async (payload) => {
        expect(++running).toBe(1);
        await opened;
        running--;
        ran.push(`slow ${String(payload)}`);
      },
      quick: (payload) => void ran.push(`quick ${String(payload)}`)
    });
    await agent.queue.enqueue("slow", 1);
    await agent.queue.enqueue("slow", 2);
    await agent.queue.enqueue("quick", 1);
    await world.settle();
    expect(ran).toEqual(["quick 1"]);
    open();
    await world.settle();
    expect(ran).toEqual(["quick 1", "slow 1", "slow 2"]);
  });

  test("an item added at the moment its lane ends is still run, once, alone", async () => {
    // The second item meets every point of the first lane's end; the third must find the second's lane, not open one.
    for (let turns = 0; turns < 40; turns++) {
      world = new World();
      const { opened, open } = gate();
      let running = 0;
      let most = 0;
      const ran: unknown[] = [];
      const agent = boot({
        work: async (payload) => {
          most = Math.max(most, ++running);
          if (payload === 2) await opened;
          running--;
          ran.push(payload);
        }
      });
      const wait = async (count: number) => {
        for (let turn = 0; turn < count; turn++) await Promise.resolve();
      };
      await agent.queue.enqueue("work", 1);
      await wait(turns);
      await agent.queue.enqueue("work", 2);
      await wait(30);
      await agent.queue.enqueue("work", 3);
      await world.settle();
      open();
      await world.settle();
      expect({ turns, most, ran }).toEqual({ turns, most: 1, ran: [1, 2, 3] });
    }
  });

  test("the object is kept alive while items run", async () => {
    const { opened, open } = gate();
    const agent = boot({ work: () => opened });
    await agent.queue.enqueue("work", null);
    await world.settle();
    expect(agent.keepAlive.isHeld).toBe(true);
    expect(world.alarmAt).toBe(world.nowMs + 30_000);
    await world.advance(100_000);
    expect(agent.keepAlive.isHeld).toBe(true);
    open();
    await agent.queue.idle();
    await world.settle();
    expect(agent.keepAlive.isHeld).toBe(false);
    expect(world.alarmAt).toBeNull();
  });

  test("items run in the context of the caller that triggered the flush", async () => {
    const connection = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const agent = boot({ work: () => void seen.push(connection.getStore()) });
    await connection.run("socket 1", () => agent.queue.enqueue("work", 1));
    await world.settle();
    await agent.queue.enqueue("work", 2);
    await world.settle();
    expect(seen).toEqual(["socket 1", undefined]);
  });

  test("a wake that comes while items run starts none of them again, and one that hangs holds up its callback only", async () => {
    const ran: unknown[] = [];
    const agent = boot({
      slow: (payload) => {
        ran.push(payload);
        return new Promise(() => undefined);
      },
      quick: (payload) => void ran.push(payload)
    });
    for (const payload of ["a", "b"]) await agent.queue.enqueue("slow", payload);
    await world.settle();
    for (let wake = 0; wake < 3; wake += 1) await agent.alarm();
    await world.advance(100_000);
    await agent.queue.enqueue("quick", "c");
    await world.settle();
    expect(ran).toEqual(["a", "c"]);
  });

  test("an item runs in the context of the code that queued it, also after another's", async () => {
    const connection = new AsyncLocalStorage<string>();
    const { opened, open } = gate();
    const seen: unknown[] = [];
    const agent = boot({
      work: async (payload) => {
        seen.push([payload, connection.getStore()]);
        if (payload === 1) await opened;
        if (payload === 2 && seen.length === 2) throw new Error("once more");
      }
    });
    for (const n of [1, 2, 3]) await connection.run(`socket ${n}`, () => agent.queue.enqueue("work", n));
    await world.settle();
    open();
    await world.advance(10_000);
    expect(seen).toEqual([
      [1, "socket 1"],
      [2, "socket 2"],
      [2, "socket 2"],
      [3, "socket 3"]
    ]);
  });

  test("flushing an empty queue holds nothing alive", async () => {
    const agent = boot({});
    await agent.queue.runDue();
    expect(agent.keepAlive.isHeld).toBe(false);
  });

  test("callbacks, retry options and payloads are checked like those of schedules", async () => {
    const agent = boot({ work: () => undefined });
    await expect(agent.queue.enqueue("nope", 1)).rejects.toThrow("this.nope is not a function");
    await expect(agent.queue.enqueue("work", 1, { retry: { maxAttempts: 0 } })).rejects.toThrow(
      "retry.maxAttempts must be >= 1"
    );
    await expect(agent.queue.enqueue("work", "x".repeat(2_000_000))).rejects.toMatchObject({ code: "too-large" });
    expect(world.count("cf_work")).toBe(0);
  });

  test("a full queue refuses with a hint", async () => {
    const agent = boot({ work: () => new Promise(() => undefined) });
    await agent.queue.enqueue("work", 0);
    world.database
      .exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${QUEUE_ITEM_LIMIT - 1})
      INSERT INTO cf_work (kind, key, lane, payload, due_at, created_at)
        SELECT 'queue', 'bulk-' || i, 'work', '{"payload":1}', 0, 0 FROM n`);
    await expect(agent.queue.enqueue("work", 1)).rejects.toMatchObject({ code: "queue-full" });
  });
});

describe("failure", () => {
  test("an item is retried, then becomes a dead letter; the next item runs", async () => {
    const ran: unknown[] = [];
    const agent = boot({
      work: (payload) => {
        ran.push(payload);
        if (payload === "bad") throw new Error("boom");
      }
    });
    const bad = await agent.queue.enqueue("work", "bad");
    await agent.queue.enqueue("work", "good");
    await world.advance(20_000);
    expect(ran).toEqual(["bad", "bad", "bad", "good"]);
    expect(world.eventsOf("queue:retry").map(({ attempt, maxAttempts }) => [attempt, maxAttempts])).toEqual([
      [2, 3],
      [3, 3]
    ]);
    expect(world.eventsOf("queue:error")).toEqual([{ callback: "work", id: bad, error: "boom", attempts: 3 }]);
    expect(world.reported).toEqual([expect.objectContaining({ message: "boom" })]);
    expect(agent.queue.deadLetters()).toEqual([
      expect.objectContaining({ id: bad, payload: "bad", error: "boom", attempts: 3 })
    ]);
    expect(agent.queue.get(bad)).toBeUndefined();
    expect(world.alarmAt).toBeNull();
  });

  test("an error that says retryable: false is final", async () => {
    let calls = 0;
    const agent = boot({
      work: () => {
        calls++;
        throw Object.assign(new Error("no"), { retryable: false });
      }
    });
    await agent.queue.enqueue("work", 1);
    await world.advance(20_000);
    expect(calls).toBe(1);
    expect(agent.queue.deadLetters()).toHaveLength(1);
  });

  test("dead letters are bounded: the oldest go first", async () => {
    const agent = boot({
      work: () => {
        throw new Error("boom");
      }
    });
    for (let i = 0; i < DEAD_LETTER_LIMIT + 5; i++) await agent.queue.enqueue("work", i, { retry: { maxAttempts: 1 } });
    await agent.queue.idle();
    const payloads = agent.queue.deadLetters().map(({ payload }) => payload);
    expect(payloads).toHaveLength(DEAD_LETTER_LIMIT);
    expect(payloads[0]).toBe(DEAD_LETTER_LIMIT + 4);
    expect(payloads.at(-1)).toBe(5);
  });

  test("a dead letter can be queued again, removed, or all cleared", async () => {
    let isBroken = true;
    const ran: unknown[] = [];
    const agent = boot({
      work: (payload) => {
        if (isBroken) throw new Error("boom");
        ran.push(payload);
      }
    });
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push(await agent.queue.enqueue("work", i, { retry: { maxAttempts: 1 } }));
    await agent.queue.idle();
    isBroken = false;
    expect(await agent.queue.requeue(ids[1] ?? "")).toBe(true);
    expect(await agent.queue.requeue("unknown")).toBe(false);
    await agent.queue.idle();
    expect(ran).toEqual([1]);
    await agent.queue.dequeue(ids[0] ?? "");
    expect(agent.queue.deadLetters().map(({ id }) => id)).toEqual([ids[2]]);
    await agent.queue.dequeue(ids[2] ?? "");
    expect(world.count("cf_work")).toBe(0);
  });

  test("a missing method is logged and its items become dead letters", async () => {
    const agent = boot({ work: () => undefined });
    const queued = agent.queue.enqueue("work", 1);
    agent.methods = {};
    await queued;
    await world.settle();
    expect(console.error).toHaveBeenCalled();
    expect(world.eventsOf("queue:error")).toMatchObject([{ error: "this.work is not a function", attempts: 0 }]);
    expect(agent.queue.deadLetters()).toHaveLength(1);
  });

  test("an unreadable item is quarantined and the next one runs", async () => {
    const ran: unknown[] = [];
    const agent = boot({ work: (payload) => void ran.push(payload) });
    const queued = agent.queue.enqueue("work", "first");
    world.database.exec("UPDATE cf_work SET payload = '{'");
    await queued;
    await agent.queue.enqueue("work", "second");
    await world.settle();
    expect(ran).toEqual(["second"]);
    expect(world.eventsOf("queue:error")).toMatchObject([{ attempts: 0 }]);
    expect(world.rows("SELECT body FROM cf_quarantine")).toEqual([{ body: "{" }]);
  });

  test("a platform failure steps aside: those behind it run, it runs later, and a day of it is enough", async () => {
    const times: number[] = [];
    const begin = world.nowMs;
    let isDown = true;
    const ran: unknown[] = [];
    const agent = boot({
      work: (payload) => {
        if (payload === "unlucky" && isDown) {
          times.push(world.nowMs - begin);
          throw new Error("Durable Object reset because its code was updated.");
        }
        ran.push(payload);
      }
    });
    await agent.queue.enqueue("work", "unlucky");
    await agent.queue.enqueue("work", "behind");
    await world.advance(1000);
    expect(ran).toEqual(["behind"]);
    await world.advance(250_000);
    expect(times).toEqual([0, 30_000, 90_000, 210_000]);
    isDown = false;
    await world.advance(300_000);
    expect(ran).toEqual(["behind", "unlucky"]);
    isDown = true;
    await agent.queue.enqueue("work", "unlucky");
    await world.advance(25 * 3_600_000);
    expect(agent.queue.deadLetters()).toMatchObject([{ error: expect.stringContaining("given up") }]);
    expect(world.alarmAt).toBeNull();
  });

  test("when the table itself fails nothing is lost and nothing spins", async () => {
    const ran: unknown[] = [];
    const agent = boot({ work: (payload) => void ran.push(payload) });
    await agent.queue.enqueue("work", 0);
    await world.settle();
    world.database.exec(
      "CREATE TRIGGER broken BEFORE UPDATE ON cf_work BEGIN SELECT RAISE(FAIL, 'disk I/O error'); END"
    );
    await agent.queue.enqueue("work", 1);
    await world.advance(300_000);
    expect(ran).toEqual([0]);
    expect(world.alarmsFired).toBeLessThan(20);
    world.database.exec("DROP TRIGGER broken");
    await world.advance(60_000);
    expect(ran).toEqual([0, 1]);
  });
});

describe("restart", () => {
  test("items present at a crash are processed after restart without a new queue() call", async () => {
    const ran: unknown[] = [];
    let isHanging = true;
    const agent = boot({
      work: (payload) => {
        ran.push(payload);
        return isHanging ? new Promise(() => undefined) : undefined;
      },
      other: (payload) => void ran.push(payload)
    });
    for (const payload of ["a", "b", "c"]) await agent.queue.enqueue("work", payload);
    await world.settle();
    expect(ran).toEqual(["a"]);
    world.crash();
    isHanging = false;
    world.boot();
    await world.settle();
    expect(ran).toEqual(["a", "a", "b", "c"]);
    expect(world.count("cf_work")).toBe(0);
  });

  test("the alarm alone is enough", async () => {
    const ran: unknown[] = [];
    let isHanging = true;
    const agent = boot({
      work: (payload) => {
        ran.push(payload);
        return isHanging ? new Promise(() => undefined) : undefined;
      }
    });
    await agent.queue.enqueue("work", "a");
    await world.settle();
    world.crash();
    isHanging = false;
    await world.advance(30_000);
    expect(ran).toEqual(["a", "a"]);
  });

  test("failed attempts are not handed out again after a restart", async () => {
    let calls = 0;
    const agent = boot({
      work: () => {
        calls++;
        throw new Error("boom");
      }
    });
    await agent.queue.enqueue("work", 1, { retry: { maxAttempts: 3, baseDelayMs: 1000, maxDelayMs: 1000 } });
    await world.settle();
    expect(calls).toBe(1);
    world.crash();
    world.boot();
    await world.advance(20_000);
    expect(calls).toBe(3);
    expect(world.eventsOf("queue:retry").map(({ attempt }) => attempt)).toEqual([2, 3]);
  });

  test("an item that kills the process steps aside after three starts, so those behind it run", async () => {
    const ran: unknown[] = [];
    let bombs = 0;
    const agent = boot({
      work: (payload) => {
        if (payload !== "bomb") return void ran.push(payload);
        bombs++;
        world.crash();
        return new Promise(() => undefined);
      }
    });
    await Promise.allSettled([agent.queue.enqueue("work", "bomb"), agent.queue.enqueue("work", "behind")]);
    await world.advance(200_000);
    expect(ran).toEqual(["behind"]);
    expect(bombs).toBeLessThan(8);
    expect(world.rows("SELECT payload FROM cf_work")).toEqual([{ payload: '{"payload":"bomb"}' }]);
  });
});

describe("looking and removing", () => {
  test("get, find and the dequeues see pending items only", async () => {
    const { opened, open } = gate();
    const agent = boot({ work: () => opened, other: () => opened });
    const first = await agent.queue.enqueue("work", { user: "ada", n: 1 });
    const second = await agent.queue.enqueue("work", { user: "bob" }, { retry: { maxAttempts: 2 } });
    const third = await agent.queue.enqueue("other", { user: "ada" });
    await agent.queue.enqueue("other", "text");
    expect(agent.queue.get(second)).toMatchObject({ payload: { user: "bob" }, retry: { maxAttempts: 2 } });
    expect(agent.queue.get("unknown")).toBeUndefined();
    expect(agent.queue.find("user", "ada").map(({ id }) => id)).toEqual([first, third]);
    expect(agent.queue.find("toString", undefined)).toEqual([]);
    await agent.queue.dequeue(second);
    expect(agent.queue.get(second)).toBeUndefined();
    await agent.queue.dequeueAll("other");
    expect(world.count("cf_work")).toBe(1);
    await agent.queue.dequeueAll();
    expect(world.count("cf_work")).toBe(0);
    open();
    await world.settle();
    expect(world.logged).toEqual([]);
  });
});
