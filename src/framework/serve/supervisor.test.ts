import { describe, expect, test } from "vitest";
import { PortTakenError } from "./errors.ts";
import { decideRestart, QUICK_DEATH_LIMIT, STABLE_MS, supervise, type Supervised } from "./supervisor.ts";

/** How one run of the process goes, in milliseconds from its start. */
interface Run {
  dies?: number;
  /** SIGKILL from outside without it. */
  how?: string;
  /** The system killed it to have memory again. */
  isOutOfMemory?: true;
  freezes?: number;
  thaws?: number;
  /** Connections fail at once. */
  refuses?: { from: number; to: number };
  /** An answer takes so long. */
  slowMs?: number;
  failsToStart?: Error;
  /** The plug is pulled. */
  pulled?: number;
}

/** What the wall clock shows at the beginning. */
const EPOCH = 1_000_000_000;
const LIMITS = { healthTimeoutMs: 30_000, graceMs: 5_000 };

/** Processes that live and die in virtual time; `run` plays until the supervisor returns. */
class World {
  now = 0;
  log: string[] = [];
  /** What happened to processes, with its time. */
  events: string[] = [];
  alive = 0;
  memoryKills = 3;
  /** What outlives the supervisor. */
  lastDeath: number | undefined;
  readonly stop = new AbortController();
  readonly hurry = new AbortController();
  readonly #runs: Run[];
  #timers: { at: number; fire: () => void }[] = [];

  constructor(runs: Run[]) {
    this.#runs = runs;
  }

  async run(): Promise<string> {
    let result: string | undefined;
    void this.#supervise().then(
      () => (result = "stopped"),
      (error: unknown) => (result = error instanceof Error ? error.name : "?")
    );
    for (let turns = 0; turns < 10_000; turns += 1) {
      await new Promise(setImmediate);
      if (result !== undefined) return result;
      const next = this.#timers.sort((a, b) => a.at - b.at).shift();
      if (!next) throw new Error("nothing will ever happen again");
      this.now = Math.max(this.now, next.at);
      next.fire();
    }
    throw new Error("it never ends");
  }

  at(ms: number, fire: () => void): void {
    this.#timers.push({ at: this.now + ms, fire });
  }

  /** Everything stands still, the supervisor too; what was due meanwhile is late. */
  suspend(atMs: number, durationMs: number): void {
    this.at(atMs, () => void (this.now += durationMs));
  }

  #supervise(): Promise<void> {
    let current: Run & { startedAt: number } = { startedAt: 0 };
    const isFrozen = () => {
      const age = this.now - current.startedAt;
      return age >= (current.freezes ?? Infinity) && age < (current.thaws ?? Infinity);
    };
    const ports = {
      launch: (frozenUntil: number | undefined) => {
        if (frozenUntil !== undefined) this.events.push(`frozen until ${frozenUntil}`);
        const run = this.#runs.shift() ?? {};
        if (run.failsToStart) return Promise.reject(run.failsToStart);
        current = { ...run, startedAt: this.now };
        return Promise.resolve(this.#process(run));
      },
      isAnswering: (_port: number, timeoutMs: number) =>
        new Promise<boolean>((resolve) => {
          const age = this.now - current.startedAt;
          const { from, to } = current.refuses ?? { from: 0, to: 0 };
          if (age >= from && age < to) resolve(false);
          else if (!isFrozen() && current.slowMs === undefined) resolve(true);
          else if (!isFrozen()) {
            const askedAt = this.now;
            this.at(current.slowMs ?? 0, () => resolve(this.now - askedAt <= timeoutMs));
          } else this.at(timeoutMs, () => resolve(false));
        }),
      now: () => this.now,
      date: () => this.now + EPOCH,
      pause: (ms: number, signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          signal.addEventListener("abort", () => resolve());
          this.at(ms, resolve);
        }),
      log: (text: string) => void this.log.push(text),
      lastDeath: () => this.lastDeath,
      keepDeath: (atMs: number) => void (this.lastDeath = atMs),
      memoryKills: () => this.memoryKills,
      untilPulled: (over: AbortSignal) =>
        new Promise<void>((resolve) => {
          if (current.pulled !== undefined) this.at(current.pulled, () => over.aborted || resolve());
        })
    };
    return supervise(ports, LIMITS, { stop: this.stop.signal, hurry: this.hurry.signal });
  }

  #process(run: Run): Supervised {
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    this.alive += 1;
    expect(this.alive, "two processes at once").toBe(1);
    this.events.push(`start ${this.now}`);
    const end = (how: string) => {
      this.alive -= 1;
      this.events.push(`${how} ${this.now}`);
      resolve(how);
    };
    if (run.dies !== undefined)
      this.at(run.dies, () => {
        if (run.isOutOfMemory) this.memoryKills += 1;
        end(run.how ?? "SIGKILL");
      });
    return {
      port: 1,
      ended,
      signal: () => this.at(10, () => end("SIGKILL")),
      stop: (graceMs) => {
        end(`stop within ${graceMs}`);
        return Promise.resolve();
      }
    };
  }
}

describe("the supervisor", () => {
  test("stops the process when asked to, and returns", async () => {
    const world = new World([{}]);
    world.at(100_000, () => world.stop.abort());
    expect(await world.run()).toBe("stopped");
    expect(world.events).toEqual(["start 0", "stop within 5000 100000"]);
    expect(world.log).toEqual([]);
  });

  test("starts a dead process again at once, and says so", async () => {
    const world = new World([{ dies: 100_000 }, {}]);
    world.at(200_000, () => world.stop.abort());
    expect(await world.run()).toBe("stopped");
    expect(world.events).toEqual(["start 0", "SIGKILL 100000", "start 100000", "stop within 5000 200000"]);
    expect(world.log).toEqual(["workerd ended: SIGKILL.", "Starting it again.", "workerd runs again."]);
  });

  test("kills a frozen process, and starts another one only when it is gone", async () => {
    const world = new World([{ freezes: 7_000 }, {}]);
    world.at(200_000, () => world.stop.abort());
    await world.run();
    // Asked at 10 s, given up at 40 s, dead 10 ms later.
    expect(world.events).toEqual([
      "start 0",
      "SIGKILL 40010",
      "frozen until 1000040010",
      "start 40010",
      "stop within 5000 200000"
    ]);
    expect(world.log[0]).toBe("workerd did not answer for 30 s and was killed.");
  });

  test("tells every later process when the last one froze: the next may have died before it looked", async () => {
    const world = new World([{ freezes: 7_000 }, { dies: 100 }, { pulled: 200 }, {}]);
    world.at(200_000, () => world.stop.abort());
    await world.run();
    expect(world.events.filter((event) => event.startsWith("frozen"))).toEqual(
      Array.from({ length: 3 }, () => "frozen until 1000040010")
    );
  });

  test.each([
    ["aborts, as an engine without memory does", { dies: 5_000, how: "SIGABRT" }, true],
    ["ends with a code", { dies: 5_000, how: "code 1" }, true],
    ["crashes", { dies: 5_000, how: "SIGSEGV" }, true],
    ["is killed by the system for its memory", { dies: 5_000, isOutOfMemory: true as const }, true],
    ["is killed by an operator", { dies: 5_000 }, false],
    ["is asked to end by another", { dies: 5_000, how: "SIGTERM" }, false]
  ])("tells the next process whether its own work ended one that %s", async (_what, run, isOwn) => {
    const world = new World([run, {}]);
    world.at(200_000, () => world.stop.abort());
    await world.run();
    const told = world.events.filter((event) => event.startsWith("frozen"));
    expect(told).toEqual(isOwn ? [`frozen until ${EPOCH + 5_000}`] : []);
    // Another supervisor, which follows when this one is gone, tells its first process, too.
    const next = new World([{}]);
    next.lastDeath = world.lastDeath;
    next.at(100, () => next.stop.abort());
    await next.run();
    expect(next.events.filter((event) => event.startsWith("frozen"))).toEqual(told);
  });

  test("keeps a death before it does anything else: it may be the next to end", async () => {
    const world = new World([{ dies: 5_000, isOutOfMemory: true }, {}]);
    const kept: (number | undefined)[] = [];
    world.log.push = (...lines) => kept.push(...lines.map(() => world.lastDeath));
    world.at(200_000, () => world.stop.abort());
    await world.run();
    expect(kept[0]).toBe(EPOCH + 5_000);
  });

  test.each([
    ["while a question is under way", { slowMs: 100 }, 5_050],
    ["between two questions", { slowMs: 100 }, 7_000],
    ["after a question that was refused", { slowMs: 100, refuses: { from: 4_000, to: 5_100 } }, 5_200]
  ])("does not take a process for frozen when the machine slept %s", async (_when, run, atMs) => {
    const world = new World([run]);
    world.suspend(atMs, 3_600_000);
    world.at(3_700_000, () => world.stop.abort());
    await world.run();
    expect(world.events).toEqual(["start 0", "stop within 5000 3700000"]);
  });

  test("kills a process that is frozen after the machine slept", async () => {
    const world = new World([{ freezes: 4_000 }]);
    world.suspend(5_050, 3_600_000);
    world.at(3_700_000, () => world.stop.abort());
    await world.run();
    // Asked once more from the wake on: 30 s later it is over.
    const [, killed] = world.events;
    expect(killed).toMatch(/^SIGKILL 36[34]\d{4}$/);
  });

  test("lets a process be that was busy and answers the next question", async () => {
    const world = new World([{ freezes: 7_000, thaws: 9_000 }]);
    world.at(300_000, () => world.stop.abort());
    await world.run();
    expect(world.events).toEqual(["start 0", "stop within 5000 300000"]);
  });

  test("counts the time without an answer, not the questions: refused ones may repeat until then", async () => {
    const world = new World([{ refuses: { from: 4_000, to: 34_000 } }, {}]);
    world.at(300_000, () => world.stop.abort());
    await world.run();
    expect(world.events).toEqual(["start 0", "stop within 5000 300000"]);
    const longer = new World([{ refuses: { from: 4_000, to: 36_000 } }, {}]);
    longer.at(300_000, () => longer.stop.abort());
    await longer.run();
    expect(longer.events.slice(0, 2)).toEqual(["start 0", "SIGKILL 35010"]);
  });

  test("gives up on a process that only dies, with growing pauses before", async () => {
    const world = new World(Array.from({ length: 20 }, () => ({ dies: 100 })));
    expect(await world.run()).toBe("GaveUpError");
    const starts = world.events.filter((event) => event.startsWith("start")).map((event) => Number(event.slice(6)));
    expect(starts).toHaveLength(10);
    expect(starts.slice(1).map((at, index) => at - (starts[index] ?? 0) - 100)).toEqual([
      0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000
    ]);
    expect(world.alive).toBe(0);
  });

  test("starts it again at once when the plug was pulled, however often", async () => {
    const world = new World(Array.from({ length: 15 }, () => ({ pulled: 100 })));
    world.at(50_000, () => world.stop.abort());
    expect(await world.run()).toBe("stopped");
    const starts = world.events.filter((event) => event.startsWith("start")).map((event) => Number(event.slice(6)));
    // Pulled after 100 ms, dead 10 ms later.
    expect(starts).toEqual(Array.from({ length: 16 }, (_, index) => index * 110));
    expect(world.log.slice(0, 2)).toEqual(["The plug was pulled: workerd was killed.", "workerd runs again."]);
  });

  test("counts the deaths around a pulled plug as if it had not been pulled", async () => {
    const dies = { dies: 100, how: "code 1" };
    const world = new World([dies, dies, { pulled: 100 }, ...Array.from({ length: 20 }, () => dies)]);
    expect(await world.run()).toBe("GaveUpError");
    const deaths = world.events.filter((event) => event.startsWith("code 1")).map((event) => Number(event.slice(7)));
    expect(deaths).toHaveLength(10);
    // 500 ms after the second death, 110 ms with the plug, 100 ms until the third; then 1 s as ever.
    expect(deaths.slice(1, 4).map((at, index) => at - (deaths[index] ?? 0))).toEqual([100, 710, 1100]);
  });

  test("never gives up on one that runs a minute in between", async () => {
    const world = new World(Array.from({ length: 50 }, () => ({ dies: 60_000 })));
    world.at(40 * 60_000 + 1, () => world.stop.abort());
    expect(await world.run()).toBe("stopped");
  });

  test("hands the failure of the first start to the caller, and takes a later one for a death", async () => {
    const taken = { failsToStart: new PortTakenError(80) };
    expect(await new World([taken]).run()).toBe("PortTakenError");
    const world = new World([{ dies: 70_000 }, taken, taken, {}]);
    world.at(200_000, () => world.stop.abort());
    expect(await world.run()).toBe("stopped");
    expect(world.events).toEqual(["start 0", "SIGKILL 70000", "start 70500", "stop within 5000 200000"]);
    expect(world.log).toContain("Port 80 is already in use.");
  });

  test("stops without another start when it is asked to during a pause", async () => {
    const world = new World([{ dies: 1 }, { dies: 1 }, { dies: 1 }, { dies: 1 }]);
    world.at(1_700, () => world.stop.abort());
    expect(await world.run()).toBe("stopped");
    expect(world.alive).toBe(0);
    expect(world.events.at(-1)).toMatch(/^SIGKILL/);
  });
});

test.each([
  [0, STABLE_MS, { do: "restart", afterMs: 0, quickDeaths: 0 }],
  [9, STABLE_MS, { do: "restart", afterMs: 0, quickDeaths: 0 }],
  [0, STABLE_MS - 1, { do: "restart", afterMs: 0, quickDeaths: 1 }],
  [1, 10, { do: "restart", afterMs: 500, quickDeaths: 2 }],
  [2, 10, { do: "restart", afterMs: 1000, quickDeaths: 3 }],
  [7, 10, { do: "restart", afterMs: 30_000, quickDeaths: 8 }],
  [8, 10, { do: "restart", afterMs: 30_000, quickDeaths: 9 }],
  [9, 10, { do: "give-up", quickDeaths: QUICK_DEATH_LIMIT }]
])("after %i quick deaths and a run of %i ms: %j", (deaths, ranMs, decision) => {
  expect(decideRestart(deaths, ranMs)).toEqual(decision);
});
