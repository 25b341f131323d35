// Code that a model wrote, as the class sees it: what waits, and the runtime that is made again after a restart. What runs
// it is `src/execute/`, which only a class that uses it imports; this is the part that every class has.
import type { ActionApprovalDescriptor } from "../../feature/approval-contract.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { ExecutionMembers } from "./capability.ts";

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

/** What every class has of executed code: after a restart, where runs go on or wait, it is asked for its tools, which carry what runs them. */
export class RestoredExecutions implements Feature {
  readonly name = "execute-restore";
  readonly #services: ChatServices;
  #restoring: Promise<void> | undefined;

  constructor(services: ChatServices) {
    this.#services = services;
  }

  /** Decisions wait until the runtime is made again; what waits is listed by the feature that runs code. */
  approvalsRestored(): Promise<void> | undefined {
    return this.#restoring;
  }

  /** Undefined for a class that executes no code. */
  open(): ExecutionsFeature | undefined {
    // Only the feature that runs code has this name.
    return this.#services.features.named("execute") as ExecutionsFeature | undefined;
  }

  ready(): void {
    const { sql } = this.#services;
    if (!sql.catalog.hasTable("cm_executions")) return;
    const open = sql.one(
      // Also one whose status cannot be read.
      `SELECT 1 FROM cm_executions
       WHERE status NOT IN ('completed', 'error', 'rejected', 'aborted', 'rolled_back') OR is_placed = 0 LIMIT 1`
    );
    if (!open) return;
    const restored = this.#services.inAgent(() => this.#restore());
    this.#restoring = restored.catch(() => undefined).finally(() => (this.#restoring = undefined));
    this.#services.background(restored);
  }

  async #restore(): Promise<void> {
    const { agent, features, overrides } = this.#services;
    // Only agents with these members open it.
    const own = (agent as ExecutionMembers).getExecuteRuntime();
    if (own === undefined) {
      const tools: unknown = overrides.getTools();
      features.adopt(Object.values((tools instanceof Promise ? await tools : tools) as object));
    } else {
      features.adopt([await own]);
    }
    if (!this.open()) {
      console.error("Executed code waits, and getTools() returned no tool of createExecuteTool to go on with it.");
    }
  }
}
