// What holds for every kind of durable work, whatever runs, dies, wakes and cancels.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SETTLED, type WorkKind } from "./kind.ts";
import { rowsOf, settle, world } from "./work.test-support.ts";

type How = "settle" | "postpone" | "aside" | "fail" | "interrupt" | "give up";

type Step =
  | { readonly do: "add"; readonly key: string; readonly lane: string | undefined; readonly inMs: number }
  | { readonly do: "end"; readonly pick: number; readonly how: How }
  | {
      readonly do: "cancel" | "schedule" | "put" | "again" | "revive" | "know" | "settle" | "park";
      readonly key: string;
    }
  | { readonly do: "cancel-lane"; readonly lane: string }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "wake" | "retry-by" | "die" };

const key = fc.constantFrom("a", "b", "c", "d", "e");
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant("add" as const),
      key,
      lane: fc.constantFrom(undefined, "one", "two"),
      inMs: fc.constantFrom(0, 0, 50)
    }),
    fc.record({
      do: fc.constant("end" as const),
      pick: fc.nat(5),
      how: fc.constantFrom("settle", "settle", "postpone", "aside", "fail", "interrupt", "give up")
    }) as fc.Arbitrary<Step>,
    fc.record({
      do: fc.constantFrom(...(["cancel", "schedule", "put", "again", "revive", "know"] as const)),
      key
    }),
    fc.record({ do: fc.constantFrom("settle" as const, "park" as const), key }),
    fc.record({ do: fc.constant("cancel-lane" as const), lane: fc.constantFrom("one", "two") }),
    fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(60, 500) }),
    fc.record({ do: fc.constantFrom("wake" as const, "wake" as const, "retry-by" as const, "die" as const) })
  ),
  { maxLength: 40 }
);

describe("whatever runs, dies, wakes and cancels", () => {
  for (const hasLanes of [false, true]) {
    for (const more of [{}, { leaseMs: 200 }, { byWake: true }] as const) {
      const { leaseMs, byWake }: Pick<WorkKind<string>, "leaseMs" | "byWake"> = more;
      test(`a claimed item is never due, and a settled one is never run (lanes: ${hasLanes}, ${JSON.stringify(more)})`, async () => {
        await fc.assert(
          fc.asyncProperty(steps, async (plan) => {
            const scene = world({
              retry: {
                backoff: { baseMs: 100, maxMs: 1_000 },
                maxAttempts: 3,
                asideAfterDeaths: true,
                isInterruption: (error) => error instanceof Error && error.message === "reset"
              },
              deadLetters: 2,
              ...(hasLanes && { hasLanes: true }),
              ...more
            });
            const { state, running, started } = scene;
            let { sql, work } = scene.boot();
            /** Items that are over, until they are forgotten. */
            const over = new Set<string>();
            for (const step of plan) {
              const before = started.length;
              // Before anything runs: what is claimed now must not begin without its claim having ended.
              const claimed = new Set(rowsOf({ sql }).flatMap((row) => (row.claimed_at === null ? [] : [row.key])));
              let freed: string | undefined;
              switch (step.do) {
                case "add": {
                  const isNew = work.add({
                    key: step.key,
                    payload: `words of ${step.key}`,
                    dueAt: state.now + step.inMs,
                    ...(hasLanes && step.lane !== undefined && { lane: step.lane })
                  });
                  if (isNew) over.delete(step.key);
                  break;
                }
                case "end": {
                  const run = running[step.pick % Math.max(1, running.length)];
                  if (!run) break;
                  freed = run.key;
                  if (step.how === "fail") run.fail(new Error("no"));
                  else if (step.how === "interrupt") run.fail(new Error("reset"));
                  else if (step.how === "settle") run.end(SETTLED);
                  else if (step.how === "give up") run.end({ end: "given-up", error: new Error("enough") });
                  else run.end({ end: "postponed", until: state.now + 70, aside: step.how === "aside" });
                  break;
                }
                case "cancel":
                  if (work.cancel(step.key)) over.delete(step.key);
                  freed = step.key;
                  break;
                case "schedule":
                  work.schedule(step.key, state.now);
                  break;
                case "settle":
                case "park":
                  // In a run: it returns soon.
                  work.conclude(step.key, "concluded", step.do === "settle" ? "settled" : "parked");
                  for (const run of running.filter((one) => one.key === step.key)) run.end(SETTLED);
                  freed = step.key;
                  break;
                case "put":
                  if (work.put({ key: step.key, payload: "put" })) over.delete(step.key);
                  break;
                case "again":
                  work.again(step.key, state.now + 40);
                  break;
                case "know":
                  work.know(step.key);
                  break;
                case "revive":
                  if (work.revive(step.key)) over.delete(step.key);
                  break;
                case "cancel-lane":
                  work.cancelAll({ lane: step.lane });
                  for (const one of [...over]) if (work.state(one) === undefined) over.delete(one);
                  break;
                case "pass":
                  state.now += step.ms;
                  break;
                case "wake":
                  await work.runDue();
                  if (byWake) work.start();
                  break;
                case "retry-by":
                  work.retryBy(state.now);
                  break;
                case "die":
                  ({ sql, work } = scene.boot());
              }
              await settle();
              const rows = rowsOf({ sql });
              for (const row of rows) {
                // One state each.
                const states = [row.due_at, row.claimed_at, row.settled_at].filter((at) => at !== null);
                expect(states.length).toBeLessThanOrEqual(1);
                if (row.settled_at !== null) over.add(row.key);
              }
              for (const begun of started.slice(before)) {
                expect(over.has(begun)).toBe(false);
                const hadClaim = claimed.has(begun) && begun !== freed && step.do !== "die" && step.do !== "wake";
                expect(hadClaim).toBe(false);
              }
              if (byWake && step.do !== "wake") expect(started.slice(before)).toEqual([]);
              // What runs in this process with a claim is claimed in the table, each item once.
              const current = rows.filter((row) => row.claimed_at !== null).map((row) => row.key);
              // What the platform ended in a wake stays claimed until the wake is over.
              if (!byWake)
                for (const one of current) expect(running.filter((run) => run.key === one).length).toBeGreaterThan(0);
              if (leaseMs === undefined) {
                const alive = running.filter((run) => !run.signal.aborted).map((run) => run.key);
                expect(new Set(alive).size).toBe(alive.length);
                expect(alive.length).toBeLessThanOrEqual(3);
              }
              if (hasLanes) {
                const lanes = rows.flatMap((row) => (row.claimed_at !== null && row.lane !== null ? [row.lane] : []));
                expect(new Set(lanes).size).toBe(lanes.length);
              }
              const next = work.nextWake();
              const isIdle = rows.every(
                (row) => row.settled_at !== null || (row.due_at === null && row.claimed_at === null)
              );
              if (isIdle) expect(next).toBeNull();
              // What waits has a wake, or a run that ends first, or an item before it in its lane that is parked. What the platform
              // ended in a wake holds up its lane until the next one.
              const isParked = (row: (typeof rows)[number]) =>
                row.settled_at === null && row.due_at === null && row.claimed_at === null;
              const held = new Set(hasLanes ? rows.filter(isParked).map(({ lane }) => lane) : []);
              const isWaiting = rows.some((row) => row.due_at !== null && !held.has(row.lane));
              if (!byWake && running.length === 0 && isWaiting) expect(next).not.toBeNull();
            }
            // Nothing is lost: with time and wakes everything that was not cancelled is settled.
            for (let round = 0; round < 60; round += 1) {
              for (const { key: parked } of work.items({ states: ["parked"] })) work.schedule(parked, state.now);
              for (const run of [...running]) run.end(SETTLED);
              await settle();
              state.now += 500;
              if (byWake) work.start();
              await work.runDue();
              await settle();
            }
            expect(rowsOf({ sql }).filter((row) => row.settled_at === null)).toEqual([]);
          }),
          { numRuns: 300 }
        );
        // Seconds on a quiet machine.
      }, 60_000);
    }
  }
});
