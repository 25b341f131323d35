// Work that must happen although the process may die: what a kind of it is.
//
// An item waits, is claimed, and is settled. Two sentences hold whatever runs, dies, wakes or cancels meanwhile:
//   a claimed item is never due;
//   a settled item is never run.
// A claim is counted and stored before the run, so that work which kills the process is known as such. What a run reports is
// taken only from the newest claim of its item.
import type { ReplacedTable } from "../host/table-set.ts";
import type { Backoff } from "../util/backoff.ts";
import type { Result } from "../util/result.ts";

export interface Codec<Payload> {
  /** A value that JSON can hold. */
  encode(payload: Payload): unknown;
  /** An error: what is stored is not a payload. The item is set aside, and costs only itself. */
  decode(stored: unknown): Result<Payload, string>;
}

/** What becomes of a run that throws, and of an item whose process died. */
export interface RetryPolicy {
  /** The pause after a failure; it grows with failures in a row. */
  readonly backoff: Backoff;
  /** The pause after deaths in a row that are no bad luck any more, and after interruptions. Default: `backoff`. */
  readonly afterDeaths?: Backoff;
  /** Runs that may fail, the first included. Default: any number. */
  readonly maxAttempts?: number;
  /** After its first failure or death; then an item that fails again is settled. Default: for ever. */
  readonly maxAgeMs?: number;
  /** Deaths in a row that are taken for bad luck; later ones wait as failures do. Default 3. */
  readonly quickRestarts?: number;
  /** The least pause after this failure, whatever the back-off says: a time that the other side asked for. */
  readonly pauseMs?: (error: unknown) => number;
  /** While an item pauses after deaths, the others of its lane go on. */
  readonly asideAfterDeaths?: true;
  /** Whether trying again is pointless. */
  readonly isFinal?: (error: unknown) => boolean;
  /**
   * Whether the platform ended the run, not the work: it counts as a death, failures are counted anew, and the others of its
   * lane go on meanwhile.
   */
  readonly isInterruption?: (error: unknown) => boolean;
}

export interface WorkItem<Payload> {
  readonly key: string;
  readonly lane: string | null;
  readonly payload: Payload;
  readonly createdAt: number;
  /** Claims of it, this one included. */
  readonly claim: number;
  /** Claims in a row whose end is not known, this one included: above 1 a process died in it. */
  readonly starts: number;
  /** Runs in a row that failed. */
  readonly failures: number;
  /** Since when it fails or its process dies, in a row. */
  readonly troubledSince: number | null;
}

/** In what state an item is. "parked": it waits for `schedule`. "dead": it was given up, and is kept to be looked at. */
export type WorkState = "waiting" | "claimed" | "parked" | "settled" | "dead";

/** An item as it is stored. */
export interface WorkView<Payload> extends WorkItem<Payload> {
  readonly state: WorkState;
  readonly dueAt: number | null;
  readonly settledAt: number | null;
  /** Of the last run that failed. */
  readonly error: string | null;
}

export type RunEnd<Payload = unknown> = {
  /** Called when the end is stored; also when the item was cancelled meanwhile. Must not throw. */
  readonly afterwards?: () => void;
  /** Part of the transaction that stores the end; not called if the item was cancelled. A throw undoes both. */
  readonly also?: () => void;
} & (
  | { readonly end: "settled" }
  /** As after its last failure, without being one. */
  | { readonly end: "given-up"; readonly error: unknown }
  /**
   * Not before this time; null: parked until `schedule`. `aside`: the others of its lane do not wait for it. `payload` replaces the
   * one it has.
   */
  | { readonly end: "postponed"; readonly until: number | null; readonly aside?: boolean; readonly payload?: Payload }
);

export const SETTLED: RunEnd<never> = { end: "settled" };

/**
 * What a start does with a claim whose process died. "again": as the policy says. `at`: not before this time, until the policy
 * gives it up. "park": the kind asks, and `schedule`s the item with the answer.
 */
export type AfterDeath = "again" | "settle" | "park" | { readonly at: number };

export interface WorkKind<Payload> {
  /** Stored with each item: never changed. */
  readonly name: string;
  /** Tables of older builds whose rows are items of this kind now. Each move keeps the layout of cf_work that it was written for. */
  readonly replaces?: readonly ReplacedTable[];
  readonly codec: Codec<Payload>;
  readonly retry: RetryPolicy;
  /** Of an item that has a policy of its own. */
  retryOf?(item: WorkItem<Payload>): RetryPolicy;
  /**
   * Items are claimed by `runDue` only, inside a wake that lasts as long as their runs: the platform repeats a wake in which
   * the process dies, so that a run needs none of its own. What the platform ends stays claimed until the next `start`.
   */
  readonly byWake?: true;
  /** When a claim ends by itself, and its run may be repeated. Without one it lasts as long as the process. */
  readonly leaseMs?: number;
  /** Items of one lane run one after the other, in the order in which they were added. Without lanes: all at once. */
  readonly hasLanes?: true;
  /** Runs at a time. */
  readonly concurrency: number;
  /** A run that has taken longer leaves its place among those to the next item. */
  readonly slowMs?: number;
  /** How long a settled item is known, so that it is not added again. 0: it is deleted as it is settled. */
  readonly retentionMs: number;
  /** A settled item keeps its payload. */
  readonly keepsPayload?: true;
  /** Items that were given up are kept with their payload: so many, the newest. Default: they are settled like others. */
  readonly deadLetters?: number;
  /** Does the work. A throw is a failure. The signal is aborted when the item is cancelled or the agent destroyed. */
  run(item: WorkItem<Payload>, signal: AbortSignal): Promise<RunEnd<Payload>>;
  /** Called in the transaction that gives an item up: its last failure, or too many deaths. */
  givenUp?(item: WorkItem<Payload>, error: unknown): void;
  /** Default: "again". */
  interrupted?(item: WorkItem<Payload>, claimedAt: number): AfterDeath;
  /** Called in the transaction that sets an item aside which cannot be read. `stored`: what its payload says as JSON. */
  unreadable?(item: {
    readonly key: string;
    readonly lane: string | null;
    readonly stored: unknown;
    readonly error: string;
  }): void;
}

export interface NewItem<Payload> {
  /** Unique in its kind: a second one is nothing, as long as the first is known. */
  readonly key: string;
  readonly payload: Payload;
  /** Default: now. Null: parked until `schedule`. */
  readonly dueAt?: number | null;
  /** Items without one share a lane. Of a kind without lanes it is only what items are listed by. */
  readonly lane?: string;
}

export interface Listed {
  /** Default: whatever their state. */
  readonly states?: readonly WorkState[];
  readonly lane?: string;
}
