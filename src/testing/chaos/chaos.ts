// The chaos runner: plays one conversation without disturbance, then once per point of every mode, and reports every
// difference. Deterministic: the same scenario, options and seed try the same points in the same order.
import { loadLazyModules } from "../../host/lazy-module.ts";
import { compareRuns, checkAlone, type ChaosDifference } from "./checks.ts";
import {
  CHAOS_MODES,
  deadlyAnswer,
  duplicateFrame,
  joinAnywhere,
  killOnce,
  killTwice,
  restartStorm,
  seededRandom,
  shuffledFrames,
  spread,
  UNDISTURBED,
  type ChaosMode,
  type Disturbance,
  type KillPoint
} from "./disturbance.ts";
import { UnsteadyConversationError } from "./errors.ts";
import { corruptRows, type CorruptionContext } from "./corrupt-rows.ts";
import { playRun, type PlayedRun, type Scenario } from "./run.ts";

export interface ChaosOptions extends Scenario {
  /** Default: all. */
  readonly modes?: readonly ChaosMode[];
  /** At most this many points per mode, spread evenly (default: all that exist, or a mode's own number). */
  readonly points?: number;
  /** Only the points of these names, as a difference names them: to look at one again. */
  readonly at?: readonly string[];
  /** Plays every n-th point only, beginning with this one: how several processes share the work. */
  readonly share?: { readonly index: number; readonly of: number };
  /** Hears of each run as it ends. */
  onRun?(mode: ChaosMode, differences: readonly ChaosDifference[]): void;
}

export interface ModeResult {
  readonly mode: ChaosMode;
  /** Runs played. */
  readonly points: number;
  readonly deaths: number;
  /** Calls that were running at a death and are shown as cut off, by tool. Allowed, and worth knowing. */
  readonly interrupted: Readonly<Record<string, number>>;
  readonly differences: readonly ChaosDifference[];
}

export interface ChaosResult {
  /** Steps, writes and awaits of the undisturbed conversation. */
  readonly steps: number;
  readonly writes: number;
  readonly awaits: number;
  /** Boundaries its fakes awaited: the points of `deadly-answer` and `join-anywhere`. */
  readonly boundaries: number;
  readonly modes: readonly ModeResult[];
  /** All of them; empty is what you want. */
  readonly differences: readonly ChaosDifference[];
}

const DEFAULT_SEED = 1;
const TWICE_POINTS = 200;
const STORM_POINTS = 20;
const DEADLY_POINTS = 12;
const SHUFFLE_SEEDS = 24;
/** The second of two deaths comes at most this many writes or awaits after the first. */
const SECOND_KILL_RANGE = 60;

/**
 * Plays a conversation with your agent again and again, disturbed at one point each time, and compares what is stored,
 * shown and done with the undisturbed run. See `formatChaos` for a report; `result.differences` is empty if all is well.
 *
 * @example
 * let sent = 0;
 * let boundary = async () => {};
 * class Mailer extends Think {
 *   getModel() {
 *     return planModel({ hi: [{ calls: [{ tool: "send" }] }, { text: "Sent." }] }, { boundary });
 *   }
 *   getTools() {
 *     return { send: tool({ inputSchema: z.object({}), execute: async () => { await boundary(); sent += 1; } }) };
 *   }
 * }
 * const result = await chaos({
 *   agent: Mailer,
 *   begin: (run) => { sent = 0; boundary = run.boundary; },
 *   conversation: (session) => session.ask("hi"),
 *   effects: () => ({ send: sent })
 * });
 * expect(result.differences, formatChaos(result)).toEqual([]);
 */
export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  await loadLazyModules();
  const baseline = await playSteadily(options);
  const modes: ModeResult[] = [];
  for (const mode of options.modes ?? CHAOS_MODES) modes.push(await playMode(options, baseline, mode));
  const { writes, awaits, boundaries } = baseline.counts;
  const differences = modes.flatMap((result) => result.differences);
  return { steps: baseline.steps.length, writes, awaits, boundaries, modes, differences };
}

/** The undisturbed run, twice: what differs by itself cannot be compared. */
async function playSteadily(options: ChaosOptions): Promise<PlayedRun> {
  const first = await playRun(options, UNDISTURBED);
  if (first.error !== undefined) throw first.error;
  const second = await playRun(options, UNDISTURBED);
  const [difference] = [...compareRuns(first, second, UNDISTURBED), ...compareCounts(first, second)];
  if (difference !== undefined) {
    throw new UnsteadyConversationError(`${difference.check}: ${difference.expected} / ${difference.actual}`);
  }
  const [problem] = checkAlone(first);
  if (problem !== undefined) throw new UnsteadyConversationError(`${problem.check}: ${problem.actual}`);
  return first;
}

function compareCounts(first: PlayedRun, second: PlayedRun) {
  const [expected, actual] = [first, second].map(({ counts }) => JSON.stringify(counts));
  return expected === actual ? [] : [{ check: "counts", expected, actual }];
}

async function playMode(options: ChaosOptions, baseline: PlayedRun, mode: ChaosMode): Promise<ModeResult> {
  if (mode === "poison-row") return corruptRows(corruptionContext(options, baseline));
  const named = pointsOf(mode, options, baseline).filter(({ point }) => options.at?.includes(point) ?? true);
  const disturbances = shareOf(options, named);
  const differences: ChaosDifference[] = [];
  const interrupted: Record<string, number> = {};
  let deaths = 0;
  for (const disturbance of disturbances) {
    const run = await playRun(options, disturbance);
    const found = compareRuns(baseline, run, disturbance);
    differences.push(...found);
    deaths += run.deaths;
    for (const { tool } of run.interrupted) interrupted[tool] = (interrupted[tool] ?? 0) + 1;
    options.onRun?.(mode, found);
  }
  return { mode, points: disturbances.length, deaths, interrupted, differences };
}

function corruptionContext(options: ChaosOptions, baseline: PlayedRun): CorruptionContext {
  return {
    scenario: options,
    baseline,
    points: options.points,
    share: options.share ?? { index: 0, of: 1 },
    onRun: (differences) => options.onRun?.("poison-row", differences)
  };
}

/** The disturbances of one mode, in order. */
function pointsOf(mode: Exclude<ChaosMode, "poison-row">, options: ChaosOptions, { counts }: PlayedRun): Disturbance[] {
  const writes = numbered("write", counts.writes);
  const awaits = numbered("await", counts.awaits);
  const limited = <T>(items: readonly T[], own = Number.POSITIVE_INFINITY) =>
    spread(items, Math.min(options.points ?? own, own));
  switch (mode) {
    case "after-write":
      return limited(writes).map(killOnce);
    case "inside-await":
      return limited(awaits).map(killOnce);
    case "killed-twice":
      return limited([...writes, ...awaits], TWICE_POINTS).map(secondKill(options.seed ?? DEFAULT_SEED));
    case "restart-storm":
      return limited(awaits, STORM_POINTS).map(restartStorm);
    case "deadly-answer":
      return limited(counting(counts.boundaries), DEADLY_POINTS).map(deadlyAnswer);
    case "duplicate-frame":
      return [duplicateFrame(0, 2), ...limited(counting(counts.frames)).map((number) => duplicateFrame(number, 1))];
    case "shuffled-frames":
      return limited(counting(SHUFFLE_SEEDS)).map((seed) => shuffledFrames(seed + (options.seed ?? DEFAULT_SEED)));
    case "join-anywhere":
      return limited(counting(counts.boundaries)).map(joinAnywhere);
  }
}

function secondKill(seed: number): (first: KillPoint) => Disturbance {
  const random = seededRandom(seed);
  return (first) => {
    const kind = random() < 0.5 ? "write" : "await";
    return killTwice(first, { kind, number: 1 + Math.floor(random() * SECOND_KILL_RANGE) });
  };
}

function numbered(kind: KillPoint["kind"], count: number): KillPoint[] {
  return counting(count).map((number) => ({ kind, number }));
}

function counting(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function shareOf<T>({ share }: ChaosOptions, items: readonly T[]): T[] {
  return items.filter((_, index) => share === undefined || index % share.of === share.index);
}
