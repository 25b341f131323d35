// What durable work of an agent (schedules, queue, fibers) may use of the agent it belongs to. It sees this and not the
// class, so each can be read and tested alone.
import type { Clock, Ids, Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import type { Wakes } from "../host/wakes.ts";
import type { Emit } from "../observe/events.ts";
import type { ResolvedOptions } from "./options.ts";

export interface AgentCore {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wakes: Wakes;
  readonly options: ResolvedOptions;
  readonly quarantine: Quarantine;
  /** Whether features and the user's `onStart` are running: what they add without a key is added at every start. */
  readonly isInUserStart: boolean;
  readonly emit: Emit;
  hasMethod(name: string): boolean;
  /** Calls a method of the user's class in this agent's context, without connection or request unless one is current. */
  invoke(method: string, ...args: unknown[]): Promise<unknown>;
  /** Hands an error to the user's `onError`; what that throws is logged and swallowed. */
  report(error: unknown): Promise<void>;
  /** Keeps the object's invocation open for work that is not awaited. Rejections are logged. */
  background(work: Promise<unknown>): void;
}
