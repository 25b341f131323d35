// Tells workflows how their prompts ended. A notification is written in the transaction that ends the submission and sent
// until the platform has taken it: at least once, each on its own schedule, so that one that cannot be delivered delays no
// other. The workflow takes the first.
import type { SubmissionValue } from "../../feature/submission-types.ts";
import { beforeDeadline } from "../../host/deadline.ts";
import type { Clock, Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { EventPayloads, EventType } from "../../observe/events.ts";
import { backoffMs } from "../../util/backoff.ts";
import { byteLength } from "../../util/bytes.ts";
import { errorMessage } from "../../util/errors.ts";
import { parseJson } from "../../util/json.ts";
import type { SubmissionEnd } from "./submission.ts";
import type { WorkflowPrompt } from "./workflow-prompt.ts";

/** Bytes of an output that travel with the event; a larger one is fetched by the workflow. */
export const EVENT_OUTPUT_BYTES = 256 * 1024;
/** How long a notification is tried, and how long one that was delivered is remembered. */
export const OUTBOX_AGE_MS = 7 * 24 * 3_600_000;
/** Notifications in one pass. */
const BATCH = 25;
/** A platform that has not answered by then is asked again later. The others of its pass wait no longer for it. */
const SEND_MS = 30_000;
const BACKOFF = { baseMs: 1_000, maxMs: 5 * 60_000 };
/** What the platform says of an instance that takes no event any more. */
const IS_OVER =
  /not[._ ]?found|does not exist|no such|finite|finished|already.*(?:complete|end)|terminated|is complete|errored/i;

export const OUTBOX_TABLES: readonly TableDefinition[] = [
  // Bound: one row per prompt of a workflow. Deleted: OUTBOX_AGE_MS after it was delivered, or given up.
  {
    name: "cf_workflow_outbox",
    create: [
      `CREATE TABLE cf_workflow_outbox (
        id TEXT PRIMARY KEY,
        workflow TEXT NOT NULL,
        workflow_id TEXT NOT NULL,
        event_type TEXT NOT NULL,
        payload TEXT,
        attempts INTEGER NOT NULL,
        next_at INTEGER,
        created_at INTEGER NOT NULL,
        delivered_at INTEGER,
        last_error TEXT
      ) WITHOUT ROWID`
    ]
  }
];

interface OutboxRow {
  readonly id: string;
  readonly workflow: string;
  readonly workflow_id: string;
  readonly event_type: string;
  readonly payload: string | null;
  readonly attempts: number;
  readonly created_at: number;
}

/** What the workflow's step is given. */
export interface PromptNotification {
  readonly submissionId: string;
  readonly status: SubmissionEnd["status"];
  readonly output?: SubmissionValue;
  /** The output is too large for an event: `inspectSubmission` has it. */
  readonly outputIsKept?: true;
  readonly error?: string;
}

export interface PromptOutboxInit {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly send: (workflow: string, workflowId: string, event: { type: string; payload: unknown }) => Promise<void>;
  readonly emit: <Type extends EventType>(type: Type, payload: EventPayloads[Type]) => void;
  readonly rearm: () => void;
  readonly background: (work: Promise<unknown>) => void;
}

export class PromptOutbox {
  readonly #init: PromptOutboxInit;
  readonly #table: TableSet;
  #delivering: Promise<void> | undefined;

  constructor(init: PromptOutboxInit) {
    this.#init = init;
    this.#table = new TableSet(init.sql, OUTBOX_TABLES);
  }

  /** Part of the transaction that ends the submission. */
  add({ workflow }: WorkflowPrompt, submissionId: string, end: SubmissionEnd): void {
    this.send(workflow, { id: submissionId, payload: payloadOf(submissionId, end) });
  }

  /** Part of the transaction that the notification is about. Each `id` and event is sent once. */
  send({ name, id, eventType }: WorkflowPrompt["workflow"], about: { id: string; payload: string }): void {
    const now = this.#init.clock.now();
    this.#table.run(
      `INSERT OR IGNORE INTO cf_workflow_outbox (id, workflow, workflow_id, event_type, payload, attempts, next_at, created_at)
       VALUES (?, ?, ?, ?, ?, 0, ?, ?)`,
      ...[`${about.id}:${eventType}`, name, id, eventType, about.payload, now, now]
    );
    this.#init.sql.afterTransaction({ committed: () => this.deliver() });
  }

  /** Null while nothing is undelivered: what is only remembered needs no wake. */
  nextWake(nowMs: number): number | null {
    const query = "SELECT min(next_at) AS at FROM cf_workflow_outbox WHERE next_at IS NOT NULL";
    const at = this.#table.one<{ at: number | null }>(query)?.at ?? null;
    // The wake is for a process that dies meanwhile: a pass that ends sets it anew.
    return at !== null && this.#delivering ? Math.max(at, nowMs + SEND_MS) : at;
  }

  /** Sends what is due. Passes do not overlap. */
  deliver(): void {
    if (!this.#table.exists || this.#delivering) return;
    this.#delivering = this.#pass().finally(() => {
      this.#delivering = undefined;
      this.#init.rearm();
    });
    this.#init.background(this.#delivering);
  }

  async #pass(): Promise<void> {
    const { clock } = this.#init;
    this.#table.change("DELETE FROM cf_workflow_outbox WHERE delivered_at < ?", clock.now() - OUTBOX_AGE_MS);
    for (;;) {
      const rows = this.#table.all<OutboxRow>(
        "SELECT * FROM cf_workflow_outbox WHERE next_at <= ? ORDER BY created_at, id LIMIT ?",
        clock.now(),
        BATCH
      );
      if (rows.length === 0) return;
      // Each moves its own time on, so the next page has others.
      await Promise.all(rows.map((row) => this.#send(row)));
    }
  }

  async #send(row: OutboxRow): Promise<void> {
    const { clock, send, emit } = this.#init;
    const payload = row.payload === null ? undefined : parseJson(row.payload);
    try {
      const event = { type: row.event_type, payload: payload?.ok ? payload.value : null };
      const late = () => new Error(`The platform has not answered for ${SEND_MS} ms.`);
      await beforeDeadline(send(row.workflow, row.workflow_id, event), { clock, timeoutMs: SEND_MS, late });
      this.#end(row, null);
    } catch (error) {
      const message = errorMessage(error);
      if (!IS_OVER.test(message) && clock.now() - row.created_at < OUTBOX_AGE_MS) return this.#postpone(row, message);
      this.#end(row, message);
      const [submissionId = ""] = row.id.split(`:${row.event_type}`);
      emit("workflow:notification:dropped", { workflowId: row.workflow_id, submissionId, error: message });
      console.error(`A workflow could not be told how its prompt ended: ${message}`);
    }
  }

  #postpone({ id, attempts }: OutboxRow, error: string): void {
    this.#table.change(
      "UPDATE cf_workflow_outbox SET attempts = attempts + 1, next_at = ?, last_error = ? WHERE id = ?",
      ...[this.#init.clock.now() + backoffMs(Math.min(attempts, 8), BACKOFF), error.slice(0, 1_000), id]
    );
  }

  /** Its payload is not needed any more. */
  #end({ id }: OutboxRow, error: string | null): void {
    this.#table.change(
      "UPDATE cf_workflow_outbox SET delivered_at = ?, next_at = NULL, payload = NULL, last_error = ? WHERE id = ?",
      ...[this.#init.clock.now(), error?.slice(0, 1_000) ?? null, id]
    );
  }
}

function payloadOf(submissionId: string, { status, output, error }: SubmissionEnd): string {
  const notification: PromptNotification = { submissionId, status, ...(error !== null && { error }) };
  const whole = JSON.stringify(output === undefined ? notification : { ...notification, output });
  return byteLength(whole) <= EVENT_OUTPUT_BYTES ? whole : JSON.stringify({ ...notification, outputIsKept: true });
}
