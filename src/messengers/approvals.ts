// Parked actions as messages with two buttons. A button's value is a random token: what it stands for is stored here. The
// decision itself is the actions' own, so the first answer wins, whichever surface it came from.
import type { Sql } from "../host/ports.ts";
import { TableSet, type TableDefinition } from "../host/table-set.ts";
import type { PendingApproval } from "../think/actions.ts";
import type { AgentPath } from "../agent/tree/path.ts";
import type { ChatCard } from "./chat-adapter.ts";
import { QUESTION_PREFIX, QUESTION_RETENTION_MS } from "./inbox.ts";

export const APPROVE_ACTION = "et-yes";
export const REJECT_ACTION = "et-no";

const MAX_INPUT_CHARS = 700;

export const ASKED_TABLES: readonly TableDefinition[] = [
  // Bound: the parked actions of this agent's conversations, 60 days. Deleted: by `add`, when that time is over.
  {
    name: "cf_messenger_approvals",
    create: [
      `CREATE TABLE cf_messenger_approvals (
        token TEXT PRIMARY KEY, question TEXT NOT NULL UNIQUE, messenger TEXT NOT NULL, thread TEXT NOT NULL,
        target TEXT NOT NULL, approval TEXT NOT NULL, is_open INTEGER NOT NULL, at INTEGER NOT NULL)`
    ]
  }
];

export interface AskedApproval {
  readonly token: string;
  readonly messengerId: string;
  readonly threadId: string;
  /** The agent that parked it, below the root. */
  readonly target: AgentPath;
  readonly approval: PendingApproval;
  readonly isOpen: boolean;
}

interface ApprovalRow {
  token: string;
  messenger: string;
  thread: string;
  target: string;
  approval: string;
  is_open: number;
}

export class AskedApprovals {
  readonly #tables: TableSet;
  readonly #now: () => number;

  constructor(sql: Sql, now: () => number) {
    this.#tables = new TableSet(sql, ASKED_TABLES);
    this.#now = now;
  }

  /** False if it was asked before. */
  add(asked: Omit<AskedApproval, "isOpen">): boolean {
    this.#tables.change(`DELETE FROM cf_messenger_approvals WHERE at < ?`, this.#now() - QUESTION_RETENTION_MS);
    const { token, messengerId, threadId, target, approval } = asked;
    return (
      this.#tables.run(
        `INSERT INTO cf_messenger_approvals (token, question, messenger, thread, target, approval, is_open, at)
         VALUES (?, ?, ?, ?, ?, ?, 1, ?) ON CONFLICT (question) DO NOTHING`,
        token,
        questionKey(approval),
        messengerId,
        threadId,
        JSON.stringify(target),
        JSON.stringify(approval),
        this.#now()
      ).changed === 1
    );
  }

  find(token: string): AskedApproval | undefined {
    const row = this.#tables.one<ApprovalRow>(`SELECT * FROM cf_messenger_approvals WHERE token = ?`, token);
    return row && askedOf(row);
  }

  open(messengerId: string, threadId: string): AskedApproval[] {
    return this.#tables
      .all<ApprovalRow>(
        `SELECT * FROM cf_messenger_approvals WHERE messenger = ? AND thread = ? AND is_open = 1 ORDER BY at`,
        messengerId,
        threadId
      )
      .map(askedOf);
  }

  /** True for the one caller that closed it. */
  close(token: string): boolean {
    return (
      this.#tables.change(`UPDATE cf_messenger_approvals SET is_open = 0 WHERE token = ? AND is_open = 1`, token)
        .changed === 1
    );
  }
}

function askedOf(row: ApprovalRow): AskedApproval {
  return {
    token: row.token,
    messengerId: row.messenger,
    threadId: row.thread,
    // Written by `add` only.
    target: JSON.parse(row.target) as AgentPath,
    approval: JSON.parse(row.approval) as PendingApproval,
    isOpen: row.is_open === 1
  };
}

/** The key of the reply that shows the question. A run of code may ask several, one after the other. */
export function questionKey({ executionId, inputHash = "" }: PendingApproval): string {
  return `${QUESTION_PREFIX}${executionId}:${inputHash}`;
}

export function approvalCard({ descriptor }: PendingApproval, token: string): ChatCard {
  const { summary, risk } = descriptor;
  return {
    type: "card",
    title: summary,
    children: [
      ...(risk ? [{ type: "text", content: `Risk: ${risk}`, style: "plain" }] : []),
      // Marks in what the model wrote must not look like a part of the question.
      { type: "text", content: inputText(descriptor.input), style: "plain" },
      {
        type: "actions",
        children: [
          { type: "button", id: APPROVE_ACTION, label: "Approve", style: "primary", value: token },
          { type: "button", id: REJECT_ACTION, label: "Reject", style: "danger", value: token }
        ]
      }
    ]
  };
}

/** What became of it, without buttons. */
export function decidedText({ descriptor }: PendingApproval, outcome: string): string {
  return `**${descriptor.summary}**\n\n${outcome}`;
}

/** A line for each field. A text with a line break is quoted: it could pass for a field that is not there. */
function inputText(input: object): string {
  const text = Object.entries(input)
    .map((field) => field.map(onOneLine).join(": "))
    .join("\n");
  return text.length <= MAX_INPUT_CHARS ? text : `${text.slice(0, MAX_INPUT_CHARS)}…`;
}

function onOneLine(value: unknown): string {
  return typeof value === "string" && !/\p{Zl}|\p{Zp}|\p{Cc}/u.test(value) ? value : (JSON.stringify(value) ?? "");
}
