// What actions want delivered with an answer. Recorded while an action executes, counted once it succeeded, stored in
// the same transaction as its result; so a recovered turn still has them and a replayed call adds none. Belongs to a
// turn by id: the attachments of one turn are never another's.
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { ReplyAttachment } from "../../feature/approval-contract.ts";
import { byteLength } from "../../util/bytes.ts";
import { isObject, parseJson } from "../../util/json.ts";
import { jsonCopy } from "./json-copy.ts";

/** Attachments of one turn; further ones are ignored. */
export const MAX_ATTACHMENTS = 32;
/** Bytes of one turn's attachments together; one that does not fit is ignored. */
export const MAX_ATTACHMENT_BYTES = 1024 * 1024;
/** Turns whose attachments are kept; a turn's are read when it is over. */
export const MAX_ATTACHMENT_TURNS = 8;

export const ATTACHMENT_TABLES: readonly TableDefinition[] = [
  // Bound: 8 turns of at most 32 attachments and 1 MB. Deleted: oldest first when one is added.
  {
    name: "cf_action_attachments",
    create: [
      `CREATE TABLE cf_action_attachments (
        id INTEGER PRIMARY KEY,
        turn_id TEXT NOT NULL UNIQUE,
        request_id TEXT NOT NULL,
        is_latest INTEGER NOT NULL,
        items TEXT NOT NULL
      )`
    ]
  }
];

/** What one execution wants attached. */
export class AttachmentDraft {
  readonly items: ReplyAttachment[] = [];
  #isOpen = true;

  /** Anything that is not an attachment is ignored: it is advisory, and must not fail the effect it goes with. */
  add(attachment: unknown): void {
    if (!this.#isOpen || this.items.length >= MAX_ATTACHMENTS) return;
    const copied = jsonCopy(attachment);
    if (copied.ok && isAttachment(copied.value)) this.items.push(copied.value);
  }

  /** What comes after the execution ended is ignored. */
  close(): void {
    this.#isOpen = false;
  }
}

interface AttachmentRow {
  id: number;
  turn_id: string;
  request_id: string;
  items: string;
}

export class Attachments {
  readonly #sql: TableSet;

  constructor(sql: Sql) {
    this.#sql = new TableSet(sql, ATTACHMENT_TABLES);
  }

  /** From now on this is the latest turn. Another attempt of the same turn keeps what the earlier one recorded. */
  beginTurn(turnId: string): void {
    const other = this.#sql.one(
      "SELECT 1 AS found FROM cf_action_attachments WHERE is_latest = 1 AND turn_id <> ?",
      turnId
    );
    if (other)
      this.#sql.change("UPDATE cf_action_attachments SET is_latest = 0 WHERE is_latest = 1 AND turn_id <> ?", turnId);
  }

  /** Part of the caller's transaction. Returns what was really added. */
  record(
    turn: { readonly turnId: string; readonly requestId: string },
    items: readonly ReplyAttachment[]
  ): ReplyAttachment[] {
    if (items.length === 0) return [];
    const known = this.ofTurn(turn.turnId);
    const all = [...known];
    let sizeBytes = byteLength(JSON.stringify(all));
    for (const item of items) {
      const itemBytes = byteLength(JSON.stringify(item)) + 1;
      if (all.length >= MAX_ATTACHMENTS || sizeBytes + itemBytes > MAX_ATTACHMENT_BYTES) continue;
      sizeBytes += itemBytes;
      all.push(item);
    }
    const added = all.slice(known.length);
    if (added.length > 0) this.#store(turn, all);
    return added;
  }

  ofTurn(turnId: string): ReplyAttachment[] {
    return decode(this.#sql.one<AttachmentRow>("SELECT * FROM cf_action_attachments WHERE turn_id = ?", turnId));
  }

  latest(): ReplyAttachment[] {
    return decode(this.#sql.one<AttachmentRow>("SELECT * FROM cf_action_attachments WHERE is_latest = 1"));
  }

  /** Of the newest turn that was asked for under this id. */
  ofRequest(requestId: string): ReplyAttachment[] {
    const newest = "SELECT * FROM cf_action_attachments WHERE request_id = ? ORDER BY id DESC LIMIT 1";
    return decode(this.#sql.one<AttachmentRow>(newest, requestId));
  }

  #store(turn: { readonly turnId: string; readonly requestId: string }, items: readonly ReplyAttachment[]): void {
    this.#sql.transaction(() => {
      this.beginTurn(turn.turnId);
      this.#sql.run(
        `INSERT INTO cf_action_attachments (turn_id, request_id, is_latest, items) VALUES (?, ?, 1, ?)
         ON CONFLICT (turn_id) DO UPDATE SET items = excluded.items`,
        turn.turnId,
        turn.requestId,
        JSON.stringify(items)
      );
      this.#sql.change(
        `DELETE FROM cf_action_attachments WHERE id NOT IN (
           SELECT id FROM cf_action_attachments ORDER BY id DESC LIMIT ?)`,
        MAX_ATTACHMENT_TURNS
      );
    });
  }
}

function isAttachment(value: unknown): value is ReplyAttachment {
  return isObject(value) && typeof value["type"] === "string";
}

/** Fresh objects at every call. A row that cannot be read has none. */
function decode(row: AttachmentRow | undefined): ReplyAttachment[] {
  const parsed = parseJson(row?.items ?? "[]");
  return parsed.ok && Array.isArray(parsed.value) ? parsed.value.filter(isAttachment) : [];
}
