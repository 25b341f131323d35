// Questions of workflows that a human decides. A question waits as a row; the decision and the notification of the workflow
// are one transaction, and the first decision stays. Who may decide is asked before.
import { createHash } from "node:crypto";
import type { Clock, Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { Decision } from "../../feature/approval-contract.ts";
import { DecisionLog } from "../approvals/decision-log.ts";
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

export interface AskedWorkflow extends WorkflowQuestion {
  readonly executionId: string;
  /** Of the input. */
  readonly inputHash: string;
}

/** What the workflow's step is given. */
interface ApprovalNotification {
  readonly approved: boolean;
  readonly reason?: string;
  readonly by?: string;
}

interface ApprovalRow {
  readonly id: string;
  readonly question: string;
}

export class WorkflowApprovals {
  readonly #table: TableSet;
  readonly #clock: Clock;
  readonly #outbox: PromptOutbox;
  readonly #decisions: DecisionLog;

  constructor({ sql, clock, outbox }: { sql: Sql; clock: Clock; outbox: PromptOutbox }) {
    this.#table = new TableSet(sql, APPROVAL_TABLES);
    this.#clock = clock;
    this.#outbox = outbox;
    this.#decisions = new DecisionLog({ sql, clock });
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
  waiting(executionId?: string): AskedWorkflow[] {
    if (executionId === undefined) return this.#read("WHERE decided_at IS NULL ORDER BY created_at, id");
    return this.#read("WHERE decided_at IS NULL AND id = ?", executionId);
  }

  /** A question that was asked, decided or not. */
  find(executionId: string): AskedWorkflow | undefined {
    return this.#read("WHERE id = ?", executionId)[0];
  }

  #read(rest: string, ...values: string[]): AskedWorkflow[] {
    const rows = this.#table.all<ApprovalRow>(`SELECT id, question FROM cf_workflow_approvals ${rest}`, ...values);
    return rows.flatMap((row) => {
      const parsed = parseJson(row.question);
      if (!parsed.ok || !isObject(parsed.value)) return [];
      // Written by `ask` only.
      const question = parsed.value as object as WorkflowQuestion;
      return [{ ...question, executionId: row.id, inputHash: hashOf(question.input) }];
    });
  }

  /** False: it is decided already, or not asked any more. */
  decide(executionId: string, decision: Decision, record: () => void): boolean {
    return this.#table.transaction(() => {
      const asked = this.find(executionId);
      const { changed } = this.#table.change(
        "UPDATE cf_workflow_approvals SET decided_at = ? WHERE id = ? AND decided_at IS NULL",
        ...[this.#clock.now(), executionId]
      );
      if (changed === 0 || !asked) return false;
      record();
      this.#outbox.send(asked.workflow, { id: executionId, event: notificationOf(decision) });
      return true;
    });
  }

  /** What a decided question came to. */
  outcomeOf(executionId: string): ApprovalNotification | undefined {
    const first = this.#decisions.find(executionId);
    return (
      first && { approved: first.answer === "approved", reason: first.reason ?? undefined, by: first.by ?? undefined }
    );
  }

  /** The workflow does not wait for it any more. */
  withdraw(executionId: string): void {
    this.#table.change("DELETE FROM cf_workflow_approvals WHERE id = ? AND decided_at IS NULL", executionId);
  }
}

export function notificationOf({ isApproved, reason, by }: Decision): ApprovalNotification {
  return { approved: isApproved, reason, by };
}

function hashOf(input: object): string {
  return createHash("sha256").update(canonicalJson(input)).digest("base64url");
}
