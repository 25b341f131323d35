// Calls the class's hook with each change of a submission's status. A call is an item of durable work that is written in the
// transaction of the change: each is made at least once, those of one submission in order. A class without the hook writes
// nothing.
import type { ThinkSubmissionInspection } from "../../feature/submission-types.ts";
import type { ChatServices } from "../../feature/services.ts";
import { beforeDeadline, happensWithin } from "../../host/deadline.ts";
import { outsideTurns } from "../../turn/nesting.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { err, ok } from "../../util/result.ts";
import { SETTLED } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";

/** A hook that has not returned by then is left alone: acceptance, and the submission's next call, do not wait longer. */
export const HOOK_LIMIT_MS = 10_000;
/** How long a hook is called again in which the process dies. */
const CALL_AGE_MS = 24 * 3_600_000;
/** Calls at a time, each about another submission: a hook may submit, and wait for the call that this causes. */
const CONCURRENCY = 25;

type Inspect = (id: string) => ThinkSubmissionInspection | null;

export class StatusCalls {
  readonly work: Work<ThinkSubmissionInspection>;
  readonly #services: ChatServices;
  /** By key: calls that acceptance waits for. */
  readonly #awaited = new Map<string, () => void>();

  constructor(services: ChatServices, inspect: Inspect) {
    this.#services = services;
    this.work = new Work<ThinkSubmissionInspection>(services, {
      name: "submission-status",
      codec: {
        // An output may be too large for a row. It never changes: the call is given the one that the submission has.
        encode: ({ output: _output, ...submission }) => submission,
        decode: (stored) => (isSubmission(stored) ? ok(stored) : err("it is no submission"))
      },
      retry: { backoff: { baseMs: 1_000, maxMs: 5 * 60_000 }, maxAgeMs: CALL_AGE_MS },
      hasLanes: true,
      concurrency: CONCURRENCY,
      retentionMs: 0,
      run: async ({ key, payload }) => {
        const known = inspect(payload.submissionId);
        await this.#call(known && keyOf(known) === key ? known : payload);
        return { ...SETTLED, afterwards: () => this.#awaited.get(key)?.() };
      },
      givenUp: ({ key }, error) => console.error(`onSubmissionStatus is not called again for ${key}.`, error)
    });
  }

  /** Part of the transaction that changes the status. */
  add(submission: ThinkSubmissionInspection): void {
    if (!this.#services.isOverridden("onSubmissionStatus")) return;
    this.work.add({ key: keyOf(submission), payload: submission, lane: submission.submissionId });
  }

  /** Resolves when the call that was just added has ended. */
  async ended(submission: ThinkSubmissionInspection): Promise<void> {
    const key = keyOf(submission);
    if (this.work.state(key) === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.set(key, resolve);
    // Calls that wait are made now, also in `onStart`: it may wait for this one.
    this.work.ready();
    await happensWithin(HOOK_LIMIT_MS, promise, this.#services.clock);
    this.#awaited.delete(key);
  }

  isAwaited(submission: ThinkSubmissionInspection): boolean {
    return this.#awaited.has(keyOf(submission));
  }

  /** A throw of the class's hook, or one that never returns, changes nothing. */
  async #call(submission: ThinkSubmissionInspection): Promise<void> {
    const { agent, clock } = this.#services;
    // It is protected: only its name is known here.
    const hook: unknown = Reflect.get(agent, "onSubmissionStatus");
    if (typeof hook !== "function") return;
    const late = () => new Error(`It has not returned for ${HOOK_LIMIT_MS} ms.`);
    try {
      const called = outsideTurns(async () => Reflect.apply(hook, agent, [structuredClone(submission)]));
      await beforeDeadline(called, { clock, timeoutMs: HOOK_LIMIT_MS, late });
    } catch (error) {
      console.error(`onSubmissionStatus failed: ${errorMessage(error)}`, error);
    }
  }
}

/** One that was deleted and submitted anew has the same id. */
function keyOf({ submissionId, createdAt, status }: ThinkSubmissionInspection): string {
  return `${submissionId}:${createdAt}:${status}`;
}

function isSubmission(stored: unknown): stored is ThinkSubmissionInspection & object {
  return isObject(stored) && typeof stored["submissionId"] === "string" && typeof stored["status"] === "string";
}
