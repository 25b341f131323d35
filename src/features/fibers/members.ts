// The public names of fibers on the class.
// Its declarations name no type of `ai` and not the capability: a project with a plain `Agent` is type-checked without
// that package. At run time only `capability.ts` imports this file.
import { runtimeOf } from "../../agent/runtime.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { fibersOf } from "./capability.ts";
import type {
  DeleteFibersOptions,
  FiberContext,
  FiberInspection,
  FiberRecoveryContext,
  FiberRecoveryResult,
  ListFibersOptions,
  RunFiberOptions,
  StartFiberOptions,
  StartFiberResult
} from "./fibers.ts";

export class FiberMembers {
  /**
   * Called for a fiber that a restart has cut off. See `runFiber`.
   * @example
   * async onFiberRecovered({ name, snapshot }: FiberRecoveryContext) {
   *   if (name !== "copy") return;
   *   const next = (snapshot as number | null) ?? 0; // null: cut off before its first checkpoint
   *   await this.runFiber("copy", (fiber) => this.copyFrom(next, fiber.stash));
   *   return { status: "completed" as const };
   * }
   */
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
