// What one operation carries along: its time, the turn that it is part of, and what has to happen once it is committed.
import type { EntryType } from "./entries.ts";
import type { Tables } from "./tables.ts";

export type WorkspaceChangeType = "create" | "update" | "delete";

export interface WorkspaceChangeEvent {
  readonly type: WorkspaceChangeType;
  readonly path: string;
  readonly entryType: EntryType;
}

/** Events of one operation. A recursive delete of more entries reports so many of them only. */
export const MAX_EVENTS = 1_000;

export class Operation {
  readonly tables: Tables;
  readonly now: number;
  readonly turnId: string | undefined;
  readonly events: WorkspaceChangeEvent[] = [];
  /** Objects in R2 that no entry refers to any more. */
  readonly objects: string[] = [];

  constructor(tables: Tables, now: number, turnId?: string) {
    this.tables = tables;
    this.now = now;
    this.turnId = turnId;
  }

  /** Keeps an event for when the operation is committed. */
  note(event: WorkspaceChangeEvent): void {
    if (this.events.length < MAX_EVENTS) this.events.push(event);
  }
}
