// Two crashes in a row: the second falls into the start, the recovery or what the caller does again.
import { isDeepStrictEqual } from "node:util";
import { seededRandom } from "../../src/testing/chaos/disturbance.ts";
import { cutOff, pointsOf, spread, type Baseline, type CrashPoint } from "../../src/testing/every-crash.ts";
import { ending, show, type Host, type Played, type Scene } from "./scene.ts";

/** The second comes at most so many writes or awaits after the first. */
const SECOND_RANGE = 40;

export async function playTwice(scene: Scene, baseline: Baseline, limit: number, seed: number): Promise<Played[]> {
  const random = seededRandom(seed);
  const played: Played[] = [];
  for (const first of spread(pointsOf(baseline, scene.points ?? "both"), limit)) {
    const second: CrashPoint = {
      kind: random() < 0.5 ? "write" : "await",
      number: 1 + Math.floor(random() * SECOND_RANGE)
    };
    const outcome = await crashTwice(scene, first, second);
    const isSame = isDeepStrictEqual(outcome, baseline.outcome);
    const point = `${first.kind} ${first.number}, then ${second.kind} ${second.number}`;
    played.push(
      isSame
        ? { kind: "twice", verdict: "same" }
        : {
            kind: "twice",
            verdict: "silent",
            detail: `${point}: ${show(outcome)} instead of ${show(baseline.outcome)}`
          }
    );
  }
  return played;
}

async function crashTwice(scene: Scene, first: CrashPoint, second: CrashPoint): Promise<unknown> {
  const host = await scene.create();
  await host.idle();
  arm(host, first);
  return ending(host, async (): Promise<unknown> => {
    await cutOff(host, scene.script(host));
    await host.untilCrashOrIdle();
    host.kill();
    arm(host, second);
    await host.restart();
    if (!host.crashed && scene.finish) await cutOff(host, scene.finish(host));
    await host.idle();
    await host.restart();
    await scene.finish?.(host);
    await host.idle();
    return scene.inspect(host);
  });
}

function arm(host: Host, { kind, number }: CrashPoint): void {
  if (kind === "write") host.crashAfterWrite(number);
  else host.crashInsideAwait(number);
}
