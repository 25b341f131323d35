// The oracle: what must be the same whether or not a run was disturbed, each as a named check with a readable
// difference. Pure.
import { isDeepStrictEqual } from "node:util";
import type { ChaosMode, Disturbance } from "./disturbance.ts";
import { ConversationError } from "./errors.ts";
import { maskInterrupted, type NormalMessage } from "./normal-form.ts";
import type { PlayedRun } from "./run.ts";
import type { StepRecord } from "./stage.ts";

/** Deaths one turn may cost before the agent must have given up; some deaths fall between turns. */
const DEADLY_LIMIT = 12;

/** What is compared; docs/testing.md says what each means. */
export type ChaosCheck =
  | "finished"
  | "struck"
  | "messages"
  | "clients"
  | "streams"
  | "one outcome"
  | "outcomes"
  | "ends"
  | "history"
  | "effects"
  | "gave up"
  | "rests"
  | "boots"
  | "silent loss";

export interface ChaosDifference {
  readonly mode: ChaosMode | "undisturbed";
  /** Where the disturbance struck, e.g. `write 12`. */
  readonly point: string;
  readonly check: ChaosCheck;
  /** After which step of the conversation it showed, where that is known. */
  readonly step?: string;
  readonly expected: string;
  readonly actual: string;
}

type Finding = Omit<ChaosDifference, "mode" | "point">;

/** Everything in which a disturbed run differs from the undisturbed one. */
export function compareRuns(expected: PlayedRun, actual: PlayedRun, disturbance: Disturbance): ChaosDifference[] {
  const hasFailed = actual.turns.some((outcomes) => outcomes.includes("failed"));
  const isExcused = disturbance.mayGiveUp === true && hasFailed;
  const findings = [
    ...checkFinished(actual, isExcused),
    ...checkStruck(actual, disturbance),
    ...(isExcused ? [] : checkMessages(expected.steps, actual.steps)),
    ...checkAlone(actual),
    ...(isExcused ? [] : checkOutcomes(expected, actual)),
    ...checkEffects(expected, actual, isExcused),
    ...checkRest(expected, actual)
  ];
  const { mode, point } = disturbance;
  return findings.map((finding) => ({ mode, point, ...finding }));
}

/** What is wrong with a run whatever it is compared with. */
export function checkAlone(run: PlayedRun): Finding[] {
  const problems = (check: ChaosCheck, expected: string, list: readonly string[]): Finding[] =>
    list.slice(0, 1).map((actual) => ({ check, expected, actual }));
  const unsettledWell = run.turns.filter((outcomes) => outcomes.length !== 1).map((outcomes) => outcomes.join(", "));
  return [
    ...problems("clients", "every tab shows what is stored", run.viewProblems),
    ...problems("streams", "what was streamed is what is stored", run.streamProblems),
    ...problems("one outcome", "one outcome per turn", unsettledWell),
    ...problems("history", "one row of history per settled turn", run.historyProblems),
    ...problems("ends", "one end per request and socket", run.repeatedEnds)
  ];
}

function checkFinished({ error }: PlayedRun, isExcused: boolean): Finding[] {
  // After a turn that failed, a conversation may find nothing to answer.
  if (error === undefined || (isExcused && error instanceof ConversationError)) return [];
  const actual = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return [{ check: "finished", expected: "the conversation comes to its end", actual }];
}

function checkStruck(run: PlayedRun, disturbance: Disturbance): Finding[] {
  const isMissed = disturbance.mustStrike === true && run.deaths === 0;
  const missed: Finding[] = isMissed
    ? [{ check: "struck", expected: "the run gets to this point again", actual: "it never did: runs differ" }]
    : [];
  if (disturbance.mode !== "deadly-answer" || run.deaths <= DEADLY_LIMIT) return missed;
  const expected = `the agent gives up after at most ${DEADLY_LIMIT} deaths`;
  return [...missed, { check: "gave up", expected, actual: `${run.deaths} deaths` }];
}

/** The first step after which the stored messages differ: later ones only repeat the difference. */
function checkMessages(expected: readonly StepRecord[], actual: readonly StepRecord[]): Finding[] {
  for (const [index, step] of expected.entries()) {
    const other = actual[index];
    if (other === undefined) return [];
    const masked = maskInterrupted(step.messages, other.messages);
    if (isDeepStrictEqual(masked, other.messages)) continue;
    const [wanted, found] = firstDifference(masked, other.messages);
    return [{ check: "messages", step: step.name, expected: wanted, actual: found }];
  }
  return [];
}

function firstDifference(expected: readonly NormalMessage[], actual: readonly NormalMessage[]): [string, string] {
  if (expected.length !== actual.length) return [outline(expected), outline(actual)];
  const index = expected.findIndex((message, at) => !isDeepStrictEqual(message, actual[at]));
  return [`message ${index + 1}: ${JSON.stringify(expected[index])}`, JSON.stringify(actual[index])];
}

function outline(messages: readonly NormalMessage[]): string {
  const shown = messages.map(({ role, id, parts }) => `${role}${id === undefined ? "" : ` ${id}`} (${parts.length})`);
  return `${messages.length} messages: ${shown.join(", ")}`;
}

/** A call that was cut off may have needed an approval: then it is not asked for, and no turn goes on from it. */
function checkOutcomes(expected: PlayedRun, actual: PlayedRun): Finding[] {
  const [wanted = [], found = []] = [expected, actual].map(({ turns }) => turns.map((outcomes) => outcomes[0]));
  const missing = wanted.length - found.length;
  const isExplained = missing > 0 && missing <= actual.interrupted.length && found.every((one) => one === "completed");
  if (isExplained || isDeepStrictEqual(wanted, found) || actual.error !== undefined) return [];
  return [{ check: "outcomes", expected: wanted.join(", "), actual: found.join(", ") }];
}

/** Nothing happens more often than without a crash. Less often only where a call is shown as cut off. */
function checkEffects(expected: PlayedRun, actual: PlayedRun, isExcused: boolean): Finding[] {
  const names = new Set([...Object.keys(expected.effects), ...Object.keys(actual.effects)]);
  const tools = toolNames(expected);
  return [...names].flatMap((name): Finding[] => {
    const [wanted, found] = [expected.effects[name] ?? 0, actual.effects[name] ?? 0];
    const cutOff = actual.interrupted.filter(({ tool }) => tool === name || !tools.has(name)).length;
    const least = isExcused || actual.error !== undefined ? 0 : wanted - cutOff;
    if (found <= wanted && found >= least) return [];
    const range = least === wanted ? `${wanted}` : `${Math.max(0, least)} to ${wanted}`;
    return [{ check: "effects", expected: `"${name}" happens ${range} times`, actual: `${found} times` }];
  });
}

function toolNames({ steps }: PlayedRun): Set<string> {
  const parts = steps.flatMap(({ messages }) => messages.flatMap((message) => message.parts));
  return new Set(parts.flatMap((part) => (part.kind === "tool" ? [part.name] : [])));
}

function checkRest(expected: PlayedRun, actual: PlayedRun): Finding[] {
  const open: Finding[] =
    actual.openTurns === 0
      ? []
      : [{ check: "rests", expected: "no turn is open in the end", actual: `${actual.openTurns} open` }];
  if (!actual.hasAlarm || expected.hasAlarm) return open;
  return [...open, { check: "rests", expected: "no alarm in the end", actual: "an alarm is set" }];
}
