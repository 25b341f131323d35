// A fiber as its owner sees it and as it is stored. Reading never throws: JSON that makes no sense reads as absent.
import { isObject, parseJson } from "../../util/json.ts";

export type FiberStatus = "pending" | "running" | "completed" | "error" | "aborted" | "interrupted";

export type FiberMetadata = Record<string, unknown>;

/** A managed fiber's record. Times in milliseconds; what does not apply is absent. */
export interface FiberInspection {
  fiberId: string;
  name: string;
  idempotencyKey?: string;
  status: FiberStatus;
  snapshot?: unknown;
  error?: string;
  metadata?: FiberMetadata;
  createdAt: number;
  startedAt?: number;
  settledAt?: number;
}

/** What the function of a fiber is given. */
export interface FiberContext {
  readonly id: string;
  /** Fires when a managed fiber is cancelled; never for an unmanaged one. */
  readonly signal: AbortSignal;
  /** Stores a checkpoint at once, replacing the previous one. JSON, at most 1.9 MB. */
  stash(data: unknown): void;
  /** A fresh run has no checkpoint; recovery gets the last one. */
  readonly snapshot: null;
}

/** What a recovery hook gets about a fiber that the end of the process interrupted. */
export interface FiberRecoveryContext {
  id: string;
  name: string;
  /** The last stash, or null. */
  snapshot: unknown;
  createdAt: number;
  recoveryReason: "interrupted";
  /** Managed fibers only. */
  status?: FiberStatus;
  idempotencyKey?: string;
  metadata?: FiberMetadata;
}

/** How an interrupted managed fiber ends after all: returned by the recovery hook or given to `resolveFiber`. */
export type FiberRecoveryResult =
  | { status: "completed"; snapshot?: unknown; metadata?: FiberMetadata }
  | { status: "error"; snapshot?: unknown; error?: string }
  | { status: "aborted"; snapshot?: unknown; reason?: string }
  | { status: "interrupted"; snapshot?: unknown; reason?: string };

export interface FiberRow {
  seq: number;
  id: string;
  idempotency_key: string | null;
  name: string;
  managed: number;
  status: FiberStatus;
  snapshot: string | null;
  metadata: string | null;
  error: string | null;
  on_interrupted: string | null;
  created_at: number;
  started_at: number | null;
  settled_at: number | null;
  /** The fiber whose recovery hook started this one. */
  replaces: string | null;
  /** Key of its durable work; null in rows of older builds. */
  work: string | null;
  /** Calls that its durable work had made at the last checkpoint. */
  calls: number;
}

/** Final for a caller that waits. `interrupted` can still be resolved, at an unknown time. */
export function isEndedStatus(status: FiberStatus): boolean {
  return status !== "pending" && status !== "running";
}

export function toInspection(row: FiberRow): FiberInspection {
  const snapshot = row.snapshot === null ? undefined : parseJson(row.snapshot);
  const metadata = readMetadata(row);
  return {
    fiberId: row.id,
    name: row.name,
    ...(row.idempotency_key === null ? {} : { idempotencyKey: row.idempotency_key }),
    status: row.status,
    ...(snapshot?.ok ? { snapshot: snapshot.value } : {}),
    ...(row.error === null ? {} : { error: row.error }),
    ...(metadata === undefined ? {} : { metadata }),
    createdAt: row.created_at,
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.settled_at === null ? {} : { settledAt: row.settled_at })
  };
}

export function readMetadata(row: FiberRow): FiberMetadata | undefined {
  if (row.metadata === null) return undefined;
  const parsed = parseJson(row.metadata);
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
}

/** Whether what a user's hook returned is a result; anything else counts as nothing returned. */
export function isFiberResult(value: unknown): value is FiberRecoveryResult {
  if (!isObject(value)) return false;
  const { status } = value;
  return status === "completed" || status === "error" || status === "aborted" || status === "interrupted";
}
