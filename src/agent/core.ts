// What durable work of an agent (schedules, queue, fibers) may use of the agent it belongs to. It sees this and not the
// class, so each can be read and tested alone. It is the host of their kinds of work: `new Work(core, kind)`.
import type { Ids } from "../host/ports.ts";
import type { Wakes } from "../host/wakes.ts";
import type { Emit } from "../observe/events.ts";
import type { WorkHost } from "../work/work.ts";
import type { ResolvedOptions } from "./options.ts";

export interface AgentCore extends WorkHost {
  readonly ids: Ids;
  readonly wakes: Wakes;
  readonly options: ResolvedOptions;
  /** Whether features and the user's `onStart` are running: what they add without a key is added at every start. */
  readonly isInUserStart: boolean;
  readonly emit: Emit;
  hasMethod(name: string): boolean;
  /** Calls a method of the user's class in this agent's context, without connection or request unless one is current. */
  invoke(method: string, ...args: unknown[]): Promise<unknown>;
  /** Hands an error to the user's `onError`; what that throws is logged and swallowed. */
  report(error: unknown): Promise<void>;
}

/** The host of kinds of work whose runs have a context of their own, or one that is kept alive already. */
export function hostIn(core: AgentCore, inAgent: WorkHost["inAgent"]): WorkHost {
  return {
    sql: core.sql,
    clock: core.clock,
    quarantine: core.quarantine,
    random: () => core.ids.random(),
    inAgent,
    background: (work) => core.background(work),
    rearm: () => core.rearm()
  };
}
