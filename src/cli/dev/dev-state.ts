// What the terminal view of `everthink dev` knows, and how a piece of news changes it. Pure.
import { LOG_LEVELS, type LogLevel } from "../logs/log-file.ts";
import type { TurnSummary, TurnTimeline } from "../../features/inspection/index.ts";

/** A turn as the view shows it. */
export interface DevTurn {
  readonly id: string;
  /** `<agent>/<instance>`. */
  readonly at: string;
  readonly requestId: string | null;
  readonly status: TurnSummary["status"];
  readonly reason: string | null;
  readonly question: string | null;
  readonly steps: number;
  readonly calls: number;
  readonly tokens: number;
  readonly cost: TurnSummary["cost"];
  readonly startedAt: number;
  readonly settledAt: number | null;
  readonly deaths: number;
  /** What runs or waits for a person now. */
  readonly tool: string | undefined;
  /** When the model is asked again, and which attempt that is. */
  readonly retry: { readonly at: number; readonly attempt: number; readonly of: number | undefined } | undefined;
}

export interface DevState {
  /** Undefined: it starts. */
  readonly origin: string | undefined;
  readonly studio: string | undefined;
  readonly agents: number;
  /** By `<agent>/<instance> <turn>`. Those that ended stay, so that they are told once. */
  readonly turns: ReadonlyMap<string, DevTurn>;
  readonly level: LogLevel;
}

export const FIRST_STATE: DevState = {
  ...{ origin: undefined, studio: undefined, agents: 0, turns: new Map(), level: "info" }
};
/** Ended turns that are remembered; the oldest are forgotten past the limit. */
const MAX_TURNS = 500;

const ENDED: readonly TurnSummary["status"][] = ["completed", "failed", "aborted", "skipped"];

export function isEnded({ status }: Pick<DevTurn, "status">): boolean {
  return ENDED.includes(status);
}

export function nextLevel(level: LogLevel): LogLevel {
  return LOG_LEVELS[(LOG_LEVELS.indexOf(level) + 1) % LOG_LEVELS.length] ?? "info";
}

/** `timeline` is there for open turns. */
export function turnOf(at: string, summary: TurnSummary, timeline?: TurnTimeline): DevTurn {
  const attempt = timeline?.attempts.at(-1);
  const calls = attempt?.steps.at(-1)?.calls ?? [];
  const open = calls.find(({ status }) => status === "running" || status === "waiting");
  const { turnId: id, requestId, status, reason, question, steps, cost, usage, settledAt, deaths } = summary;
  return {
    ...{ id, at, requestId, status, reason, question, steps, cost, settledAt, deaths },
    calls: summary.calls,
    tokens: usage.totalTokens ?? 0,
    startedAt: summary.startedAt ?? summary.admittedAt ?? 0,
    tool: open?.toolName,
    retry: attempt?.retryAt ? { at: attempt.retryAt, attempt: attempt.attempt + 1, of: undefined } : undefined
  };
}

/** The state with these turns, and those of them that have ended since. */
export function withTurns(
  state: DevState,
  found: readonly DevTurn[]
): { readonly state: DevState; readonly ended: readonly DevTurn[] } {
  const turns = new Map(state.turns);
  const ended: DevTurn[] = [];
  for (const turn of found) {
    const key = `${turn.at} ${turn.id}`;
    const before = turns.get(key);
    if (before !== undefined && isEnded(before)) continue;
    if (isEnded(turn)) ended.push(turn);
    turns.delete(key);
    turns.set(key, turn.retry && before?.retry ? { ...turn, retry: { ...turn.retry, of: before.retry.of } } : turn);
  }
  const over = [...turns].filter(([, turn]) => isEnded(turn)).map(([key]) => key);
  for (const key of over.slice(0, Math.max(0, over.length - MAX_TURNS))) turns.delete(key);
  return { state: { ...state, turns }, ended };
}

const RETRY_LINE = /the model is asked again in (\d+) s, attempt (\d+) of (\d+) \(request ([^)]+)\)/;

/** The log says of how many attempts it is one, which the inspection API does not. */
export function withLogLine(state: DevState, line: string, now: number): DevState {
  const [, seconds, attempt, of, request] = RETRY_LINE.exec(line) ?? [];
  const found = [...state.turns].find(([, { requestId }]) => request !== undefined && requestId === request);
  if (found === undefined) return state;
  const [key, turn] = found;
  const retry = { at: now + Number(seconds) * 1_000, attempt: Number(attempt), of: Number(of) };
  return { ...state, turns: new Map(state.turns).set(key, { ...turn, retry }) };
}

export function openTurns({ turns }: DevState): DevTurn[] {
  return [...turns.values()].filter((turn) => !isEnded(turn)).toSorted((one, other) => one.startedAt - other.startedAt);
}

export function isShown(line: LogLevel, wanted: LogLevel): boolean {
  return LOG_LEVELS.indexOf(line) >= LOG_LEVELS.indexOf(wanted);
}
