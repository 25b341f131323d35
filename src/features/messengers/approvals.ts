// Parked actions as messages with two buttons. A button's value is a random token, for which the question is stored here.
// Actions take the decision themselves, so the first answer wins, whichever surface it came from.
import type { Services } from "../../feature/services.ts";
import type { Clock } from "../../host/ports.ts";
import { addColumns, TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { PendingApproval } from "../../feature/approval-contract.ts";
import type { AgentPath } from "../../host/path.ts";
import type { ChatCard, ChatPostable } from "./chat-adapter.ts";
import { showTitle, type ShownInput } from "./approval-input.ts";

export const APPROVE_ACTION = "et-yes";
export const REJECT_ACTION = "et-no";

/** How long questions are known, which are edited when they are decided: longer than actions wait. */
const RETENTION_MS = 60 * 24 * 3_600_000;

export const ASKED_TABLES: readonly TableDefinition[] = [
  // Bound: the parked actions of this agent's conversations, 60 days. Deleted: by `sweep`, before new ones are added.
  {
    name: "cf_messenger_approvals",
    create: [
      `CREATE TABLE cf_messenger_approvals (
        token TEXT PRIMARY KEY, question TEXT NOT NULL UNIQUE, messenger TEXT NOT NULL, thread TEXT NOT NULL,
        target TEXT NOT NULL, approval TEXT NOT NULL, is_open INTEGER NOT NULL, at INTEGER NOT NULL, shown TEXT)`
    ],
    migrations: [(sql) => addColumns(sql, "cf_messenger_approvals", { shown: "TEXT" })]
  }
];

/** What of a question is in the chat; stored before its buttons are, unless all of it is in one message with them. */
export interface ShownQuestion {
  /** Whether all of the input is in the chat: only then it can be approved there. Earlier versions did not store it. */
  readonly isWhole?: boolean;
  /** In what its input is, outside of it. */
  readonly as?: "file" | "messages";
  /** The number of the reply's message that has the buttons, as soon as what comes before it is in the chat. */
  readonly buttonsAt?: number;
  /** The provider's id of that message, when it is known. */
  readonly messageId?: string | null;
}

export interface PostedApproval {
  readonly token: string;
  readonly messengerId: string;
  readonly threadId: string;
  /** The path below the root of the agent that parked it. */
  readonly target: AgentPath;
  readonly approval: PendingApproval;
  readonly isOpen: boolean;
  readonly shown?: ShownQuestion | undefined;
}

interface ApprovalRow {
  token: string;
  messenger: string;
  thread: string;
  target: string;
  approval: string;
  is_open: number;
  shown: string | null;
}

export class AskedApprovals {
  readonly #tables: TableSet;
  readonly #clock: Clock;

  constructor({ sql, clock }: Pick<Services, "sql" | "clock">) {
    this.#tables = new TableSet(sql, ASKED_TABLES);
    this.#clock = clock;
  }

  /** Deletes what nothing can be pressed for any more. It reads the whole table: once for all that are added together. */
  sweep(): void {
    this.#tables.change(`DELETE FROM cf_messenger_approvals WHERE at < ?`, this.#clock.now() - RETENTION_MS);
  }

  /** Adds a question. False if it was asked before. */
  add(asked: Omit<PostedApproval, "isOpen">): boolean {
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
        this.#clock.now()
      ).changed === 1
    );
  }

  find(token: string): PostedApproval | undefined {
    const row = this.#tables.one<ApprovalRow>(`SELECT * FROM cf_messenger_approvals WHERE token = ?`, token);
    return row && readRow(row);
  }

  findByQuestion(question: string): PostedApproval | undefined {
    const row = this.#tables.one<ApprovalRow>(`SELECT * FROM cf_messenger_approvals WHERE question = ?`, question);
    return row && readRow(row);
  }

  noteShown(token: string, shown: ShownQuestion): void {
    this.#tables.change(`UPDATE cf_messenger_approvals SET shown = ? WHERE token = ?`, JSON.stringify(shown), token);
  }

  hasOpen(messengerId: string, threadId: string): boolean {
    const open = `SELECT 1 FROM cf_messenger_approvals WHERE messenger = ? AND thread = ? AND is_open = 1 LIMIT 1`;
    return this.#tables.one(open, messengerId, threadId) !== undefined;
  }

  listOpen(messengerId: string, threadId: string): PostedApproval[] {
    return this.#tables
      .all<ApprovalRow>(
        `SELECT * FROM cf_messenger_approvals WHERE messenger = ? AND thread = ? AND is_open = 1 ORDER BY at`,
        messengerId,
        threadId
      )
      .map(readRow);
  }

  /** Closes a question. True for the one caller that closed it. */
  close(token: string): boolean {
    return (
      this.#tables.change(`UPDATE cf_messenger_approvals SET is_open = 0 WHERE token = ? AND is_open = 1`, token)
        .changed === 1
    );
  }
}

function readRow(row: ApprovalRow): PostedApproval {
  return {
    token: row.token,
    messengerId: row.messenger,
    threadId: row.thread,
    // Written by `add` and `noteShown` only.
    target: JSON.parse(row.target) as AgentPath,
    approval: JSON.parse(row.approval) as PendingApproval,
    isOpen: row.is_open === 1,
    shown: row.shown === null ? undefined : (JSON.parse(row.shown) as ShownQuestion)
  };
}

/** The key of the reply that shows the question. A run of code may ask several, one after the other. */
export function questionKey({ executionId, inputHash = "" }: PendingApproval): string {
  return `approval:${executionId}:${inputHash}`;
}

/** Makes the question. It has the button to approve only where all of the input is in the chat. */
export function approvalCard({ token, approval }: PostedApproval, input: ShownInput, shown: ShownQuestion): ChatCard {
  const { summary, risk } = approval.descriptor;
  const approve = { type: "button", id: APPROVE_ACTION, label: "Approve", style: "primary", value: token };
  const reject = { type: "button", id: REJECT_ACTION, label: "Reject", style: "danger", value: token };
  const text = describeInput(input, shown);
  return {
    type: "card",
    title: showTitle(summary),
    children: [
      ...(risk ? [{ type: "text", content: `Risk: ${risk}`, style: "plain" }] : []),
      // Marks in what the model wrote must not look like a part of the question.
      ...(text === "" ? [] : [{ type: "text", content: text, style: "plain" }]),
      { type: "actions", children: shown.isWhole ? [approve, reject] : [reject] }
    ]
  };
}

function describeInput(input: ShownInput, { isWhole, as }: ShownQuestion): string {
  if ("text" in input) return input.text;
  const { pieces, file } = input;
  const { length } = pieces;
  if (!isWhole && file !== undefined && length === 0)
    return `Its input has ${file.length} characters, too many for this chat. ${APPROVE_ELSEWHERE}`;
  if (!isWhole) return `Its input could not be shown here completely. ${APPROVE_ELSEWHERE}`;
  if (as === "file") return `Its input is in the file above: ${file?.length} characters.`;
  return `Its input is in the ${length === 1 ? "message" : `${length} messages`} above.`;
}

const APPROVE_ELSEWHERE = "Here it can only be rejected: approve it where all of it can be read.";

/** Makes a message before the question, with a piece of the input. */
export function inputCard({ descriptor }: PendingApproval, pieces: readonly string[], index: number): ChatCard {
  const title = `${showTitle(descriptor.action)}: input, ${index + 1} of ${pieces.length}`;
  return { type: "card", title, children: [{ type: "text", content: pieces[index] ?? "", style: "plain" }] };
}

/** Makes the file before the question, with all of the input. */
export function inputFile({ descriptor }: PendingApproval, text: string): ChatPostable {
  const filename = `${descriptor.action.replaceAll(/[^\w-]+/g, "-").slice(0, 60)}-input.txt`;
  // Encoded into a buffer of its own.
  const data = new TextEncoder().encode(text).buffer as ArrayBuffer;
  return { markdown: "", files: [{ data, filename, mimeType: "text/plain" }] };
}

/** Makes the text that replaces a decided question and its buttons. */
export function printDecided({ descriptor }: PendingApproval, outcome: string): string {
  return `**${showTitle(descriptor.summary)}**\n\n${outcome}`;
}

/** Makes the text that says that more people may decide. */
export function printEscalated({ descriptor, escalation, expiresAt }: PendingApproval): string {
  const { to = [] } = escalation ?? {};
  const people = to.length === 0 ? "others" : to.slice(0, MAX_NAMED).join(", ");
  const more = to.length > MAX_NAMED ? ` and ${to.length - MAX_NAMED} more` : "";
  const until = expiresAt === undefined ? "" : ` It expires on ${new Date(expiresAt).toISOString().slice(0, 16)}Z.`;
  return `**${showTitle(descriptor.summary)}** waits still. From now on ${people}${more} may decide, too.${until}`;
}

const MAX_NAMED = 10;
