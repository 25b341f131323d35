// What the rest of the package may ask of the platform. Two hosts answer: workerd, and the in-process one used by
// tests. Nothing above this folder sees a Durable Object, so a test can stop the world at any of these calls.

import type { Catalog } from "./table-set.ts";
import type { TransactionEnd } from "./transactions.ts";

export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = Record<string, SqlValue>;

/** Synchronous SQLite. One call is one statement. */
export interface Sql {
  all<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row[];
  one<Row extends object = SqlRow>(query: string, ...values: SqlValue[]): Row | undefined;
  /** Runs a statement for its effect. `changed` asks SQLite on access: read it before the next statement. */
  run(query: string, ...values: SqlValue[]): { readonly changed: number };
  /** All or nothing; nests. The callback must not await. */
  transaction<T>(work: () => T): T;
  /** `end` is called when the outermost transaction that is open now has ended, also one of user code; at once without one. */
  afterTransaction(end: TransactionEnd): void;
  /** Transactions that were undone so far, of this package or of user code, at any depth. See `Cached`. */
  readonly rollbacks: number;
  /** Which tables exist. */
  readonly catalog: Catalog;
}

/** The object's single platform alarm. Facets have none; theirs is kept by the root (see `wakes.ts`). */
export interface Alarm {
  read(): Promise<number | null>;
  set(atMs: number | null): void;
}

/** A hibernating WebSocket. Everything it must remember lives in its attachment. */
export interface Socket<Attachment> {
  readonly attachment: Attachment;
  setAttachment(next: Attachment): void;
  /** False when the socket is gone. Never throws. */
  send(data: string | ArrayBuffer | ArrayBufferView): boolean;
  close(code?: number, reason?: string): void;
  readonly isOpen: boolean;
}

export interface Sockets<Attachment> {
  /** Accepts an upgrade; the response carries the client's end. */
  accept(attachment: Attachment): { socket: Socket<Attachment>; response: Response };
  /** Accepts an upgrade only to say why the client is not let in. */
  refuse(end: { readonly code: number; readonly reason: string; readonly frame?: string }): Response;
  /** Open sockets in order of acceptance. The same socket is the same object within one activation. */
  list(): Socket<Attachment>[];
  /** The port's view of a platform socket handed to an entry point, or undefined for a socket we did not accept. */
  adopt(platformSocket: WebSocket): Socket<Attachment> | undefined;
}

/** Child objects with their own storage, addressed by a key unique below this object. */
export interface Facets {
  /** A stub of the child; `props` reach its constructor if this call has to start it. Throws FacetError. */
  get(key: string, className: string, props: () => Record<string, unknown>): FacetStub;
  abort(key: string, reason: Error): void;
  /** Wipes the child and its descendants. A child that never existed is not an error. */
  delete(key: string): void;
}

/** Calls on a stub cross an object boundary: arguments and results are copied. */
export interface FacetStub {
  fetch(request: Request): Promise<Response>;
  [method: string]: (...args: never[]) => Promise<unknown>;
}

export interface Clock {
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason if it fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Ids {
  /** A fresh, unguessable id of 21 URL-safe characters. */
  next(): string;
  /** Uniform in [0, 1). Seeded in tests. */
  random(): number;
}
