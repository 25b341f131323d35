// Decisions over approvals as rows: one row per decision, from whichever source the question came, written in the
// transaction that applies the decision. A decision that is sent again is compared with its row, and inspectors list the
// rows. Who may decide is asked before.
import type { Clock, Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { Decision, Question } from "../../feature/approval-contract.ts";
import { approverName } from "./approver.ts";
import { sha256 } from "../../host/blobs.ts";
import { canonicalJson, isObject, parseJson, sameJson, type Json } from "../../util/json.ts";

/** Decisions that are kept, the newest. A decision that is sent again after so many others is not known any more. */
export const KEPT_DECISIONS = 1_000;
/** Rows after which a vote over a question that was never decided is forgotten. */
const KEPT_VOTES = 10 * KEPT_DECISIONS;
/** Rows may be votes, too: "vote" over a question that waits, then "voted". */
const IS_DECISION = "answer IN ('approved', 'rejected', 'expired')";
/** Characters of a reason. */
const MAX_REASON_CHARS = 4_000;

export const DECISION_TABLES: readonly TableDefinition[] = [
  // Bound: the newest KEPT_DECISIONS. Deleted: by the next decision, and with the conversation.
  {
    name: "cf_decisions",
    create: [
      `CREATE TABLE cf_decisions (
        id INTEGER PRIMARY KEY,
        execution_id TEXT NOT NULL,
        call_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        answer TEXT NOT NULL,
        decided_at INTEGER NOT NULL,
        body TEXT NOT NULL
      )`
    ]
  }
];

/** Expired: it was not decided in time. */
type Answer = "approved" | "rejected" | "expired";

/** One decision, as it was taken. A call of the chat has its call id as its execution id. */
export interface RecordedDecision extends Pick<Question, "executionId" | "source" | "seq" | "messageId"> {
  readonly inputHash?: string;
  /** Of the tool or action. */
  readonly name: string;
  readonly callId: string;
  readonly answer: Answer;
  /** Who decided: a user of a messenger (`telegram:7`), a name of the application, or `unverified:` and a client's claim. */
  readonly by: string | null;
  /** Through what it came: a messenger's id, "socket", "http", or "code" of the server. */
  readonly surface: string;
  readonly reason: string | null;
  /** What the call ran with in place of the input that was asked about; undefined: it was not changed. */
  readonly input?: Json | undefined;
  /** Of that input. */
  readonly changedHash?: string | undefined;
  /** Who approved before, where several people had to. */
  readonly votes?: readonly string[] | undefined;
  readonly at: number;
}

/** Which calls are meant; all without it. */
export interface CallFilter {
  readonly callIds?: ReadonlySet<string>;
  /** The answer they belong to; null or undefined: any. After a compaction a model may name calls of later turns alike. */
  readonly messageId?: string | null;
}

interface DecisionRow {
  readonly execution_id: string;
  readonly call_id: string;
  readonly message_id: string;
  readonly answer: string;
  readonly decided_at: number;
  readonly body: string;
}

/** The columns that are not in the body. */
type InColumns = "executionId" | "callId" | "messageId" | "answer" | "at";

export class DecisionLog {
  readonly #table: TableSet;
  readonly #clock: Clock;

  constructor({ sql, clock }: { readonly sql: Sql; readonly clock: Clock }) {
    this.#table = new TableSet(sql, DECISION_TABLES);
    this.#clock = clock;
  }

  /** Who has approved a question that needs several people, the first one first. */
  votes({ executionId, inputHash }: Pick<Question, "executionId" | "inputHash">): string[] {
    if (!this.#table.exists) return [];
    return this.#read("WHERE execution_id = ? AND answer = 'vote' ORDER BY id", executionId).flatMap(
      ({ by, inputHash: hash }) => (hash === inputHash && by !== null ? [by] : [])
    );
  }

  /** One of several approvals that a question needs. */
  addVote(question: Question, decision: Decision): void {
    const { by = null, surface = "code" } = decision;
    this.#insert(question, { answer: "vote", by, surface, reason: null });
  }

  /** Part of the transaction that applies the decision. */
  add(question: Question, decision: Decision): void {
    const { isApproved, by = null, surface = "code", reason, input } = decision;
    this.#insert(question, {
      answer: isApproved ? "approved" : "rejected",
      ...{ by, surface },
      reason: reason?.slice(0, MAX_REASON_CHARS) ?? null,
      // A decision is JSON, wherever it came from.
      input: input as Json | undefined,
      changedHash: input === undefined ? undefined : sha256(canonicalJson(input as Json)),
      votes: this.#closeVotes(question)
    });
  }

  /** They are kept like decisions from now on. Undefined: there are none. */
  #closeVotes(question: Question): string[] | undefined {
    const votes = this.votes(question);
    if (votes.length === 0) return undefined;
    this.#table.change(
      "UPDATE cf_decisions SET answer = 'voted' WHERE execution_id = ? AND answer = 'vote'",
      question.executionId
    );
    return votes;
  }

  /** The question was not decided in time. */
  addExpired(question: Question): void {
    const votes = this.#closeVotes(question);
    this.#insert(question, { answer: "expired", by: null, surface: "code", reason: null, votes });
  }

  #insert(
    { executionId, messageId, source, inputHash, seq, descriptor }: Question,
    {
      answer,
      ...rest
    }: Pick<RecordedDecision, "by" | "surface" | "reason" | "input" | "changedHash" | "votes"> & {
      readonly answer: Answer | "vote";
    }
  ): void {
    const { action: name, toolCallId: callId } = descriptor;
    this.#table.run(
      `INSERT INTO cf_decisions (execution_id, call_id, message_id, answer, decided_at, body) VALUES (?, ?, ?, ?, ?, ?)`,
      ...[executionId, callId, messageId, answer, this.#clock.now()],
      JSON.stringify({ source, name, inputHash, seq, ...rest })
    );
    // A vote over a question that waits is kept; of questions that went without a decision, not for ever.
    this.#table.change(
      `DELETE FROM cf_decisions WHERE id <= (SELECT MAX(id) FROM cf_decisions) - ?1 AND
         (answer <> 'vote' OR id <= (SELECT MAX(id) FROM cf_decisions) - ?2)`,
      ...[KEPT_DECISIONS, KEPT_VOTES]
    );
  }

  /** The newest decision over a question; `inputHash` names one of several that a run of code asks. */
  find(executionId: string, inputHash?: string): RecordedDecision | undefined {
    return this.#read(`WHERE execution_id = ? AND ${IS_DECISION} ORDER BY id DESC`, executionId).find(
      (one) => inputHash === undefined || one.inputHash === inputHash
    );
  }

  /** Newest first: over all calls, or over those that are asked for. */
  list({ callIds, messageId }: CallFilter = {}, limit = KEPT_DECISIONS): RecordedDecision[] {
    return this.#read(
      `WHERE (?1 IS NULL OR call_id IN (SELECT value FROM json_each(?1))) AND (?2 IS NULL OR message_id = ?2)
         AND ${IS_DECISION}
       ORDER BY id DESC LIMIT ?3`,
      ...[callIds ? JSON.stringify([...callIds]) : null, messageId ?? null, limit]
    );
  }

  /** The conversation is gone. */
  deleteAll(): void {
    this.#table.change("DELETE FROM cf_decisions");
  }

  #read(rest: string, ...values: (string | number | null)[]): RecordedDecision[] {
    return this.#table.all<DecisionRow>(`SELECT * FROM cf_decisions ${rest}`, ...values).flatMap((row) => {
      const parsed = parseJson(row.body);
      if (!parsed.ok || !isObject(parsed.value)) return [];
      // Written by `#insert` only.
      const body = parsed.value as object as Omit<RecordedDecision, InColumns>;
      const { execution_id: executionId, call_id: callId, message_id: messageId, decided_at: at } = row;
      return [{ ...body, executionId, callId, messageId, answer: row.answer as Answer, at }];
    });
  }
}

/** Whether a decision is the recorded one, sent again. Without the hash it may be a decision about something else. Pure. */
export function isSameDecision(recorded: RecordedDecision, again: Decision): boolean {
  return (
    recorded.inputHash !== undefined &&
    recorded.inputHash === again.inputHash &&
    (recorded.answer === "approved") === again.isApproved &&
    recorded.answer !== "expired" &&
    recorded.by === (again.by ?? null) &&
    sameJson(recorded.input ?? null, again.input ?? null)
  );
}

/** Which decision won, for the caller of another one. Pure. */
export function describeDecision({ answer, by }: RecordedDecision): string {
  if (answer === "expired") return "it waited too long and has expired";
  return by === null ? `it was ${answer} before` : `it was ${answer} before, by ${approverName(by)}`;
}
