// Questions of workflows that a human decides. A question waits as a row; the decision and the notification of the workflow
// are one transaction, and the first decision stays. Who may decide is asked before.
import { createHash } from "node:crypto";
import type { Clock, Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { canonicalJson, isObject, parseJson } from "../../util/json.ts";
import type { PromptOutbox } from "./prompt-outbox.ts";

/** How long a decided question is remembered, so that the workflow's step finds it again. */
const KEPT_MS = 30 * 24 * 3_600_000;

export const APPROVAL_TABLES: readonly TableDefinition[] = [
  // Bound: one row per `step.approval` that was asked. Deleted: KEPT_MS after its decision, or when its workflow stops waiting.
  {
    name: "cf_workflow_approvals",
    create: [
      `CREATE TABLE cf_workflow_approvals (
        id TEXT PRIMARY KEY,
        workflow TEXT NOT NULL,
        workflow_id TEXT NOT NULL,
        event_type TEXT NOT NULL,
        question TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        decided_at INTEGER
      ) WITHOUT ROWID`
    ]
  }
];

/** What a workflow asks. */
export interface WorkflowQuestion {
  readonly workflow: {
    readonly name: string;
    readonly id: string;
    readonly stepName: string;
    readonly eventType: string;
  };
  readonly summary: string;
  readonly input: object;
  readonly risk?: "low" | "medium" | "high";
}

export interface WaitingQuestion extends WorkflowQuestion {
  readonly executionId: string;
  /** Of the input. */
  readonly inputHash: string;
}

/** What the workflow's step is given. */
export interface ApprovalNotification {
  readonly approved: boolean;
  readonly reason?: string;
  readonly by?: string;
}

export interface AnsweredQuestion extends WaitingQuestion {
  readonly decision: ApprovalNotification;
}

interface ApprovalRow {
  readonly id: string;
  readonly question: string;
  readonly decided_at: number | null;
}

export class WorkflowApprovals {
  readonly #table: TableSet;
  readonly #clock: Clock;
  readonly #outbox: PromptOutbox;

  constructor({ sql, clock, outbox }: { sql: Sql; clock: Clock; outbox: PromptOutbox }) {
    this.#table = new TableSet(sql, APPROVAL_TABLES);
    this.#clock = clock;
    this.#outbox = outbox;
  }

  /** The same question again, as a step that is retried asks it, changes nothing. */
  ask(question: WorkflowQuestion): string {
    const { name, id, eventType } = question.workflow;
    const executionId = `workflow-${eventType}`;
    const now = this.#clock.now();
    this.#table.change("DELETE FROM cf_workflow_approvals WHERE decided_at < ?", now - KEPT_MS);
    this.#table.run(
      `INSERT OR IGNORE INTO cf_workflow_approvals (id, workflow, workflow_id, event_type, question, created_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      ...[executionId, name, id, eventType, JSON.stringify(question), now]
    );
    return executionId;
  }

  /** A workflow has asked something before. */
  get hasAny(): boolean {
    return this.#table.exists;
  }

  /** Those that wait, oldest first. */
  waiting(executionId?: string): WaitingQuestion[] {
    const open = "SELECT id, question, decided_at FROM cf_workflow_approvals WHERE decided_at IS NULL";
    const rows =
      executionId === undefined
        ? this.#table.all<ApprovalRow>(`${open} ORDER BY created_at, id`)
        : this.#table.all<ApprovalRow>(`${open} AND id = ?`, executionId);
    return rows.flatMap((row) => {
      const parsed = parseJson(row.question);
      if (!parsed.ok || !isObject(parsed.value)) return [];
      // Written by `ask` only.
      const question = parsed.value as object as WorkflowQuestion;
      return [{ ...question, executionId: row.id, inputHash: hashOf(question.input) }];
    });
  }

  /** One that was decided, with the decision; undefined: it was not, or an earlier version kept no decision. */
  decided(executionId: string): AnsweredQuestion | undefined {
    const row = this.#table.one<ApprovalRow>(
      "SELECT id, question, decided_at FROM cf_workflow_approvals WHERE id = ? AND decided_at IS NOT NULL",
      executionId
    );
    const parsed = row && parseJson(row.question);
    if (!parsed?.ok || !isObject(parsed.value) || !isObject(parsed.value["decision"])) return undefined;
    // Written by `decide` only.
    const question = parsed.value as object as WorkflowQuestion & { readonly decision: ApprovalNotification };
    return { ...question, executionId, inputHash: hashOf(question.input) };
  }

  /** False: it is decided already. The decision is kept with the question, for a caller that sends it again. */
  decide({ executionId, workflow }: WaitingQuestion, decision: ApprovalNotification): boolean {
    return this.#table.transaction(() => {
      const { changed } = this.#table.change(
        `UPDATE cf_workflow_approvals SET decided_at = ?, question = json_set(question, '$.decision', json(?))
         WHERE id = ? AND decided_at IS NULL`,
        ...[this.#clock.now(), JSON.stringify(decision), executionId]
      );
      if (changed === 0) return false;
      this.#outbox.send(workflow, { id: executionId, event: decision });
      return true;
    });
  }

  /** The workflow does not wait for it any more. */
  withdraw(executionId: string): void {
    this.#table.change("DELETE FROM cf_workflow_approvals WHERE id = ? AND decided_at IS NULL", executionId);
  }
}

function hashOf(input: object): string {
  return createHash("sha256").update(canonicalJson(input)).digest("base64url");
}
