// One run of a child agent as its parent sees it: its identity, its states, and what callers and models are given of it.
// Types and pure functions. A hard terminal is never overwritten; an interrupted run may still be repaired.
import { sha256 } from "../../host/blobs.ts";
import { cutToBytes } from "../../util/bytes.ts";
import { isObject, stringifyJson } from "../../util/json.ts";

/** "starting" and "running" are open; "interrupted" is an end that a later call may repair. */
export type AgentToolRunStatus = "starting" | "running" | "completed" | "error" | "aborted" | "interrupted";

/** Why a run was given up without its child's word. */
export type AgentToolInterruption =
  /** The child showed no sign of life for too long. It was left running. */
  | "no-progress"
  /** The child could not be asked: it did not answer, or every call failed. */
  | "inspect-timeout"
  | "inspect-failed"
  /** The child is not known to have accepted the run. A call with the same id starts it, or follows what it began. */
  | "not-started"
  /** A background run took longer than it may. Its child was stopped. */
  | "budget-exceeded";

/** JSON, in a type that stubs can carry: `unknown` is `never` over RPC. */
export type AgentToolValue = string | number | boolean | object | null | undefined;

/** What clients may show of a run beside its progress. */
export interface AgentToolDisplay {
  name?: string;
  icon?: string;
  [field: string]: AgentToolValue;
}

/** A run as `onAgentToolStart`, `onAgentToolFinish` and `listAgentToolRuns` show it. */
export interface AgentToolRunInfo {
  /** Also the name of the child: `/sub/{class}/{runId}` is its address. */
  readonly runId: string;
  /** The tool call that it answers. */
  readonly parentToolCallId?: string;
  /** The child's class. */
  readonly agentType: string;
  readonly inputPreview?: string;
  readonly status: AgentToolRunStatus;
  readonly display?: AgentToolDisplay;
  readonly displayOrder: number;
  readonly startedAt: number;
  readonly completedAt?: number;
}

/** How a run ended. A failure of the child is a result, not a throw. */
export interface RunAgentToolResult<Output = AgentToolValue> {
  readonly runId: string;
  readonly agentType: string;
  /** "running": a background run that has begun. */
  readonly status: Exclude<AgentToolRunStatus, "starting">;
  /** What the child's `getAgentToolOutput` returned, or its turn's structured output. */
  readonly output?: Output;
  /** The text of the child's answer. */
  readonly summary?: string;
  readonly error?: string;
  readonly reason?: AgentToolInterruption;
  readonly childStillRunning?: boolean;
}

/** What the model reads when an agent tool has no answer. */
export interface AgentToolFailure {
  readonly ok: false;
  readonly status: "error" | "aborted" | "interrupted";
  readonly error: string;
  /** Calling the tool again may help. */
  readonly retryable: boolean;
  readonly reason?: AgentToolInterruption;
  readonly childStillRunning?: boolean;
}

/** A run that goes on without its caller. */
export interface BackgroundRun {
  /** A method of the parent, called with `(run, result)` when the run is over: once, after a crash at least once. */
  readonly onFinish?: string;
  /** Stopped after so long (default 24 hours). */
  readonly maxBudgetMs?: number;
  /** Stopped after so long without a sign of life, and reported as "no-progress" (default: the whole budget). */
  readonly noProgressBudgetMs?: number;
  /** Adds what came of it to the parent's conversation. */
  readonly notify?: boolean;
}

export const DEFAULT_BACKGROUND_MS = 24 * 3_600_000;

/** What is kept of runs that are over. Default: everything, until `clearAgentToolRuns()`. */
export interface AgentToolRetention {
  /** The newest so many. */
  readonly maxRuns?: number;
  /** Those that ended less than so long ago. */
  readonly maxAgeMs?: number;
}

export interface RunAgentToolOptions<Input = unknown> {
  /** Becomes the child's first message: a text as it is, anything else as JSON. Not stored by the parent. */
  readonly input: Input;
  /** The same id never starts the child's work twice: a second call waits for the first, or has its result. */
  readonly runId?: string;
  /** The tool call that clients show the run with. */
  readonly parentToolCallId?: string;
  /** Order of runs that belong to the same call. */
  readonly displayOrder?: number;
  /** Stops the run. Not for background runs: see `cancelAgentToolRun`. */
  readonly signal?: AbortSignal;
  /** What clients may show of the input. Default: its beginning. */
  readonly inputPreview?: string;
  readonly display?: AgentToolDisplay;
  /** Given up as "interrupted" after so long without a sign of life of the child. */
  readonly noProgressMs?: number;
  /**
   * Who reads a steer that comes while the parent's turn waits for this run: the child, at its next step, or the parent, when
   * the run is over (default). Of several children that take them, the one that began last. Not for background runs.
   */
  readonly steer?: "child" | "parent";
  /** Returns as soon as the child has begun. */
  readonly detached?: boolean | BackgroundRun;
}

const HARD: ReadonlySet<string> = new Set<AgentToolRunStatus>(["completed", "error", "aborted"]);

export function isHardTerminal(status: string): boolean {
  return HARD.has(status);
}

export function isOpenRun(status: string): boolean {
  return status === "starting" || status === "running";
}

const PREVIEW_CHARS = 500;

/** A text cut, or JSON with an ellipsis where it is cut. */
export function previewOf(input: unknown): string | undefined {
  if (typeof input === "string") return input.slice(0, PREVIEW_CHARS);
  const json = stringifyJson(input);
  return json === undefined || json.length <= PREVIEW_CHARS ? json : `${json.slice(0, PREVIEW_CHARS - 3)}...`;
}

/** Characters of a run id, so that with the class it is a name that the platform takes. */
const RUN_ID_CHARS = 160;

/**
 * The run of a tool call: the same however often the call is tried, and another for a call of another answer, also where a
 * provider gives its calls the same ids in every answer.
 */
export function runIdOfCall(messageId: string, toolCallId: string): string {
  const id = `agent-tool:${messageId}:${toolCallId}`;
  return id.length <= RUN_ID_CHARS ? id : `agent-tool:${sha256(id).slice(0, 43)}`;
}

/** How the packages that everthink replaces name the run of a call. Such a run may have come over with its object. */
export function originalRunId(toolCallId: string): string {
  return `agent-tool:${toolCallId}`;
}

/** What a run that is over is reported as. */
export interface ChildRunEnd {
  readonly status: Exclude<AgentToolRunStatus, "starting" | "running">;
  readonly summary?: string;
  readonly output?: AgentToolValue;
  readonly error?: string;
  readonly reason?: AgentToolInterruption;
  readonly childStillRunning?: boolean;
  readonly tokens?: number;
  /** The messages passed to it that it has read; undefined: it did not say. */
  readonly steers?: readonly string[];
}

export const NEVER_STARTED = "The run was interrupted before the sub-agent had begun.";
const FAILED = "The sub-agent failed.";

/** What the model reads of a run. `parsed`: what the tool's output schema made of the output. */
export function toolOutputOf(
  result: RunAgentToolResult,
  parsed?: { readonly ok: true; readonly value: unknown } | { readonly ok: false }
): unknown {
  const { status } = result;
  if (status === "running") return { runId: result.runId, status };
  if (status !== "completed") return failureOf(result);
  if (!parsed) return result.summary ?? "";
  if (parsed.ok) return parsed.value;
  const error =
    result.output === undefined
      ? "The sub-agent ended without the structured output that this tool returns."
      : "The sub-agent's output does not match the tool's output schema.";
  return { ok: false, status: "error", error, retryable: false } satisfies AgentToolFailure;
}

function failureOf(result: RunAgentToolResult): AgentToolFailure {
  const { status, error, reason, childStillRunning } = result;
  const isInterrupted = status === "interrupted";
  return {
    ok: false,
    status: status === "aborted" || status === "interrupted" ? status : "error",
    error: error ?? FAILED,
    retryable: isInterrupted,
    ...(reason !== undefined && { reason }),
    ...(childStillRunning !== undefined && { childStillRunning })
  };
}

/** The text of an abort's reason. */
export function abortReasonText(reason: unknown): string {
  if (typeof reason === "string" && reason !== "") return reason;
  const message = isObject(reason) || reason instanceof Error ? Reflect.get(reason, "message") : undefined;
  return typeof message === "string" && message !== "" ? message : "cancelled";
}

/** A parent that reads a run is answered after so long, whatever it asks for: its child is then seen to be alive. */
export const MAX_WAIT_MS = 30_000;

/** Bytes of a run's summary and of its error; beyond, they are cut. */
export const TEXT_LIMIT_BYTES = 256 * 1024;
/** Bytes of a run's output as JSON; a larger one fails the run. */
export const RUN_OUTPUT_LIMIT_BYTES = 1024 * 1024;

export function cutText(text: string): string {
  return cutToBytes(text, TEXT_LIMIT_BYTES);
}
