// Loaded before each test file by tools/crashes.ts: after the tests of the file it plays further disturbances of the scripts
// that they gave to everyCrash, and writes one line of JSON for each to the file of EVERTHINK_CRASHES.
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, expect } from "vitest";
import { quietly } from "../../src/testing/chaos/run.ts";
import { pointsOf, runUninterrupted, runWithCrash, scenes, spread } from "../../src/testing/every-crash.ts";
import { isDeepStrictEqual } from "node:util";
import { playGarbage } from "./garbage.ts";
import { show, type Played, type Scene } from "./scene.ts";
import { playTwice } from "./twice.ts";

/** What tools/crashes.ts passes on. */
export interface CrashPlan {
  readonly file: string;
  /** At most so many of each kind and scene. */
  readonly once: number;
  readonly twice: number;
  readonly garbage: number;
  /** Moments at which one value becomes garbage, beside the end. */
  readonly deaths: number;
  readonly seed: number;
}

const HOURS_MS = 4 * 3_600_000;

const plan = JSON.parse(process.env["EVERTHINK_CRASHES"] ?? "null") as CrashPlan | null;
const found: { test: string; scene: Scene }[] = [];
if (plan) scenes.listener = (scene) => void found.push({ test: expect.getState().currentTestName ?? "", scene });

if (plan) {
  afterAll(async () => {
    const file = relative(process.cwd(), expect.getState().testPath ?? "");
    for (const { test, scene } of found) {
      const played = await quietly(() => play(scene, plan)).catch((error: unknown): Played[] => [
        { kind: "once", verdict: "refused", detail: `the scene cannot be played again: ${show(error)}` }
      ]);
      for (const one of played) appendFileSync(plan.file, `${JSON.stringify({ file, test, ...one })}\n`);
    }
  }, HOURS_MS);
}

async function play(scene: Scene, { once, twice, garbage, deaths, seed }: CrashPlan): Promise<Played[]> {
  const baseline = await runUninterrupted(scene);
  const played: Played[] = [];
  for (const point of spread(pointsOf(baseline, scene.points ?? "both"), once)) {
    const outcome = await runWithCrash(scene, point);
    const isSame = isDeepStrictEqual(outcome, baseline.outcome);
    const detail = `${point.kind} ${point.number}: ${show(outcome)} instead of ${show(baseline.outcome)}`;
    played.push(isSame ? { kind: "once", verdict: "same" } : { kind: "once", verdict: "silent", detail });
  }
  if (twice > 0) played.push(...(await playTwice(scene, baseline, twice, seed)));
  if (garbage > 0) played.push(...(await playGarbage(scene, baseline, deaths, garbage)));
  return played;
}
