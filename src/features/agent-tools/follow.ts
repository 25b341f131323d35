// Follows one run of a child to its end: asks for what is new, again and again. A child that does not answer, or fails to,
// is asked again with pauses: it may be starting after a crash. What ends the wait is the child's own word, the caller,
// or too long a time without a sign of life. Decides nothing about the run and writes nothing.
import { beforeDeadline } from "../../host/deadline.ts";
import type { Clock } from "../../host/ports.ts";
import { backoffMs } from "../../util/backoff.ts";
import { ThinkError } from "../../util/errors.ts";
import type { AgentToolChunk } from "./chunk-feed.ts";
import type { AgentToolRunInspection, RunProgress } from "./run-progress.ts";

/** How long a child that has nothing new holds an answer back. */
export const POLL_MS = 20_000;
/** And how much later than that it may answer. */
export const ANSWER_MS = 10_000;

const RETRY = { baseMs: 100, maxMs: 5_000 };

export interface FollowInit {
  readonly ask: (options: { afterSequence: number; waitMs: number }) => Promise<RunProgress>;
  readonly clock: Clock;
  /** Chunks up to this are known. */
  readonly after: number;
  /** How long it may go without a sign of life; read anew after each answer. */
  readonly noProgressMs: number;
  /** How long it may take to answer for the first time. Default: as long as it may go without a sign of life. */
  readonly firstAnswerMs?: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Called with each answer that has something new. A throw ends the wait. */
  readonly onProgress: (chunks: readonly AgentToolChunk[], run: AgentToolRunInspection) => void;
}

export type Followed =
  | { readonly kind: "ended"; readonly run: AgentToolRunInspection }
  /** The child has no record of the run. */
  | { readonly kind: "unknown" }
  /** It answers, and does nothing. */
  | { readonly kind: "silent" }
  /** It does not answer. */
  | { readonly kind: "unreachable"; readonly reason: "inspect-timeout" | "inspect-failed"; readonly error: unknown };

export class NoAnswerError extends ThinkError {
  constructor() {
    super({ code: "sub-agent-no-answer", message: "The sub-agent does not answer." });
  }
}

/** What a child answers to a call. Rejects with NoAnswerError when that is late, and with the signal's reason. */
export function answerInTime<T>(
  call: Promise<T>,
  { clock, signal, timeoutMs }: Pick<FollowInit, "clock" | "signal"> & { readonly timeoutMs: number }
): Promise<T> {
  return beforeDeadline(call, { clock, timeoutMs, late: () => new NoAnswerError(), signals: [signal] });
}

/** Rejects with the signal's reason. */
export async function follow(init: FollowInit): Promise<Followed> {
  const { clock, signal, noProgressMs } = init;
  let { after } = init;
  let activeAt = clock.now();
  let failures = 0;
  let silenceMs = Math.min(init.firstAnswerMs ?? Infinity, noProgressMs);
  let isFirst = init.firstAnswerMs !== undefined;
  for (;;) {
    signal.throwIfAborted();
    const leftMs = Math.max(0, activeAt + silenceMs - clock.now());
    const waitMs = isFirst ? 0 : Math.min(POLL_MS, leftMs);
    const timeoutMs = isFirst ? leftMs : waitMs + ANSWER_MS;
    const answer = await ask(init, { afterSequence: after, waitMs }, timeoutMs);
    if (!answer.ok) {
      const pauseMs = backoffMs(failures, RETRY);
      // There is no time left for another first answer after the pause.
      if (clock.now() + (isFirst ? pauseMs : 0) - activeAt >= silenceMs) return answer.end;
      failures += 1;
      await clock.sleep(pauseMs, signal);
      continue;
    }
    failures = 0;
    isFirst = false;
    silenceMs = noProgressMs;
    const { run, chunks, more, idleMs } = answer.progress;
    if (!run) return { kind: "unknown" };
    after = chunks.at(-1)?.sequence ?? after;
    init.onProgress(chunks, run);
    if (run.status !== "running" && !more) return { kind: "ended", run };
    activeAt = Math.max(activeAt, chunks.length > 0 ? clock.now() : clock.now() - idleMs);
    if (clock.now() - activeAt >= noProgressMs) return { kind: "silent" };
  }
}

type Answer =
  | { readonly ok: true; readonly progress: RunProgress }
  | { readonly ok: false; readonly end: Extract<Followed, { kind: "unreachable" }> };

async function ask(
  init: FollowInit,
  options: { afterSequence: number; waitMs: number },
  timeoutMs: number
): Promise<Answer> {
  const { clock, signal } = init;
  try {
    return { ok: true, progress: await answerInTime(init.ask(options), { clock, signal, timeoutMs }) };
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof NoAnswerError ? "inspect-timeout" : "inspect-failed";
    return { ok: false, end: { kind: "unreachable", reason, error } };
  }
}
