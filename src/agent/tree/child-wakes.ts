// The root's side of its descendants' wakes: one item of durable work per facet that has some, because facets have no alarm.
// It is claimed while its child is called, so a crash in between wakes the child again; a child that keeps failing is tried
// ever less often and finally dropped. A wake of the root lasts as long as those of its children, and a child that hangs
// ends neither the root's wake nor its own later ones.
import type { ReplacedTable } from "../../host/table-set.ts";
import { descendantPrefix, parsePathKey, pathKey, type AgentPath } from "../../host/path.ts";
import { errorMessage } from "../../util/errors.ts";
import { ok } from "../../util/result.ts";
import { SETTLED, type RetryPolicy, type RunEnd } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import { LONGEST_WAIT_MS } from "../backoff.ts";
import { hostIn, type AgentCore } from "../core.ts";

/** The kind of work that wakes sub-agents. Its keys are their paths below the root. */
export const CHILD_WAKE = "child-wake";
/** Tries without a pause: one kill of the process must not cost its children half a minute. */
const QUICK_TRIES = 2;
/** Children woken at the same time. */
const CONCURRENT_WAKES = 8;
/** The root's wake does not wait longer for a child: the platform ends it after 15 minutes. */
const SLOW_WAKE_MS = 14 * 60_000;
/** A child that has not answered by then counts as failed. */
const LONGEST_WAKE_MS = 15 * 60_000;

/** Reaches a child; false when its parent does not know it. */
type WakeChild = (path: AgentPath) => Promise<boolean>;

/** The table of wakes until schema version 7. Its layout is what was released: never change it. */
export const WAKES: ReplacedTable = {
  name: "cf_wakes",
  move: (sql) =>
    void sql.run(
      `INSERT OR IGNORE INTO cf_work (kind, key, payload, due_at, claim, failures, troubled_since, created_at)
       SELECT ?, path, 'null', MAX(CAST(at AS INTEGER), CAST(leased_until AS INTEGER)), CAST(failures AS INTEGER),
         CAST(failures AS INTEGER), CAST(failing_since AS INTEGER), CAST(at AS INTEGER)
       FROM cf_wakes ORDER BY at, path`,
      CHILD_WAKE
    )
};

export class ChildWakes {
  readonly #core: AgentCore;
  readonly #work: Work<null>;
  readonly #wake: WakeChild;

  constructor(core: AgentCore, wake: WakeChild) {
    this.#core = core;
    this.#wake = wake;
    const { keepAliveIntervalMs: baseMs, fiberRecoveryMaxAgeMs: maxAgeMs } = core.options;
    const slow: RetryPolicy = {
      backoff: { baseMs: baseMs / 2 ** QUICK_TRIES, maxMs: LONGEST_WAIT_MS },
      afterDeaths: { baseMs, maxMs: LONGEST_WAIT_MS },
      quickRestarts: QUICK_TRIES + 1,
      maxAgeMs: maxAgeMs > 0 ? maxAgeMs : Infinity
    };
    const quick: RetryPolicy = { ...slow, backoff: { baseMs: 0, maxMs: 0 } };
    // The wake of the root keeps it alive.
    const host = hostIn(core, (work) => work());
    this.#work = new Work(host, {
      name: CHILD_WAKE,
      replaces: [WAKES],
      codec: { encode: () => null, decode: () => ok(null) },
      retry: slow,
      retryOf: ({ failures }) => (failures < QUICK_TRIES ? quick : slow),
      byWake: true,
      concurrency: CONCURRENT_WAKES,
      slowMs: SLOW_WAKE_MS,
      leaseMs: LONGEST_WAKE_MS,
      retentionMs: 0,
      run: ({ key }) => this.#run(key),
      givenUp: ({ key, failures }) => this.#failed(key, "gave up", failures + 1)
    });
    core.wakes.add(() => this.#work.nextWake());
  }

  /** Takes up the wakes in which the last process died. */
  start(): void {
    this.#work.ready();
    this.#work.start();
  }

  stop(): void {
    this.#work.stop();
  }

  /** A child says when it next needs to run. */
  async arm(path: AgentPath, at: number | null): Promise<void> {
    const key = pathKey(path);
    // While the child runs, its end stores it.
    if (this.#work.again(key, at)) return;
    if (at === null) this.#work.cancel(key);
    // One that fails is tried after its pause, and arms its next wake then.
    else if (!this.#work.add({ key, payload: null, dueAt: at }) && !this.#isFailing(key)) this.#work.schedule(key, at);
    await this.#core.wakes.rearm();
  }

  /** Drops the wakes of a subtree that is no more. */
  async forget(path: AgentPath): Promise<void> {
    const own = pathKey(path);
    const prefix = descendantPrefix(path);
    for (const { key } of this.#work.items()) if (key === own || key.startsWith(prefix)) this.#work.cancel(key);
    await this.#core.wakes.rearm();
  }

  runDue(): Promise<void> {
    return this.#work.drained();
  }

  async #run(key: string): Promise<RunEnd<null>> {
    try {
      const path = parsePathKey(key);
      // A child that ran has armed its next wake, or none, before it answered.
      if (!(await this.#wake(path))) await this.#forgetUnknown(key, path);
      return SETTLED;
    } catch (error) {
      this.#failed(key, errorMessage(error), 0);
      await this.#core.report(error);
      throw error;
    }
  }

  /** Deleting a child forgets its wakes first: what is left names a child whose row is not what was stored. */
  async #forgetUnknown(key: string, path: AgentPath): Promise<void> {
    const error = "no child is registered under this name; its wake is dropped";
    this.#core.emit("storage:row:quarantined", { table: "cf_children", key, error });
    console.error(`A sub-agent that has work to do is not registered: ${key}. Its wake is dropped.`);
    await this.forget(path);
  }

  #isFailing(key: string): boolean {
    const { failures = 0, starts = 0 } = this.#work.find(key) ?? {};
    return failures + starts > 0;
  }

  #failed(id: string, error: string, attempts: number): void {
    const committed = () => this.#core.emit("schedule:error", { callback: "wake", id, error, attempts });
    this.#core.sql.afterTransaction({ committed });
  }
}
