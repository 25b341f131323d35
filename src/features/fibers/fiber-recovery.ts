// Finds fibers that the end of a process interrupted and gives each to what can finish it: a named method, or the user's
// hook. `claim` marks them in one statement; `recover` runs the hooks. A hook that throws is asked
// again at growing intervals kept on disk; one that hangs holds up no other.
import { happensWithin } from "../../host/deadline.ts";
import { isPlatformTransient } from "../../host/platform-errors.ts";
import { errorMessage } from "../../util/errors.ts";
import { parseJson } from "../../util/json.ts";
import { durableBackoffMs } from "../../agent/backoff.ts";
import { runDurably } from "../../agent/context.ts";
import type { AgentCore } from "../../agent/core.ts";
import { DurableWork, type DurableScope } from "../../agent/durable-work.ts";
import { isFiberResult, readMetadata, type FiberRecoveryContext, type FiberRow } from "./fiber-row.ts";
import type { FiberTable, OrphanRow } from "./fiber-table.ts";
import type { KeepAlive } from "../../agent/keep-alive.ts";

export interface FiberRecoveryInit {
  core: AgentCore;
  keepAlive: KeepAlive;
  table: FiberTable;
  /** Ids of fibers running in this isolate. */
  executing: () => readonly string[];
  /** A managed fiber has a new outcome. */
  onSettled: (id: string) => void;
}

type HandledBy = "managed" | "user";

export class FiberRecovery {
  readonly #init: FiberRecoveryInit;
  /** Rows whose hook is running now, scan or not. */
  readonly #active = new Set<string>();
  #scan: Promise<void> | undefined;
  #pausedUntilMs = 0;
  #isStopped = false;

  constructor(init: FiberRecoveryInit) {
    this.#init = init;
    init.core.wakes.add(() => this.#nextWake());
  }

  stop(): void {
    this.#isStopped = true;
  }

  claim(): boolean {
    const { core, table, executing } = this.#init;
    const now = core.clock.now();
    const orphans = table.hasOpen() ? core.sql.transaction(() => this.#claimOrphans(executing(), now)) : [];
    for (const orphan of orphans) {
      const event = { ...describe(orphan), elapsedMs: now - orphan.created_at };
      core.emit("fiber:recovery:detected", event);
      core.emit("fiber:run:interrupted", event);
      if (orphan.managed) this.#init.onSettled(orphan.id);
    }
    const next = table.nextRecovery(this.#active);
    return next !== null && next <= now;
  }

  /** A fiber that a hook started, and that was cut off together with the hook, must not be recovered beside the hook's. */
  #claimOrphans(executing: readonly string[], now: number): OrphanRow[] {
    const { table } = this.#init;
    const orphans = table.claimOrphans(executing, now);
    // Those with a checkpoint first: they decide whether the hook is asked again.
    for (const { id, name, replaces, is_stashed } of orphans.toSorted((a, b) => b.is_stashed - a.is_stashed)) {
      const recovered = replaces === null ? undefined : table.owed(replaces);
      if (replaces === null || recovered === undefined) continue;
      if (recovered.name === name) {
        if (table.joinCheckpoint(id, replaces)) table.restartRecovery(replaces, now);
      } else if (is_stashed) table.handOver(replaces);
      // Without a checkpoint it has nothing that the hook, asked again, does not start anew.
      else table.remove(id);
    }
    return orphans;
  }

  /** One scan at a time; a call during one joins it. */
  recover(): Promise<void> {
    this.#scan ??= this.#recoverDue()
      .catch((error: unknown) => {
        // Not a hook's error: the table or the wake failed. A broken disk is no reason for a hot loop.
        this.#pausedUntilMs = this.#init.core.clock.now() + this.#init.core.options.keepAliveIntervalMs;
        throw error;
      })
      .finally(() => {
        this.#scan = undefined;
        return this.#isStopped ? undefined : this.#init.core.wakes.rearm();
      });
    return this.#scan;
  }

  /** Whether the hook of this fiber is running now. */
  isActive(id: string): boolean {
    return this.#active.has(id);
  }

  #nextWake(): number | null {
    // While a scan runs, its keep-alive is the wake that finds the rest after a crash.
    if (this.#isStopped || this.#scan) return null;
    const { table, executing } = this.#init;
    // An open row that nothing executes is an orphan that has not been claimed yet.
    const isUnclaimed = executing().length === 0 && table.hasOpen();
    const next = isUnclaimed ? 0 : table.nextRecovery(this.#active);
    return next === null ? null : Math.max(next, this.#pausedUntilMs);
  }

  async #recoverDue(): Promise<void> {
    if (this.#isStopped) return;
    this.claim();
    const ids = this.#init.table.recoverable(this.#init.core.clock.now()).filter((id) => !this.#active.has(id));
    // No keep-alive for an empty scan: it would wake the object for nothing.
    if (ids.length > 0) await this.#init.keepAlive.while(() => this.#recoverAll(ids));
  }

  async #recoverAll(ids: readonly string[]): Promise<void> {
    const { clock, options } = this.#init.core;
    const deadlineMs = options.fiberRecoveryScanDeadlineMs;
    const endsAt = deadlineMs > 0 ? clock.now() + deadlineMs : Number.POSITIVE_INFINITY;
    for (const [index, id] of ids.entries()) {
      if (this.#isStopped) return;
      // The first row is always tried, so every scan makes progress.
      if (index > 0 && clock.now() >= endsAt) return this.#stopAt(id);
      await this.#recoverWithin(id, endsAt);
    }
  }

  #stopAt(id: string): void {
    const row = this.#init.table.byId(id);
    if (row) this.#emitSkipped(row, "scan_deadline_exceeded");
  }

  /** Waits for one row until the scan's deadline; its hook goes on by itself after that. */
  async #recoverWithin(id: string, endsAt: number): Promise<void> {
    const { clock } = this.#init.core;
    this.#active.add(id);
    const work = this.#init.keepAlive.while(() => this.#recoverOne(id)).finally(() => this.#active.delete(id));
    let isDone = false;
    const first = work.then(() => void (isDone = true));
    if (Number.isFinite(endsAt)) await happensWithin(Math.max(0, endsAt - clock.now()), first, clock);
    else await first;
    if (!isDone) this.#init.core.background(work.finally(() => this.#isStopped || this.#init.core.wakes.rearm()));
  }

  async #recoverOne(id: string): Promise<void> {
    const { core, table } = this.#init;
    const row = table.byId(id);
    if (!row || row.recover_at === null) return;
    const isLast = this.#isTooOld(row);
    // It had its last try and the process ended during it.
    if (isLast && row.recovery_is_last) return this.#giveUp(row);
    const startedAt = core.clock.now();
    table.beginRecovery(id, { nextAtMs: startedAt + this.#waitAfter(row), isLast });
    core.emit("fiber:recovery:attempt", describe(row));
    try {
      const { by, result } = await this.#runHook(row);
      if (!this.#isStopped) this.#handled(row, by, result);
    } catch (error) {
      if (!this.#isStopped) this.#failed(row, error, isLast);
    }
  }

  async #runHook(row: FiberRow): Promise<{ by: HandledBy; result: unknown }> {
    const { core } = this.#init;
    const context = this.#context(row);
    const by = row.managed ? "managed" : "user";
    if (row.on_interrupted !== null) {
      const method = row.on_interrupted;
      const work = () => core.invoke(method, context.snapshot, context);
      return { by, result: await runDurably(scopeOf(row), work) };
    }
    if (core.hasMethod("onFiberRecovered")) {
      return { by, result: await runDurably(scopeOf(row), () => core.invoke("onFiberRecovered", context)) };
    }
    console.warn(`Fiber "${row.name}" was interrupted and nothing recovers it. Define onFiberRecovered.`);
    return { by, result: undefined };
  }

  #handled(row: FiberRow, by: HandledBy, result: unknown): void {
    const { core, table } = this.#init;
    const now = core.clock.now();
    core.sql.transaction(() => {
      if (!row.managed) table.remove(row.id);
      else if (by === "managed" && isFiberResult(result)) table.resolve(row.id, result, now);
      else table.endRecovery(row.id);
      table.resetBackoff(now + core.options.keepAliveIntervalMs);
    });
    if (row.managed) this.#init.onSettled(row.id);
    core.emit("fiber:recovery:handled", { ...describe(row), status: by, elapsedMs: now - row.created_at });
  }

  #failed(row: FiberRow, error: unknown, isLast: boolean): void {
    const { core, table } = this.#init;
    const now = core.clock.now();
    // The platform's failure says nothing about the hook, so it does not decide a managed fiber.
    const isTransient = isPlatformTransient(error);
    if (row.managed && !isTransient) {
      table.resolve(row.id, { status: "error", error: errorMessage(error) }, now);
      this.#init.onSettled(row.id);
    } else {
      table.postponeRecovery(row.id, now + this.#waitAfter(row));
    }
    this.#emitFailed(row, error, isTransient ? "platform_transient" : "handler_error");
    if (isLast && (!row.managed || isTransient)) this.#giveUp(row);
  }

  #giveUp(row: FiberRow): void {
    if (row.managed) this.#init.table.endRecovery(row.id);
    else this.#init.table.remove(row.id);
    this.#emitSkipped(row, "max_age_exceeded");
  }

  #isTooOld(row: FiberRow): boolean {
    const { clock, options } = this.#init.core;
    if (options.fiberRecoveryMaxAgeMs <= 0) return false;
    return clock.now() - (row.interrupted_at ?? row.created_at) > options.fiberRecoveryMaxAgeMs;
  }

  #waitAfter(row: FiberRow): number {
    return durableBackoffMs(row.recovery_step, this.#init.core.options.keepAliveIntervalMs);
  }

  #context(row: FiberRow): FiberRecoveryContext {
    const base = {
      id: row.id,
      name: row.name,
      snapshot: this.#readSnapshot(row),
      createdAt: row.created_at,
      recoveryReason: "interrupted" as const
    };
    if (!row.managed) return base;
    const metadata = readMetadata(row);
    return {
      ...base,
      status: row.status,
      idempotencyKey: row.idempotency_key ?? undefined,
      metadata
    };
  }

  #readSnapshot(row: FiberRow): unknown {
    if (row.snapshot === null) return null;
    const parsed = parseJson(row.snapshot);
    if (parsed.ok) return parsed.value;
    const body = row.snapshot;
    const { core, table } = this.#init;
    console.warn(`The snapshot of fiber "${row.name}" cannot be read; it is recovered without one.`);
    core.sql.transaction(() => {
      core.quarantine({ table: "cf_fibers", key: row.id, body, error: parsed.error });
      table.dropSnapshot(row.id);
    });
    return null;
  }

  #emitSkipped(row: FiberRow, reason: "scan_deadline_exceeded" | "max_age_exceeded"): void {
    const { core } = this.#init;
    core.emit("fiber:recovery:skipped", { ...describe(row), reason, elapsedMs: core.clock.now() - row.created_at });
  }

  #emitFailed(row: FiberRow, error: unknown, reason: string): void {
    const { core } = this.#init;
    const elapsedMs = core.clock.now() - row.created_at;
    core.emit("fiber:recovery:failed", { ...describe(row), error: errorMessage(error), reason, elapsedMs });
  }
}

/**
 * A method named for it does the fiber's own work from its checkpoint on. The hook is other code: its calls are its own,
 * anew for each interruption, and the fiber it may start goes on with those of the fiber.
 */
function scopeOf(row: FiberRow): DurableScope {
  const key = row.work ?? `fiber:${row.id}`;
  const work = new DurableWork(key, row.calls);
  const recovering = { id: row.id, name: row.name, work };
  if (row.on_interrupted !== null) return { work, recovering };
  return { work: new DurableWork(`${key}:recovered:${row.interrupted_at ?? 0}`), recovering };
}

function describe(row: Pick<FiberRow, "id" | "name" | "managed">) {
  return { fiberId: row.id, fiberName: row.name, managed: row.managed === 1, recoveryReason: "interrupted" };
}
