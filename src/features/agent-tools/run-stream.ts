// What a run of this agent streams, as its parent reads it: from memory while it is followed, else from the journal. A run may be
// several turns, of which each goes on with the one before after more budget was granted: their chunks are numbered through.
import { happensWithin } from "../../host/deadline.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import type { ChatServices } from "../../feature/services.ts";
import {
  closeOpenParts,
  continueFold,
  foldChunk,
  foldedMessage,
  openingChunks,
  startFold,
  type FoldChunk
} from "../../model/index.ts";
import { parseJson } from "../../util/json.ts";
import { ChunkFeed, type AgentToolChunk } from "./chunk-feed.ts";
import type { AgentToolRunInspection, RunProgress } from "./run-progress.ts";
import { MAX_WAIT_MS } from "./run.ts";

export const OWN_RUN_TURN_TABLES: readonly TableDefinition[] = [
  // Bound: one row per turn that ended to wait for more budget, and goes on as another. Deleted: with the agent.
  {
    name: "cf_own_run_turns",
    create: [
      `CREATE TABLE cf_own_run_turns (
        run_id TEXT NOT NULL,
        first_chunk INTEGER NOT NULL,
        chunks INTEGER NOT NULL,
        request_id TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        PRIMARY KEY (run_id, first_chunk, request_id)
      ) WITHOUT ROWID`
    ]
  }
];

/** A turn of a run that another one goes on with. */
interface EarlierTurnRow {
  readonly first_chunk: number;
  readonly chunks: number;
  readonly request_id: string;
  readonly tokens: number;
}

/** Of chunks in one answer. */
const ANSWER_LIMIT_CHARS = 1024 * 1024;
/** What is streamed is in the journal after this. A number that was given away before would come again after a crash. */
const WRITTEN_MS = 550;

/** More than a turn has: no number that was given is given again. */
const FORGOTTEN_CHUNKS = 1_000_000_000;

/** The row of a run. */
interface StreamedRun {
  readonly run_id: string;
  readonly request_id: string;
  readonly message_id: string | null;
  readonly status: AgentToolRunInspection["status"];
}

export class RunStream {
  readonly #services: ChatServices;
  readonly #row: (runId: string) => StreamedRun | undefined;
  readonly #earlier: TableSet;
  /** By request. Kept while a parent follows the run. */
  readonly #feeds = new Map<string, ChunkFeed>();
  #isListening = false;

  constructor(services: ChatServices, row: (runId: string) => StreamedRun | undefined) {
    this.#services = services;
    this.#row = row;
    this.#earlier = new TableSet(services.sql, OWN_RUN_TURN_TABLES);
  }

  /** Nothing is streamed yet: the feed has everything from the first chunk on. */
  begin(requestId: string, firstChunk = 0): void {
    this.#listen();
    this.#feeds.set(requestId, new ChunkFeed(firstChunk - 1, this.#services.clock.now(), firstChunk));
  }

  /** Another turn is the run from now on. Part of the transaction that admits it. */
  goesOn(row: StreamedRun, requestId: string): void {
    const { turns } = this.#services;
    const { run_id: id, request_id: before } = row;
    const [firstChunk, chunks] = [this.#firstChunk(row), turns.storedChunks(before) ?? FORGOTTEN_CHUNKS];
    this.#earlier.run(
      "INSERT INTO cf_own_run_turns (run_id, first_chunk, chunks, request_id, tokens) VALUES (?, ?, ?, ?, ?)",
      ...[id, firstChunk, chunks, before, turns.usedTokens(before)]
    );
    this.begin(requestId, firstChunk + chunks);
    this.#feeds.get(before)?.release();
    this.#feeds.delete(before);
  }

  end(requestId: string): void {
    this.#feeds.get(requestId)?.end(this.#services.clock.now());
  }

  /** When it last said something. */
  activeAt(requestId: string): number {
    return this.#feeds.get(requestId)?.activeAt ?? 0;
  }

  /** Used by the turns before the newest. */
  earlierTokens(runId: string): number {
    return this.#earlierTurns(runId).reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** Until a chunk after this one is stored, the run ends, or the time is over. */
  async untilNew(runId: string, after: number, waitMs: number): Promise<void> {
    const { clock } = this.#services;
    const until = clock.now() + Math.min(waitMs, MAX_WAIT_MS);
    for (let leftMs = until - clock.now(); leftMs > 0; leftMs = until - clock.now()) {
      // Another turn may go on with it.
      const now = this.#row(runId);
      if (now?.status !== "running") return;
      const feed = this.#feed(now, after);
      if (feed.after(after, this.#storedCount(now)).length > 0) return;
      if (feed.isReadTo(after)) await happensWithin(leftMs, feed.changed, clock);
      else await happensWithin(Math.min(leftMs, WRITTEN_MS), feed.ended, clock);
    }
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    const { turns, clock } = this.#services;
    turns.listen({
      chunk: (turn, chunk) => {
        if (turn.steered) this.#feeds.get(turn.steered.rootRequestId)?.touch(clock.now());
        else this.#feeds.get(turn.requestId)?.push(chunk, clock.now());
      },
      takenBack: (turn, kept) => this.#feeds.get(turn.requestId)?.takenBack(JSON.stringify(kept))
    });
  }

  /** Of a run whose turn is open: what is in memory, or what the journal has with everything that follows. */
  #feed(row: StreamedRun, after: number): ChunkFeed {
    const known = this.#feeds.get(row.request_id);
    if (known?.covers(after)) return known;
    this.#listen();
    const feed = new ChunkFeed(after, known?.activeAt ?? this.#services.clock.now(), this.#firstChunk(row));
    this.#feeds.set(row.request_id, feed);
    known?.release();
    for (const chunk of this.#stored(row)) if (chunk.sequence > after) feed.add(chunk);
    return feed;
  }

  chunks(row: StreamedRun, after: number, isRunning: boolean): Pick<RunProgress, "chunks" | "more"> {
    const known = this.#feeds.get(row.request_id);
    if (known?.covers(after)) {
      const taken = upTo(known.after(after, this.#storedCount(row)), ANSWER_LIMIT_CHARS);
      if (!isRunning && !taken.more) this.#feeds.delete(row.request_id);
      return taken;
    }
    const stored = [...this.#stored(row)].filter(({ sequence }) => sequence > after);
    return upTo(stored, ANSWER_LIMIT_CHARS);
  }

  /** As they were streamed, as long as that is kept; after that, as the stored answer would be. */
  *#stored(row: StreamedRun): Generator<AgentToolChunk, void, undefined> {
    const { request_id, run_id } = row;
    const replay = this.#services.turns.replay(request_id);
    if (replay) {
      yield* withRestarts(this.#replayed(row, replay.chunks), replay.turn.messageId);
      return;
    }
    const messageId = this.#row(run_id)?.message_id ?? null;
    const message = messageId === null ? undefined : this.#services.transcript.get(messageId);
    for (const [sequence, chunk] of (message ? openingChunks(message, true) : []).entries()) {
      yield { sequence, body: JSON.stringify(chunk) };
    }
  }

  /** Of all turns of the run, numbered through. */
  *#replayed(row: StreamedRun, newest: Iterable<NumberedChunk>): Generator<NumberedChunk, void, undefined> {
    for (const { request_id, first_chunk } of this.#earlierTurns(row.run_id)) {
      const chunks = this.#services.turns.replay(request_id)?.chunks ?? [];
      for (const { seq, body } of chunks) yield { seq: first_chunk + seq, body };
    }
    const first = this.#firstChunk(row);
    for (const { seq, body } of newest) yield { seq: first + seq, body };
  }

  /** Of a run whose turn is over, all of them. */
  #storedCount(row: StreamedRun): number {
    const { turns } = this.#services;
    return turns.isOpen(row.request_id)
      ? this.#firstChunk(row) + (turns.storedChunks(row.request_id) ?? Infinity)
      : Infinity;
  }

  /** The number in the run that the first chunk of its newest turn has. */
  #firstChunk({ run_id: id }: StreamedRun): number {
    const last = this.#earlierTurns(id).at(-1);
    return last ? last.first_chunk + last.chunks : 0;
  }

  #earlierTurns(runId: string): readonly EarlierTurnRow[] {
    if (!this.#earlier.exists) return [];
    return this.#earlier.all<EarlierTurnRow>(
      "SELECT * FROM cf_own_run_turns WHERE run_id = ? ORDER BY first_chunk",
      runId
    );
  }
}

interface NumberedChunk {
  readonly seq: number;
  readonly body: string;
}

/** A number that is left out is that of a chunk which was taken back, or which a crash has lost: a reader may know it. */
function* withRestarts(chunks: Iterable<NumberedChunk>, messageId: string): Generator<AgentToolChunk, void, undefined> {
  let fold = startFold(messageId);
  let next = 0;
  for (const { seq, body } of chunks) {
    const restarts = seq > next ? JSON.stringify(closeOpenParts(foldedMessage(fold))) : undefined;
    yield { sequence: seq, body, ...(restarts !== undefined && { restarts }) };
    const chunk = parseJson(body);
    // Written by a stream of ours.
    if (chunk.ok)
      fold = foldChunk(restarts === undefined ? fold : continueFold(fold.message), chunk.value as FoldChunk);
    next = seq + 1;
  }
}

function upTo(chunks: readonly AgentToolChunk[], limitChars: number): Pick<RunProgress, "chunks" | "more"> {
  let chars = 0;
  const over = chunks.findIndex(({ body }, index) => (chars += body.length) > limitChars && index > 0);
  return over < 0 ? { chunks, more: false } : { chunks: chunks.slice(0, over), more: true };
}
