// Turns of the original that its last process did not end. Each becomes a turn that was admitted and whose first attempt
// was cut off, with the chunks that were stored as its partial answer: recovery goes on as for a turn of ours. A call that
// was under way is recorded as started, so that it is never run again.
import { CHAT_RECOVERY_TASK, CHAT_RUN_PREFIX, OPEN_TASK, openRuns } from "./agent.ts";
import { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import type { TakeoverContext, TakeoverPart } from "../host/takeover.ts";
import { Conversation } from "../journal/conversation.ts";
import { openJournal, type Journal } from "../journal/journal.ts";
import type { JournalRecord, RecordedClientTool } from "../journal/records.ts";
import { admittedRecord, type Admission } from "../turn/admit.ts";
import type { TurnTrigger } from "../turn/turn.ts";
import { approvalId, callId, turnId, type TurnId } from "../util/ids.ts";
import { isObject, parseJson, type Json } from "../util/json.ts";

interface InterruptedTurn {
  readonly requestId: string;
  readonly startedAt: number;
  readonly continuation: boolean;
  /** The stored answer that the original was about to go on with. */
  readonly extendsMessageId?: string;
  /** What the class stashed for its recovery. */
  readonly stash?: Json;
}

const STREAMS = [
  "cf_ai_chat_stream_metadata",
  "cf_ai_chat_stream_chunks",
  "cf_agents_streams",
  "cf_agents_stream_blocks",
  "cf_agents_chat_progress"
];

export const TURNS: TakeoverPart = {
  kind: "turns",
  tables: STREAMS,
  refuses: (context) => [
    {
      what: "turns of children that the original is recovering",
      rows: recoverySchedules(context).filter(isOfChild).length
    },
    {
      what: "turns that the original is recovering and does not name",
      rows: recoveryData(context).filter(({ data }) => typeof data["originalRequestId"] !== "string").length
    },
    {
      what: "turns under way that the original does not name",
      rows:
        taskInputs(context, CHAT_RUN_PREFIX).filter(({ input }) => typeof input["requestId"] !== "string").length +
        context.count(
          "cf_agents_runs",
          `${openRuns(context.sql)} AND name LIKE '${CHAT_RUN_PREFIX}%' AND name NOT LIKE '${CHAT_RUN_PREFIX}:_%'`
        )
    }
  ],
  carry(context) {
    const turns = interruptedTurns(context);
    if (turns.length === 0) return undefined;
    const { sql } = context;
    const conversation = new Conversation(sql, "");
    const journal = openJournal({ sql, blobs: new Blobs(sql), conversation, now: () => context.now });
    for (const turn of turns) admitInterrupted({ context, journal, conversation }, turn);
    return { found: turns.length, carried: turns.length, left: 0 };
  }
};

/** Oldest first, each request once: what the original was about to do last counts. */
function interruptedTurns(context: TakeoverContext): InterruptedTurn[] {
  const turns = new Map<string, InterruptedTurn>();
  const found = [...runs(context), ...tasks(context), ...recoveries(context)];
  for (const turn of found) turns.set(turn.requestId, { ...turns.get(turn.requestId), ...turn });
  return [...turns.values()].sort((one, other) => one.startedAt - other.startedAt);
}

function runs({ sql, has }: TakeoverContext): InterruptedTurn[] {
  if (!has("cf_agents_runs")) return [];
  const rows = sql.all<{ name: string; snapshot: string | null; at: number }>(
    `SELECT name, snapshot, created_at AS at FROM cf_agents_runs
     WHERE name LIKE '${CHAT_RUN_PREFIX}:%' AND ${openRuns(sql)}`
  );
  return rows.map(({ name, snapshot, at }) => {
    const stored = objectIn(snapshot);
    const own = isObject(stored["__cfThinkChatFiberSnapshot"]) ? stored["__cfThinkChatFiberSnapshot"] : {};
    const stash = stored["user"] ?? null;
    return {
      requestId: name.slice(CHAT_RUN_PREFIX.length + 1),
      startedAt: at,
      continuation: own["continuation"] === true,
      ...(stash !== null && { stash: stash as Json })
    };
  });
}

function tasks({ sql, has }: TakeoverContext): InterruptedTurn[] {
  return taskInputs({ sql, has }, CHAT_RUN_PREFIX).flatMap(({ input, at }) =>
    typeof input["requestId"] === "string"
      ? [{ requestId: input["requestId"], startedAt: at, continuation: input["continuation"] === true }]
      : []
  );
}

/** The partial answer is a message already, or there was none. */
function recoveries(context: TakeoverContext): InterruptedTurn[] {
  return recoveryData(context).flatMap(({ data, at }): InterruptedTurn[] => {
    const { originalRequestId: requestId, targetAssistantId: answer } = data;
    if (typeof requestId !== "string") return [];
    if (typeof answer !== "string") return [{ requestId, startedAt: at, continuation: false }];
    return [{ requestId, startedAt: at, continuation: true, extendsMessageId: answer }];
  });
}

function recoveryData(context: TakeoverContext): { data: Record<string, unknown>; at: number }[] {
  const older = recoverySchedules(context)
    .filter((row) => !isOfChild(row))
    .map(({ payload, created_at }) => ({ data: objectIn(payload), at: created_at * 1000 }));
  const newer = taskInputs(context, CHAT_RECOVERY_TASK).map(({ input, at }) => ({
    data: isObject(input["data"]) ? input["data"] : {},
    at
  }));
  return [...older, ...newer];
}

interface RecoverySchedule {
  readonly payload: string | null;
  readonly created_at: number;
  /** The first versions did not have it. */
  readonly owner_path?: string | null;
}

function recoverySchedules({ sql, has }: TakeoverContext): RecoverySchedule[] {
  if (!has("cf_agents_schedules")) return [];
  return sql.all<RecoverySchedule>(
    "SELECT * FROM cf_agents_schedules WHERE callback LIKE '\\_chatRecovery%' ESCAPE '\\'"
  );
}

function isOfChild({ owner_path: path = null }: RecoverySchedule): boolean {
  return path !== null;
}

function taskInputs({ sql, has }: Pick<TakeoverContext, "sql" | "has">, definition: string) {
  if (!has("cf_agents_task_runs")) return [];
  const rows = sql.all<{ input: string | null; at: number }>(
    `SELECT input, created_at AS at FROM cf_agents_task_runs WHERE definition = ? AND ${OPEN_TASK}`,
    definition
  );
  return rows.map(({ input, at }) => ({ input: objectIn(input), at }));
}

interface Carrying {
  readonly context: TakeoverContext;
  readonly journal: Journal;
  readonly conversation: Conversation;
}

function admitInterrupted({ context, journal, conversation }: Carrying, turn: InterruptedTurn): void {
  const { sql, newId, now } = context;
  const id = turnId(newId());
  // What is a message already is not replayed: the turn goes on below it.
  const bodies = turn.extendsMessageId === undefined ? storedBodies(context, turn.requestId) : [];
  const stored = startedMessage(bodies);
  const base = turn.extendsMessageId ?? (turn.continuation ? newestAnswer(sql, conversation) : undefined);
  const admission: Admission = {
    requestId: turn.requestId,
    trigger: triggerOf(context, turn.requestId),
    input: [],
    inputMessageIds: base === undefined ? newestQuestions(sql, conversation) : [],
    continuation: base !== undefined,
    extendsMessageId: base,
    clientTools: toolsOf(conversation),
    ...bodyOf(conversation)
  };
  const messageId = stored !== undefined && !hasMessage(sql, stored) ? stored : newId();
  const { generation } = conversation.row;
  journal.writer.append([
    admittedRecord(admission, { turnId: id, messageId, generation }, turn.startedAt),
    { type: "attempt-started", turnId: id, at: now, attempt: 1, kind: "first", firstChunk: 0, keeps: 0, repairs: 0 }
  ]);
  const writer = new PartialWriter(journal, { turnId: id, at: now, clientTools: toolsOf(conversation) });
  for (const chunks of bodies) writer.write(chunks);
  if (turn.stash !== undefined) {
    journal.writer.append([{ type: "turn-stashed", turnId: id, at: now, attempt: 1, data: turn.stash }]);
  }
}

function triggerOf({ sql, has }: TakeoverContext, requestId: string): TurnTrigger {
  const asked = (table: string, column: string) =>
    has(table) && sql.one(`SELECT 1 FROM ${table} WHERE ${column} = ? LIMIT 1`, requestId) !== undefined;
  if (asked("cf_think_submissions", "submission_id")) return "submission";
  if (asked("cf_agent_tool_child_runs", "request_id")) return "agent-tool";
  return "ws-chat";
}

/** Written by the part that carries the configuration; null without one. */
function bodyOf({ row }: Conversation): { body?: Record<string, unknown> } {
  return row.body === null ? {} : { body: row.body as Record<string, unknown> };
}

function toolsOf({ row }: Conversation): readonly RecordedClientTool[] {
  return (row.clientTools ?? []) as readonly unknown[] as readonly RecordedClientTool[];
}

/** Of the stream that was open, as it was cut into rows: arrays of chunks, each JSON text. */
function storedBodies({ sql, has }: TakeoverContext, requestId: string): string[][] {
  const older = has("cf_ai_chat_stream_metadata")
    ? sql.all<{ body: string }>(
        `SELECT body FROM cf_ai_chat_stream_chunks WHERE stream_id = (
           SELECT id FROM cf_ai_chat_stream_metadata WHERE request_id = ? AND status = 'streaming'
           ORDER BY created_at DESC LIMIT 1) ORDER BY chunk_index`,
        requestId
      )
    : [];
  const newer = has("cf_agents_streams")
    ? sql.all<{ body: string }>(
        `SELECT body FROM cf_agents_stream_blocks WHERE stream_id = (
           SELECT stream_id FROM cf_agents_streams WHERE tag = ? AND state = 'streaming'
           ORDER BY created_at DESC LIMIT 1) ORDER BY block`,
        requestId
      )
    : [];
  return [...older, ...newer].map(({ body }) => chunksOf(body)).filter((chunks) => chunks.length > 0);
}

/** A row holds an array of texts, or one chunk as it is. What is neither was cut off while it was written. */
function chunksOf(body: string): string[] {
  const parsed = parseJson(body);
  if (!parsed.ok) return [];
  const texts = Array.isArray(parsed.value) ? parsed.value : [body];
  return texts.flatMap((text) => {
    const chunk = typeof text === "string" ? parseJson(text) : undefined;
    // Written again: a stored chunk is one line.
    return chunk?.ok && isObject(chunk.value) ? [JSON.stringify(chunk.value)] : [];
  });
}

function startedMessage(bodies: readonly string[][]): string | undefined {
  const first = bodies[0]?.[0];
  const { type, messageId } = objectIn(first ?? null);
  return type === "start" && typeof messageId === "string" ? messageId : undefined;
}

function hasMessage(sql: Sql, id: string): boolean {
  return sql.one("SELECT 1 FROM assistant_messages WHERE session_id = '' AND id = ?", id) !== undefined;
}

function newestAnswer(sql: Sql, { row }: Conversation): string | undefined {
  const query = "SELECT id FROM assistant_messages WHERE session_id = '' AND id = ? AND role = 'assistant'";
  return row.leaf === null ? undefined : sql.one<{ id: string }>(query, row.leaf)?.id;
}

function newestQuestions(sql: Sql, { row }: Conversation): string[] {
  const query = "SELECT id FROM assistant_messages WHERE session_id = '' AND id = ? AND role = 'user'";
  const found = row.leaf === null ? undefined : sql.one<{ id: string }>(query, row.leaf);
  return found ? [found.id] : [];
}

function objectIn(text: string | null): Record<string, unknown> {
  const parsed = text === null ? undefined : parseJson(text);
  return parsed?.ok && isObject(parsed.value) ? parsed.value : {};
}

interface WrittenTurn {
  readonly turnId: TurnId;
  readonly at: number;
  readonly clientTools: readonly RecordedClientTool[];
}

/** Chunks as segments, with the records that a running attempt would have written beside them. */
class PartialWriter {
  readonly #journal: Journal;
  readonly #turn: WrittenTurn;
  #next = 0;
  #step = 0;

  constructor(journal: Journal, turn: WrittenTurn) {
    this.#journal = journal;
    this.#turn = turn;
  }

  write(chunks: readonly string[]): void {
    const of = { turnId: this.#turn.turnId, at: this.#turn.at, attempt: 1 };
    const segment: JournalRecord = { ...of, type: "content-segment", firstChunk: this.#next, chunks };
    this.#next += chunks.length;
    this.#journal.writer.append([segment, ...chunks.flatMap((chunk) => this.#callRecord(objectIn(chunk)) ?? [])]);
  }

  #callRecord(chunk: Record<string, unknown>): JournalRecord | undefined {
    const of = { turnId: this.#turn.turnId, at: this.#turn.at, attempt: 1 };
    if (chunk["type"] === "start-step") this.#step += 1;
    if (typeof chunk["toolCallId"] !== "string") return undefined;
    const call = { ...of, callId: callId(chunk["toolCallId"]) };
    switch (chunk["type"]) {
      case "tool-input-available": {
        const toolName = String(chunk["toolName"]);
        const isClient = this.#turn.clientTools.some(({ name }) => name === toolName);
        const executor = chunk["providerExecuted"] === true ? "provider" : isClient ? "client" : "server";
        const input = (chunk["input"] ?? null) as Json;
        const dynamic = chunk["dynamic"] === true;
        return { ...call, type: "call-started", step: Math.max(0, this.#step - 1), toolName, executor, dynamic, input };
      }
      case "tool-approval-request":
        return {
          ...call,
          type: "approval-asked",
          approvalId: approvalId(String(chunk["approvalId"])),
          descriptor: null
        };
      case "tool-output-available":
        if (chunk["preliminary"] === true) return undefined;
        return {
          ...call,
          type: "call-settled",
          outcome: { kind: "output", output: (chunk["output"] ?? null) as Json }
        };
      case "tool-output-error":
        return { ...call, type: "call-settled", outcome: { kind: "error", errorText: String(chunk["errorText"]) } };
      default:
        return undefined;
    }
  }
}
