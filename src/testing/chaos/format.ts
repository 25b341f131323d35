// The result of a chaos run as text: one row per mode, then the differences, and results of several processes as one.
import type { ChaosResult, ModeResult } from "./chaos.ts";
import type { ChaosDifference } from "./checks.ts";
import { CHAOS_MODES, type ChaosMode } from "./disturbance.ts";

const EXPLANATIONS: Readonly<Record<ChaosMode, string>> = {
  "after-write": "killed right after a write",
  "inside-await": "killed inside an await",
  "killed-twice": "killed, and killed again during or after recovery",
  "restart-storm": "30 restarts in a row; a turn may be given up, once",
  "deadly-answer": "an answer that always kills the process is given up",
  "duplicate-frame": "a frame of a client arrives twice, or all of them three times",
  "shuffled-frames": "frames on their way together arrive shuffled, some twice",
  "join-anywhere": "another tab connects in the middle",
  "poison-row": "one stored value is garbage after a kill"
};

/** Their points are the boundaries of the agent's fakes. */
const AT_BOUNDARIES: readonly ChaosMode[] = ["deadly-answer", "join-anywhere"];

const SHOWN_DIFFERENCES = 20;
const SHOWN_CHARACTERS = 400;

/**
 * A Markdown table of what was tried and what was found, then the first differences.
 *
 * @example console.log(formatChaos(await chaos({ agent: Assistant, conversation, effects })));
 */
export function formatChaos(result: ChaosResult, shown = SHOWN_DIFFERENCES): string {
  const { steps, writes, awaits, boundaries, modes, differences } = result;
  const rows = modes.map((mode) => row(mode));
  const total = modes.reduce((sum, { points }) => sum + points, 0);
  return [
    `A conversation of ${steps} steps, ${writes} writes and ${awaits} awaits, disturbed at ${total} points.`,
    "",
    "| Disturbance | Points | Deaths | Calls cut off | Differences |",
    "|---|---:|---:|---|---:|",
    ...rows,
    ...(boundaries === 0 ? notPlayed(modes) : []),
    ...describe(differences, shown)
  ].join("\n");
}

/** The results of several shares of the same run. */
export function mergeChaos(results: readonly ChaosResult[]): ChaosResult {
  const [first] = results;
  if (first === undefined) throw new Error("There are no results to merge.");
  const modes = CHAOS_MODES.flatMap((mode) => {
    const parts = results.flatMap((result) => result.modes.filter((part) => part.mode === mode));
    return parts.length === 0 ? [] : [parts.reduce(mergeModes)];
  });
  return { ...first, modes, differences: modes.flatMap(({ differences }) => differences) };
}

function mergeModes(one: ModeResult, other: ModeResult): ModeResult {
  const interrupted: Record<string, number> = { ...one.interrupted };
  for (const [tool, count] of Object.entries(other.interrupted)) interrupted[tool] = (interrupted[tool] ?? 0) + count;
  return {
    mode: one.mode,
    points: one.points + other.points,
    deaths: one.deaths + other.deaths,
    interrupted,
    differences: [...one.differences, ...other.differences]
  };
}

function row({ mode, points, deaths, interrupted, differences }: ModeResult): string {
  const calls = Object.entries(interrupted).map(([tool, count]) => `${tool} ${count}`);
  return `| ${EXPLANATIONS[mode]} | ${points} | ${deaths} | ${calls.join(", ") || "–"} | ${differences.length} |`;
}

/** A row without points must not read as a disturbance that was survived. */
function notPlayed(modes: readonly ModeResult[]): string[] {
  const names = modes.map(({ mode }) => mode).filter((mode) => AT_BOUNDARIES.includes(mode));
  if (names.length === 0) return [];
  const reason = "the conversation passed no boundary. Give the model those of the run: modelWithBoundary().";
  return ["", `Not played: ${names.join(", ")}; ${reason}`];
}

function describe(differences: readonly ChaosDifference[], shown: number): string[] {
  if (differences.length === 0) return [];
  const lines = differences.slice(0, shown).map(({ mode, point, check, step, expected, actual }) => {
    const place = step === undefined ? "" : ` after ${step}`;
    return `- ${mode}, ${point}: ${check}${place}\n    expected ${cut(expected)}\n    actual   ${cut(actual)}`;
  });
  const hidden = differences.length - lines.length;
  return ["", ...lines, ...(hidden > 0 ? [`- and ${hidden} more`] : [])];
}

function cut(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
