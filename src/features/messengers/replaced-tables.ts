// Tables of messengers until schema version 7: their rows become items of durable work. What cannot be read becomes an item
// that cannot be read either, and is set aside by the runner. Their layout is what was released: never change it.
import type { Sql } from "../../host/ports.ts";
import type { ReplacedTable } from "../../host/table-set.ts";
import { ASKED_TABLES } from "./approvals.ts";

/** The kinds of work. */
export const REPLY = "messenger-reply";
export const FOLLOWED_TURN = "messenger-turn";

export const MESSENGER_REPLIES: ReplacedTable = { name: "cf_messenger_replies", move: moveReplies };

/** A reply that was open may have begun: its question takes no further message. */
function moveReplies(sql: Sql): void {
  if (sql.catalog.has(ASKED_TABLES))
    sql.run(
      `UPDATE cf_messenger_approvals SET shown = (
         SELECT CASE job ->> '$.do'
           WHEN 'ask' THEN json_set(job -> '$.shown', '$.messageId', posts ->> ('$[' || (job ->> '$.shown.buttonsAt') || '].id'))
           ELSE json_object('messageId', posts ->> '$[0].id') END
         FROM cf_messenger_replies WHERE key = question AND json_valid(job) AND json_valid(posts))`
    );
  sql.run(
    `INSERT OR IGNORE INTO cf_work
       (kind, key, lane, payload, due_at, settled_at, claim, failures, troubled_since, created_at)
     SELECT ?, key, lane,
       CASE WHEN due_at IS NULL THEN 'null' WHEN json_valid(job) AND json_valid(posts) THEN
         json_object('messengerId', messenger, 'threadId', thread, 'posts', json(posts), 'job',
           CASE WHEN stage = 'streaming' AND job ->> '$.do' = 'press' THEN json_set(job, '$.isBegun', json('true'))
           ELSE json(job) END)
       ELSE job END,
       CAST(due_at AS INTEGER), CASE WHEN due_at IS NULL THEN COALESCE(ended_at, created_at) END,
       attempts + 1, CAST(attempts AS INTEGER), CASE WHEN attempts > 0 THEN created_at END, created_at
     FROM cf_messenger_replies ORDER BY id`,
    REPLY
  );
}

/** Events that waited become questions of up to 50; the keys of all others stay known. */
export const MESSENGER_EVENTS: ReplacedTable = {
  name: "cf_messenger_events",
  move(sql) {
    sql.run(
      `INSERT OR IGNORE INTO cf_work (kind, key, lane, payload, due_at, created_at)
       SELECT ?, key, messenger || char(10) || thread,
         CASE WHEN question < 0 THEN event ELSE
           json_object('messengerId', messenger, 'threadId', thread, 'posts', json('[]'), 'job',
             json_object('do', 'answer', 'events', json_group_array(json(event) ORDER BY id) FILTER (WHERE question >= 0)))
         END,
         CAST(due_at AS INTEGER), at
       FROM (SELECT *, CASE WHEN json_valid(event) THEN
           (ROW_NUMBER() OVER (PARTITION BY messenger, thread, json_valid(event) ORDER BY id) - 1) / 50
         ELSE -id END AS question FROM cf_messenger_events WHERE reply_id IS NULL)
       GROUP BY messenger, thread, question ORDER BY MIN(id)`,
      REPLY
    );
    sql.run(
      `INSERT OR IGNORE INTO cf_work (kind, key, payload, settled_at, created_at)
       SELECT ?, key, 'null', at, at FROM cf_messenger_events`,
      REPLY
    );
  }
};

/** Those without a report are followed still. */
export const MESSENGER_TURNS: ReplacedTable = {
  name: "cf_messenger_turns",
  move: (sql) =>
    void sql.run(
      `INSERT OR IGNORE INTO cf_work (kind, key, payload, due_at, created_at)
       SELECT ?, turn_id, CASE WHEN report IS NOT NULL THEN report WHEN json_valid(origin) THEN
         json_object('messengerId', origin ->> '$.messengerId', 'threadId', origin ->> '$.thread.id',
           'turnId', turn_id, 'requestId', request_id) ELSE origin END,
         CASE WHEN report IS NOT NULL OR NOT json_valid(origin) THEN COALESCE(CAST(due_at AS INTEGER), 0) END,
         COALESCE(CAST(due_at AS INTEGER), 0)
       FROM cf_messenger_turns`,
      FOLLOWED_TURN
    )
};
