// Kill the process at every point a crash can fall on, recover, and compare with a run that was never interrupted.
import { loadLazyModules } from "../host/lazy-module.ts";
import { isDeepStrictEqual } from "node:util";
import { CrashChangedOutcome, type CrashDifference } from "./errors.ts";
import type { TestHost } from "./test-host.ts";

export interface EveryCrashOptions<Host extends TestHost<unknown>> {
  /** A fresh host, the same every time. */
  create(): Host | Promise<Host>;
  /** What is interrupted. It may be cut off anywhere and never gets to its end then. */
  script(host: Host): Promise<unknown>;
  /** Lets the host recover: reconnect, advance the clock. Also runs after the uninterrupted script. */
  finish?(host: Host): Promise<unknown>;
  /** What must be the same whether or not there was a crash. */
  inspect(host: Host): unknown;
  points?: "writes" | "awaits" | "both";
  /** At most this many points, spread evenly. Without it, all. */
  limit?: number;
}

export interface EveryCrashResult {
  /** How many crashes were tried. */
  readonly points: number;
  readonly differences: readonly CrashDifference[];
}

export interface CrashPoint {
  readonly kind: "write" | "await";
  readonly number: number;
}

/** What tools do with the scripts of tests beside killing them once: test/crashes plays further disturbances of each. */
export const scenes: { listener?: (scene: EveryCrashOptions<TestHost<unknown>>) => void } = {};

/**
 * Throws CrashChangedOutcome, listing every point whose outcome differs.
 *
 * ```ts
 * await everyCrash({
 *   create: () => createTestHost({ agents: { Counter } }),
 *   script: async (host) => (await host.get(Counter, "a")).incrementOnce("request-1"),
 *   finish: async (host) => (await host.get(Counter, "a")).incrementOnce("request-1"),
 *   inspect: (host) => host.sql(Counter, "a", "SELECT value FROM counter")
 * });
 * ```
 */
export async function everyCrash<Host extends TestHost<unknown>>(
  options: EveryCrashOptions<Host>
): Promise<EveryCrashResult> {
  await loadLazyModules();
  // Its functions are only ever given the hosts that its own `create` makes.
  scenes.listener?.(options as object as EveryCrashOptions<TestHost<unknown>>);
  const baseline = await runUninterrupted(options);
  const points = spread(pointsOf(baseline, options.points ?? "both"), options.limit);
  const differences: CrashDifference[] = [];
  for (const point of points) {
    const actual = await runWithCrash(options, point);
    if (isDeepStrictEqual(actual, baseline.outcome)) continue;
    differences.push({ point: `${point.kind} ${point.number}`, expected: baseline.outcome, actual });
  }
  if (differences.length > 0) throw new CrashChangedOutcome(points.length, differences);
  return { points: points.length, differences };
}

export interface Baseline {
  readonly outcome: unknown;
  readonly writes: number;
  readonly awaits: number;
}

export async function runUninterrupted<Host extends TestHost<unknown>>(
  options: EveryCrashOptions<Host>
): Promise<Baseline> {
  const host = await options.create();
  await host.idle();
  const before = host.counts;
  await options.script(host);
  await host.idle();
  const after = host.counts;
  await options.finish?.(host);
  await host.idle();
  return {
    outcome: await options.inspect(host),
    writes: after.writes - before.writes,
    awaits: after.awaits - before.awaits
  };
}

export async function runWithCrash<Host extends TestHost<unknown>>(
  options: EveryCrashOptions<Host>,
  point: CrashPoint
): Promise<unknown> {
  const host = await options.create();
  await host.idle();
  if (point.kind === "write") host.crashAfterWrite(point.number);
  else host.crashInsideAwait(point.number);
  try {
    await cutOff(host, options.script(host));
    if (!(await host.untilCrashOrIdle())) {
      return new Error("The script did not reach this point again: it is not deterministic.");
    }
    await host.restart();
    await options.finish?.(host);
    await host.idle();
    return await options.inspect(host);
  } catch (error) {
    return error;
  }
}

/** The script's end or the crash, whichever comes first. What the script still does after a crash does not count. */
export async function cutOff(host: TestHost<unknown>, script: Promise<unknown>): Promise<void> {
  const ended = script.then(
    () => undefined,
    (error: unknown) => {
      if (!host.crashed) throw error;
    }
  );
  await Promise.race([ended, host.untilCrash()]);
  // A script that was waiting for the dead process learns of it now, before the host is booted again.
  if (host.crashed) await host.idle();
}

export function pointsOf(baseline: Baseline, which: "writes" | "awaits" | "both"): CrashPoint[] {
  const numbered = (kind: CrashPoint["kind"], count: number) =>
    Array.from({ length: count }, (_, index) => ({ kind, number: index + 1 }));
  return [
    ...(which === "awaits" ? [] : numbered("write", baseline.writes)),
    ...(which === "writes" ? [] : numbered("await", baseline.awaits))
  ];
}

export function spread<Point>(points: readonly Point[], limit: number | undefined): readonly Point[] {
  if (limit === undefined || points.length <= limit) return points;
  return points.filter(
    (_, index) => Math.floor((index * limit) / points.length) !== Math.floor(((index - 1) * limit) / points.length)
  );
}
