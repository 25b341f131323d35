// What the runner of durable work needs of its agent.
import type { Clock, Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";

export interface WorkHost {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly quarantine: Quarantine;
  /** In [0, 1). Absent: no pause is random. */
  random?(): number;
  /** Runs work in the agent's context, kept alive until it ends: the wake that finds it after a crash is set first. */
  inAgent<T>(work: () => Promise<T>): Promise<T>;
  background(work: Promise<unknown>): void;
  /** After a change of what `nextWake` answers. */
  rearm(): void;
}
