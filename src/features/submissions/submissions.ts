// Turns that are accepted now and run later. Guarantees that what it accepted reaches exactly one end, in the order of
// acceptance, and that the end is written in the transaction that ends the turn. A submission waits as one row; when its
// time comes it is admitted like every other turn, under its own id, and the engine does the rest, recovery included.
import type { SubmitMessagesOptions, SubmitMessagesResult } from "../../feature/submission-types.ts";
import type {
  SubmissionValue,
  ThinkSubmissionInspection,
  ThinkSubmissionStatus
} from "../../feature/submission-types.ts";
import type { UIMessage } from "ai";
import { currentDurable } from "../../agent/context.ts";
import type { ChatServices } from "../../feature/services.ts";
import { happensWithin } from "../../host/deadline.ts";
import type { Connection } from "../../host/connection.ts";
import type { TurnFold } from "../../journal/folds/turn-fold.ts";
import type { TurnArchive, TurnHistory } from "../../journal/history.ts";
import { encodeTurn } from "../../journal/turn-row.ts";
import { outsideTurns } from "../../turn/nesting.ts";
import { SUPERSEDED } from "../../turn/turn.ts";
import { backoffMs } from "../../util/backoff.ts";
import { isUsableId } from "../../util/ids.ts";
import { isObject, parseJson } from "../../util/json.ts";
import { err } from "../../util/result.ts";
import type { SubmissionMembers } from "./capability.ts";
import { SubmissionQueueFullError, submissionErrors } from "./errors.ts";
import { decodeRequest, encodeMetadata, encodeRequest, requestFingerprint, type SubmissionRequest } from "./request.ts";
import { StatusCalls } from "./status-calls.ts";
import {
  submissionEnd,
  openStatus,
  reasonText,
  SKIPPED_ERROR,
  TERMINAL,
  UNNAMED_CANCEL,
  type SubmissionEnd,
  type TerminalStatus
} from "./submission.ts";
import { durableName, keyName, keyOf, SubmissionTable, type SubmissionRow } from "./submission-table.ts";

/** Submissions that may wait in one agent. */
export const MAX_WAITING = 10_000;
/** Before a failed drain is tried again. */
const DRAIN_BACKOFF = { baseMs: 1_000, maxMs: 5 * 60_000 };
/** Characters of an id, and of a key. */
const MAX_NAME_CHARS = 1_024;
/** Rows that one sweep of old submissions deletes. */
const SWEEP_LIMIT = 500;

export interface ListSubmissionsOptions {
  status?: ThinkSubmissionStatus | ThinkSubmissionStatus[];
  /** Default 50, at most 100. */
  limit?: number;
}

export interface DeleteSubmissionsOptions {
  /** Default: all that are final. Others are never deleted. */
  status?: ThinkSubmissionStatus | ThinkSubmissionStatus[];
  completedBefore?: Date;
  /** Default 100, at most 500. */
  limit?: number;
}

export interface CancelSubmissionResult {
  outcome: "cancelled" | "already_terminal" | "not_found";
  previousStatus?: ThinkSubmissionStatus;
  /** Whether its messages had joined the conversation. */
  messagesApplied?: boolean;
  submission?: ThinkSubmissionInspection;
}

/** Submissions that a client is sent when it connects. */
const SENT_ON_CONNECT = 20;

/** An ended submission, as its row keeps what was asked for. */
export interface EndedSubmission {
  readonly id: string;
  readonly metadata: string | null;
}

export class Submissions implements TurnArchive {
  /** Called in the transaction that ends a submission. */
  onEnd: (submission: EndedSubmission, end: SubmissionEnd) => void = () => undefined;
  readonly statusCalls: StatusCalls;
  readonly #services: ChatServices;
  readonly #table: SubmissionTable;
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  /** Their cancel is announced, and their turn is not over. */
  readonly #cancelled = new Set<string>();
  #isReady = false;
  #failures = 0;

  constructor(services: ChatServices) {
    this.#services = services;
    const { sql, blobs, ids } = services;
    this.#table = new SubmissionTable({ sql, blobs, newId: () => ids.next() });
    this.statusCalls = new StatusCalls(services, (id) => this.inspect(id));
  }

  // ── Acceptance ──

  async submit(messages: readonly UIMessage[], options: SubmitMessagesOptions = {}): Promise<SubmitMessagesResult> {
    if (messages.length === 0) throw submissionErrors.EmptySubmissionError();
    const { row, accepted, conflict } = this.#accept(messages, options);
    if (!accepted) {
      // A retry is also a wake-up.
      this.drain();
      return { ...this.#inspect(row), accepted: false, conflict };
    }
    // Durable before user code runs: the process may die in the hook.
    this.#services.rearm();
    const { submissionId, idempotencyKey } = accepted;
    const key = idempotencyKey === undefined ? {} : { idempotencyKey };
    this.#services.emit("submission:create", { submissionId, requestId: submissionId, ...key });
    this.#show(accepted);
    await this.statusCalls.ended(accepted);
    this.drain();
    return { ...accepted, accepted: true };
  }

  #accept(messages: readonly UIMessage[], options: SubmitMessagesOptions) {
    const { submissionId: givenId, idempotencyKey, metadata, channel, body } = options;
    checkName(givenId, "submissionId");
    checkName(idempotencyKey, "idempotencyKey");
    const request: SubmissionRequest = { messages, body, channel };
    const encoded = { request: encodeRequest(request), metadata: encodeMetadata(metadata) };
    const fingerprint = requestFingerprint(request);
    const name = this.#nameOf(idempotencyKey, givenId);
    return this.#table.transaction(() => {
      const found = this.#find(givenId, name);
      if (found) return { row: found, conflict: found.fingerprint !== fingerprint || undefined };
      if (this.#table.waitingAtMost() >= MAX_WAITING) throw new SubmissionQueueFullError(MAX_WAITING);
      const createdAt = this.#services.clock.now();
      const row = this.#table.insert({ givenId, keyName: name, fingerprint, ...encoded, createdAt });
      const accepted = this.#inspect(row);
      this.statusCalls.add(accepted);
      return { row, accepted };
    });
  }

  /** Synchronous with the call: the order of the calls is what tells them apart. */
  #nameOf(key: string | undefined, givenId: string | undefined): string | undefined {
    if (key !== undefined) return keyName(key);
    const durable = givenId === undefined ? currentDurable()?.work.nextKey() : undefined;
    return durable === undefined ? undefined : durableName(durable);
  }

  /** Throws SubmissionMismatchError. */
  #find(givenId: string | undefined, name: string | undefined): SubmissionRow | undefined {
    const byId = givenId === undefined ? undefined : this.#table.byId(givenId);
    const byName = name === undefined ? undefined : this.#table.byName(name);
    if (givenId === undefined || name === undefined) return byId ?? byName;
    const isOther = byId !== undefined && byId.key_name !== null && byId.key_name !== name;
    if (isOther || (byName !== undefined && byName.id !== givenId)) throw submissionErrors.SubmissionMismatchError();
    return byId;
  }

  // ── Reading ──

  inspect(id: string): ThinkSubmissionInspection | null {
    const row = this.#table.byId(id);
    return row ? this.#inspect(row) : null;
  }

  /** What an earlier call under this key left, while it is kept. */
  inspectByKey(key: string): ThinkSubmissionInspection | null {
    const row = this.#table.byName(keyName(key));
    return row ? this.#inspect(row) : null;
  }

  list({ status, limit = 50 }: ListSubmissionsOptions = {}): ThinkSubmissionInspection[] {
    const wanted = status === undefined ? undefined : new Set([status].flat());
    const count = clamp(limit, 100);
    const found: ThinkSubmissionInspection[] = [];
    const size = wanted ? 100 : count;
    for (let before = Number.MAX_SAFE_INTEGER; found.length < count;) {
      const page = this.#table.page(before, size);
      for (const row of page) {
        // Outputs may be large: only those that are returned are read.
        const isWanted = !wanted || wanted.has(row.status ?? this.#statusFields(row).status);
        if (isWanted && found.length < count) found.push(this.#inspect(row));
      }
      const last = page.at(-1);
      if (last === undefined || page.length < size) break;
      before = last.seq;
    }
    return found;
  }

  get hasAny(): boolean {
    return !this.#table.isEmpty;
  }

  /** Resolves with the submission once it is over, or as it is after `timeoutMs`; null if it is not known. */
  async wait(id: string, { timeoutMs }: { timeoutMs?: number } = {}): Promise<ThinkSubmissionInspection | null> {
    const known = this.inspect(id);
    if (known === null || isFinal(known)) return known;
    const waiter = this.#waiting.get(id) ?? Promise.withResolvers<void>();
    this.#waiting.set(id, waiter);
    if (timeoutMs === undefined) await waiter.promise;
    else await happensWithin(timeoutMs, waiter.promise, this.#services.clock);
    return this.inspect(id);
  }

  /** Reads the metadata of a submission, as JSON; null: it has none, or is not known. */
  metadataOf(id: string): string | null {
    return this.#table.byId(id)?.metadata ?? null;
  }

  // ── Ending ──

  cancel(id: string, reason?: unknown): CancelSubmissionResult {
    const row = this.#table.byId(id);
    if (!row) return { outcome: "not_found" };
    const { status: previousStatus } = this.#inspect(row);
    const fold = this.#services.turns.openSubmission(id);
    const messagesApplied = fold ? fold.attempt > 0 : row.started_at !== null;
    const known = { previousStatus, messagesApplied };
    if (previousStatus === "running") this.#cancelRunning(id, reason);
    else if (previousStatus === "pending") this.#end(row, "aborted", reasonText(reason));
    else return { outcome: "already_terminal", ...known, submission: this.#inspect(row) };
    const submission = this.inspect(id);
    return { outcome: "cancelled", ...known, submission: submission ?? undefined };
  }

  #cancelRunning(id: string, reason: unknown): void {
    this.#services.sql.transaction(() => {
      this.#services.turns.cancel(id, reasonText(reason) ?? UNNAMED_CANCEL);
      this.#changed(id);
      this.#services.sql.afterTransaction({ committed: () => this.#cancelled.add(id) });
    });
  }

  /** The conversation is cleared or reset: what waits never runs. Part of that transaction, which has ended open turns. */
  skipWaiting(): void {
    for (const row of this.#table.unended()) this.#end(row, "skipped", SKIPPED_ERROR);
  }

  /** Of a submission without a turn. */
  #end(row: SubmissionRow, status: TerminalStatus, error: string | null = null): void {
    const at = this.#services.clock.now();
    const end = { status, at, error, startedAt: null, messageId: null, output: undefined };
    this.#services.sql.transaction(() => {
      if (!this.#table.end(row, end)) return;
      this.onEnd(row, end);
      this.#afterEnd(row);
    });
  }

  /** Its turn is being settled, in this transaction. */
  settled(turn: TurnFold, { requestId, history }: { requestId: string; history: TurnHistory }): boolean {
    const { steered, outcome, admission } = turn;
    const trigger = steered?.rootTrigger ?? admission?.trigger ?? "submission";
    // Another turn took over, or goes on with the words of this one: its end is the submission's.
    const goesOn = outcome?.steeredBy !== undefined || (steered && outcome?.reason === SUPERSEDED);
    if (trigger !== "submission" || goesOn) return false;
    const row = this.#table.isEmpty ? undefined : this.#table.byId(steered?.rootRequestId ?? requestId);
    const end = row && submissionEnd(turn);
    if (!row || !end || row.settled_at !== null) return false;
    this.#table.end(row, end, { sequence: turn.lastSequence, history: encodeTurn(history) });
    this.onEnd(row, end);
    this.#afterEnd(row);
    return true;
  }

  #afterEnd({ id }: SubmissionRow): void {
    if (!this.#cancelled.has(id)) this.#changed(id);
    this.#services.sql.afterTransaction({
      committed: () => {
        this.#cancelled.delete(id);
        // In its own tick: the turn that ends is still being put away.
        queueMicrotask(() => this.drain());
      }
    });
  }

  delete(id: string): boolean {
    const row = this.#table.byId(id);
    if (!row || row.settled_at === null) return false;
    this.#table.transaction(() => this.#table.remove(row));
    return true;
  }

  deleteAll({ status, completedBefore, limit = 100 }: DeleteSubmissionsOptions = {}): number {
    const wanted = status === undefined ? TERMINAL : [status].flat().filter(isTerminal);
    const before = completedBefore?.getTime() ?? Number.MAX_SAFE_INTEGER;
    return this.#table.transaction(() => {
      const rows = this.#table.ended({ statuses: wanted, before, limit: clamp(limit, 500) });
      for (const row of rows) this.#table.remove(row);
      return rows.length;
    });
  }

  // ── Running ──

  /** The agent is up: goes on with what waits, and forgets what is too old. */
  ready(): void {
    this.#isReady = true;
    this.statusCalls.work.ready();
    // Only agents with these members open it.
    const retentionMs: unknown = (this.#services.agent as SubmissionMembers).submissionRetentionMs;
    if (typeof retentionMs === "number" && retentionMs > 0 && !this.#table.isEmpty) {
      this.deleteAll({ completedBefore: new Date(this.#services.clock.now() - retentionMs), limit: SWEEP_LIMIT });
    }
    this.drain();
  }

  /** While one waits that no open turn will lead to. */
  nextWake(nowMs: number): number | null {
    if (this.#table.isEmpty) return null;
    const first = this.#table.first();
    if (!first || this.#services.turns.isOpen(first.id)) return null;
    return nowMs + backoffMs(this.#failures, DRAIN_BACKOFF);
  }

  /** Admits the oldest submission that waits, unless one before it is not over. Its end comes back here. */
  drain(): void {
    if (!this.#isReady || this.#table.isEmpty) return;
    try {
      // Also when a turn causes this: the submission's turn is not part of that one.
      outsideTurns(() => this.#claimNext());
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      console.error("A submission could not be started; it is tried again.", error);
      this.#services.rearm();
    }
  }

  #claimNext(): void {
    for (;;) {
      const row = this.#table.first();
      if (!row || this.#services.turns.isOpen(row.id) || this.statusCalls.isAwaited(this.#inspect(row))) return;
      const stored = this.#table.request(row.seq);
      const request = stored.ok ? decodeRequest(stored.value) : err(stored.error);
      if (request.ok) return this.#claim(row, request.value);
      this.#end(row, "error", `The stored submission cannot be read: ${request.error}.`);
    }
  }

  #claim({ id }: SubmissionRow, { messages, body, channel }: SubmissionRequest): void {
    const { turns, sql } = this.#services;
    const { clientTools } = turns;
    const given = body ?? turns.body;
    sql.transaction(() => {
      turns.admit({ requestId: id, trigger: "submission", input: messages, body: given, channel, clientTools });
      this.#changed(id);
    });
  }

  // ── The turn history of submissions ──

  readonly turns: TurnArchive["turns"] = (after, limit) => this.#table.turns(after, limit);
  readonly turnsBefore: TurnArchive["turnsBefore"] = (before, limit) => this.#table.turnsBefore(before, limit);
  readonly newest: TurnArchive["newest"] = (limit) => this.#table.newestTurns(limit);

  // ── Showing ──

  /** Sends a client that connects the newest submissions. */
  connected(connection: Connection): void {
    if (this.hasAny) connection.send(JSON.stringify(submissionsFrame(this.list({ limit: SENT_ON_CONNECT }))));
  }

  #inspect(row: SubmissionRow): ThinkSubmissionInspection {
    const idempotencyKey = keyOf(row);
    const stored = row.metadata === null ? undefined : parseJson(row.metadata);
    // What was stored is JSON.
    const metadata =
      stored?.ok && isObject(stored.value) ? (stored.value as Record<string, SubmissionValue>) : undefined;
    return {
      submissionId: row.id,
      idempotencyKey,
      requestId: row.id,
      ...this.#statusFields(row),
      metadata,
      createdAt: row.created_at
    };
  }

  #statusFields(row: SubmissionRow): Omit<ThinkSubmissionInspection, "submissionId" | "createdAt"> {
    if (row.settled_at === null || row.status === null) {
      const fold = this.#services.turns.openSubmission(row.id);
      return fold ? openStatus(fold) : { status: "pending" };
    }
    const output = row.output === null ? undefined : this.#table.output(row);
    return {
      status: row.status,
      completedAt: row.settled_at,
      error: row.error ?? undefined,
      startedAt: row.started_at ?? undefined,
      messageId: row.message_id ?? undefined,
      output: output?.ok ? (output.value as SubmissionValue) : undefined
    };
  }

  /** Part of the transaction that changes the status. */
  #changed(id: string): void {
    const submission = this.inspect(id);
    if (!submission) return;
    this.statusCalls.add(submission);
    this.#services.sql.afterTransaction({ committed: () => this.#announce(submission) });
  }

  #announce(submission: ThinkSubmissionInspection): void {
    const { submissionId, status, error } = submission;
    const of = { submissionId, requestId: submissionId };
    this.#services.emit("submission:status", { ...of, status });
    this.#show(submission);
    if (status === "error") this.#services.emit("submission:error", { ...of, error: error ?? "" });
    if (!isFinal(submission)) return;
    this.#waiting.get(submissionId)?.resolve();
    this.#waiting.delete(submissionId);
  }

  /** Sends clients that follow the protocol how a submission is. */
  #show(submission: ThinkSubmissionInspection): void {
    this.#services.broadcast(submissionsFrame([submission]));
  }
}

function isTerminal(status: ThinkSubmissionStatus): status is TerminalStatus {
  return status !== "pending" && status !== "running";
}

function isFinal({ status }: ThinkSubmissionInspection): boolean {
  return isTerminal(status);
}

function clamp(value: number, max: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(Math.trunc(value), 1), max) : max;
}

/** Throws InvalidSubmissionError: names may come over RPC, untyped. */
function checkName(name: unknown, what: string): void {
  if (name === undefined) return;
  if (typeof name !== "string" || name.trim() === "")
    throw submissionErrors.InvalidSubmissionError(`its ${what} is blank, or not a text`);
  if (name.length > MAX_NAME_CHARS)
    throw submissionErrors.InvalidSubmissionError(`its ${what} has more than ${MAX_NAME_CHARS} characters`);
  if (what === "submissionId" && !isUsableId(name))
    throw submissionErrors.InvalidSubmissionError(`its ${what} cannot be used`);
}

/** What a client is sent of them: not the key, the metadata or the output, which are the submitter's. */
function submissionsFrame(submissions: readonly ThinkSubmissionInspection[]): object {
  const shown = submissions.map(
    ({ idempotencyKey: _key, metadata: _metadata, output: _output, requestId: _requestId, ...submission }) => submission
  );
  return { type: "cf_agent_submissions", submissions: shown };
}
