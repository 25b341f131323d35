// Runs of sub-agents as tools, as a client shows them: each is a fold of the numbered events about it. An event that is
// known already changes nothing, so that what a new connection is sent again can be applied as it comes. Pure.
import type { UIMessage } from "ai";
import { continueFold, foldChunk, foldedMessage, startFold, type MessageFold } from "../model/message-fold.ts";
import type { AgentFrame } from "./frames.ts";

export interface AgentRun {
  /** Also the name of the sub-agent; see `addressOf`. */
  readonly runId: string;
  /** The class of the sub-agent. */
  readonly agentType: string;
  /** The tool call it belongs to; undefined: none. */
  readonly callId: string | undefined;
  readonly inputPreview: string | undefined;
  /** What the tool says about itself: `name`, `icon`, … */
  readonly display: Readonly<Record<string, unknown>>;
  readonly order: number;
  readonly status: "running" | "completed" | "error" | "aborted" | "interrupted";
  /** What the sub-agent has said so far: text, reasoning, its own tool calls. */
  readonly message: UIMessage;
  /** When it completed: what the parent was given. */
  readonly summary: string | undefined;
  /** Why it did not complete. */
  readonly error: string | undefined;
  /** It was given up and goes on: its conversation can still be opened. */
  readonly childStillRunning: boolean;
}

interface KeptRun {
  readonly run: Omit<AgentRun, "message">;
  readonly fold: MessageFold;
  /** Of the newest event. */
  readonly sequence: number;
}

export type AgentRuns = ReadonlyMap<string, KeptRun>;

export const NO_RUNS: AgentRuns = new Map();

/** Runs that are kept; the oldest goes first. */
export const MAX_RUNS = 500;

export function reduceRuns(
  runs: AgentRuns,
  { event, sequence, callId }: Extract<AgentFrame, { type: "run" }>
): AgentRuns {
  const known = runs.get(event.runId);
  if (event.kind === "started") {
    if (known) return runs;
    const { kind: _kind, ...started } = event;
    const open = { status: "running", summary: undefined, error: undefined, childStillRunning: false } as const;
    return kept(runs, { run: { ...started, callId, ...open }, fold: startFold(event.runId), sequence });
  }
  if (!known || sequence <= known.sequence) return runs;
  if (event.kind === "chunk") {
    const before = event.restarts ? continueFold({ ...event.restarts, id: event.runId }) : known.fold;
    return kept(runs, { ...known, fold: foldChunk(before, event.chunk), sequence });
  }
  const { status, summary, error, childStillRunning } = event;
  return kept(runs, { ...known, run: { ...known.run, status, summary, error, childStillRunning }, sequence });
}

function kept(runs: AgentRuns, changed: KeptRun): AgentRuns {
  const next = new Map(runs).set(changed.run.runId, changed);
  const [oldest] = next.keys();
  if (next.size > MAX_RUNS && oldest !== undefined) next.delete(oldest);
  return next;
}

/** The same object for a run that has not changed. */
const shown = new WeakMap<KeptRun, AgentRun>();

export function shownRuns(runs: AgentRuns): readonly AgentRun[] {
  return runs.size === 0 ? NONE : [...runs.values()].map(shownRun);
}

const NONE: readonly AgentRun[] = [];

function shownRun(kept: KeptRun): AgentRun {
  const known = shown.get(kept) ?? { ...kept.run, message: foldedMessage(kept.fold) };
  shown.set(kept, known);
  return known;
}
