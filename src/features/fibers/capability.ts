// Fibers as a capability of every agent: its public names, and its part in the agent's life. What they do is in `fibers.ts`.
import { runtimeOf } from "../../agent/runtime.ts";
import { capability } from "../../feature/capability.ts";
import type { Feature } from "../../feature/feature.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { FIBER_TABLES } from "./fiber-table.ts";
import {
  Fibers,
  type DeleteFibersOptions,
  type FiberContext,
  type FiberInspection,
  type FiberRecoveryContext,
  type FiberRecoveryResult,
  type ListFibersOptions,
  type RunFiberOptions,
  type StartFiberOptions,
  type StartFiberResult
} from "./fibers.ts";

export class FiberMembers {
  /** Called for a fiber that a restart has cut off. See `runFiber`. */
  onFiberRecovered(context: FiberRecoveryContext): MaybePromise<FiberRecoveryResult | void> {
    console.warn(
      `Fiber "${context.name}" of ${this.constructor.name} was interrupted; override onFiberRecovered() to resume it.`
    );
  }

  /** Runs work whose row survives a restart that cuts it off; what it stashed reaches `onFiberRecovered`. */
  runFiber<T>(name: string, work: (context: FiberContext) => Promise<T>, options?: RunFiberOptions): Promise<T> {
    return fibersOf(this).run(name, work, options);
  }

  /** Saves a checkpoint of the fiber that is running; outside of fibers, of the turn. */
  stash(data: unknown): void {
    const { conversation } = runtimeOf(this);
    const all = fibersOf(this);
    if (conversation && !all.isInside) conversation.stash(data);
    else all.stash(data);
  }

  /** Starts a fiber with a record of its own, once per id or key, to be inspected later. */
  startFiber(
    name: string,
    work: (context: FiberContext) => Promise<unknown>,
    options?: StartFiberOptions
  ): Promise<StartFiberResult> {
    return fibersOf(this).start(name, work, options);
  }

  async inspectFiber(id: string): Promise<FiberInspection | null> {
    return fibersOf(this).inspect(id);
  }

  async inspectFiberByKey(key: string): Promise<FiberInspection | null> {
    return fibersOf(this).inspectByKey(key);
  }

  async cancelFiber(id: string, reason?: string): Promise<boolean> {
    return fibersOf(this).cancel(id, reason);
  }

  async cancelFiberByKey(key: string, reason?: string): Promise<boolean> {
    return fibersOf(this).cancelByKey(key, reason);
  }

  /** Gives an interrupted fiber its result. */
  async resolveFiber(id: string, result: FiberRecoveryResult): Promise<boolean> {
    return fibersOf(this).resolve(id, result);
  }

  async listFibers(options?: ListFibersOptions): Promise<FiberInspection[]> {
    return fibersOf(this).list(options);
  }

  async deleteFibers(options?: DeleteFibersOptions): Promise<number> {
    return fibersOf(this).remove(options);
  }
}

export interface FibersFeature extends Feature {
  readonly all: Fibers;
}

export const fibers = capability({
  name: "fibers",
  opensWithAgent: true,
  members: FiberMembers,
  feature: (services): FibersFeature => {
    const runtime = runtimeOf(services.agent);
    const all = new Fibers(runtime, runtime.keepAlive);
    // The agent is up, and can start fibers, also when those of an earlier process cannot be read.
    const failed = (error: unknown) => services.degrade("fiber-recovery", error);
    const claim = (): boolean => {
      try {
        return all.claim();
      } catch (error) {
        failed(error);
        return false;
      }
    };
    return {
      name: "fibers",
      all,
      tables: FIBER_TABLES,
      start: () => void claim(),
      recover: () => (claim() ? runtime.keepAlive.while(() => all.recover()).catch(failed) : undefined),
      runDue: () => all.recover(),
      stop: () => all.stop()
    };
  }
});

/** The fibers of an agent. */
export function fibersOf(agent: object): Fibers {
  return fibers.of(agent).all;
}
