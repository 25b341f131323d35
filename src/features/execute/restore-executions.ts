// Code that a model wrote, as the class sees it: what waits, and the runtime that is made again after a restart. What runs
// it is `src/execute/`, which only a class that uses it imports; this is the part that every class has.
import type { ActionApprovalDescriptor } from "../actions/contract.ts";
import type { Feature, FeatureHost } from "../../feature/feature.ts";
import { thinkRuntimeOf } from "../../think/runtime.ts";

/** A call of executed code that waits for a human, with its whole arguments. */
export interface PendingExecution {
  readonly executionId: string;
  readonly seq: number;
  readonly connector: string;
  readonly method: string;
  // `unknown` is `never` over RPC.
  readonly args: string | number | boolean | object | null;
  /** It was begun before and may have run: the process died in it. A decision about it must carry `inputHash`. */
  readonly mayHaveRun?: true;
  /** A hash of this question: a decision that gives it back decides no other question. */
  readonly inputHash?: string;
}

export interface ExecutionsFeature extends Feature {
  readonly name: "execute";
  pendingExecutions(executionId?: string): PendingExecution[];
}

/** What a class may change about how a call that waits is described. */
export type PausedDescription = Partial<Omit<ActionApprovalDescriptor, "requestId" | "toolCallId">>;

/** What is asked of the class here. */
export interface ExecutionOverrides {
  getExecuteRuntime(): object | undefined | Promise<object | undefined>;
  describePausedExecution(
    pending: PendingExecution,
    call: { readonly requestId: string; readonly toolCallId: string }
  ): PausedDescription | undefined;
}

/** Undefined for a class that executes no code. */
export function executionsOf(agent: object): ExecutionsFeature | undefined {
  const feature = thinkRuntimeOf(agent).features.named("execute");
  // Only `src/execute` has a feature of this name.
  return feature as ExecutionsFeature | undefined;
}

/** Agents whose runtime is being made again. */
const restoring = new WeakMap<object, Promise<void>>();

/** While a runtime is made again, a decision about its runs has to wait for it; undefined: there is nothing to wait for. */
export function executionsRestored(agent: object): Promise<void> | undefined {
  return restoring.get(agent);
}

/** After a restart: where runs go on or wait, the class is asked for its tools, which carry what runs them. */
export function restoreExecutions(host: FeatureHost): Feature {
  return {
    name: "execute-restore",
    ready: () => {
      const { sql, agent } = host;
      if (!sql.catalog.hasTable("cm_executions")) return;
      const open = sql.one(
        // Also one whose status cannot be read.
        `SELECT 1 FROM cm_executions
         WHERE status NOT IN ('completed', 'error', 'rejected', 'aborted', 'rolled_back') OR is_placed = 0 LIMIT 1`
      );
      if (!open) return;
      const restored = host.inAgent(() => restore(host, agent));
      restoring.set(
        agent,
        restored.catch(() => undefined).finally(() => restoring.delete(agent))
      );
      host.background(restored);
    }
  };
}

async function restore({ overrides }: FeatureHost, agent: object): Promise<void> {
  const { features } = thinkRuntimeOf(agent);
  const own = overrides.getExecuteRuntime();
  if (own === undefined) {
    const tools: unknown = overrides.getTools();
    features.adopt(Object.values((tools instanceof Promise ? await tools : tools) as object));
  } else {
    features.adopt([await own]);
  }
  if (!executionsOf(agent)) {
    console.error("Executed code waits, and getTools() returned no tool of createExecuteTool to go on with it.");
  }
}
