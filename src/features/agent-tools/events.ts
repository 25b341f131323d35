// What clients of a parent are sent about its runs: `agent-tool-event` frames, numbered so that a client which knows a
// number can leave the frame out. A client that connects is given the runs that are kept; what a run says meanwhile waits
// until it has been given what came before.
import { socketOf, type Connection } from "../../host/connection.ts";
import { isObject, parseJson } from "../../util/json.ts";
import type { AgentToolChunk } from "./chunk-feed.ts";
import type { RunOwner } from "./ports.ts";
import { isOpenRun } from "./run.ts";
import { displayOf, type RunRow } from "./run-table.ts";

/** Runs that a client is sent when it connects; of these, the newest with everything their children said. */
export const REPLAYED_RUNS = 200;
export const REPLAYED_WITH_CHUNKS = 20;

export type AgentToolEvent =
  | {
      readonly kind: "started";
      readonly runId: string;
      readonly agentType: string;
      readonly inputPreview?: string;
      readonly order: number;
      readonly display?: object;
    }
  /** `body`: one UI message chunk as JSON. */
  | { readonly kind: "chunk"; readonly runId: string; readonly body: string; readonly restarts?: object }
  /** The same of a run of which something was taken back. Clients that cannot take words back do not know it. */
  | { readonly kind: "rewritten"; readonly runId: string; readonly body: string; readonly restarts?: object }
  | { readonly kind: "finished"; readonly runId: string; readonly summary: string }
  | { readonly kind: "error"; readonly runId: string; readonly error: string }
  | { readonly kind: "aborted"; readonly runId: string; readonly reason?: string }
  | {
      readonly kind: "interrupted";
      readonly runId: string;
      readonly error: string;
      readonly reason?: string;
      readonly childStillRunning?: boolean;
    };

interface Frame {
  readonly type: "agent-tool-event";
  readonly parentToolCallId?: string;
  readonly sequence: number;
  readonly replay?: true;
  readonly event: AgentToolEvent;
}

/** The runs that clients are shown. */
interface ShownRuns extends Pick<RunOwner, "runtime" | "table"> {
  /** Whether the child of a run is followed in this process. */
  isFollowed(runId: string): boolean;
  /** Reads what a child has said so far; empty where it cannot be asked. Never rejects. */
  replayed(row: RunRow): Promise<readonly AgentToolChunk[]>;
}

export class RunEvents {
  readonly #owner: ShownRuns;
  /** Runs of which clients were shown more than what stays. */
  readonly #rewritten = new Set<string>();
  /** What a client gets after it was given what came before, by run. */
  readonly #held = new Map<Connection, Map<string, Frame[]>>();

  constructor(owner: ShownRuns) {
    this.#owner = owner;
  }

  started(row: RunRow): void {
    this.#broadcast(startedFrame(row));
  }

  chunks(row: RunRow, chunks: readonly AgentToolChunk[]): void {
    for (const chunk of chunks) {
      if (chunk.restarts !== undefined) this.#rewritten.add(row.run_id);
      this.#broadcast(chunkFrame(row, chunk, this.#rewritten.has(row.run_id) ? "rewritten" : "chunk"));
    }
  }

  ended(row: RunRow): void {
    this.#rewritten.delete(row.run_id);
    const frame = endFrame(row);
    if (frame) this.#broadcast(frame);
  }

  /** After what the connection is sent by itself. */
  connected(connection: Connection): void {
    const rows = this.#owner.table.list(REPLAYED_RUNS);
    if (rows.length === 0) return;
    const older = rows.slice(0, -REPLAYED_WITH_CHUNKS);
    const newest = rows.slice(-REPLAYED_WITH_CHUNKS);
    const held = new Map<string, Frame[]>();
    // A run that is open and not followed yet says everything from the beginning, to all clients, when it is.
    for (const { run_id: id, status } of newest) {
      if (!isOpenRun(status) || this.#owner.isFollowed(id)) held.set(id, []);
    }
    this.#held.set(connection, held);
    this.#owner.runtime.background(this.#replay(connection, { older, newest }));
  }

  async #replay(connection: Connection, rows: { older: readonly RunRow[]; newest: readonly RunRow[] }): Promise<void> {
    // The frames that every connection begins with are sent in the same go as this call.
    await Promise.resolve();
    try {
      for (const row of rows.older) this.#send(connection, [startedFrame(row), endFrame(row)]);
      const said = rows.newest.map((row) =>
        this.#held.get(connection)?.has(row.run_id) ? this.#owner.replayed(row) : []
      );
      for (const row of rows.newest) this.#send(connection, [startedFrame(row)]);
      for (const [index, row] of rows.newest.entries()) this.#catchUp(connection, row, (await said[index]) ?? []);
    } finally {
      this.#held.delete(connection);
    }
  }

  /** What the run said before, then what it said meanwhile and the client does not have. */
  #catchUp(connection: Connection, row: RunRow, chunks: readonly AgentToolChunk[]): void {
    const held = this.#held.get(connection);
    const waiting = held?.get(row.run_id);
    if (!waiting) return;
    this.#send(connection, [...chunks.map((chunk) => chunkFrame(row, chunk)), endFrame(row)]);
    held?.delete(row.run_id);
    const last = (chunks.at(-1)?.sequence ?? -1) + 1;
    for (const frame of waiting) if (frame.sequence > last) connection.send(JSON.stringify(frame));
  }

  #send(connection: Connection, frames: readonly (Frame | undefined)[]): void {
    for (const frame of frames) if (frame) connection.send(JSON.stringify({ ...frame, replay: true }));
  }

  #broadcast(frame: Frame): void {
    const { runId } = frame.event;
    let text: string | undefined;
    for (const connection of this.#owner.runtime.connections.list()) {
      if (!socketOf(connection).attachment.protocol) continue;
      const waiting = this.#held.get(connection)?.get(runId);
      if (waiting) waiting.push(frame);
      else connection.send((text ??= JSON.stringify(frame)));
    }
  }
}

function frameOf(row: RunRow, sequence: number, event: AgentToolEvent): Frame {
  return {
    type: "agent-tool-event",
    parentToolCallId: row.call_id ?? undefined,
    sequence,
    event
  };
}

function startedFrame(row: RunRow): Frame {
  const display = displayOf(row);
  return frameOf(row, 0, {
    kind: "started",
    runId: row.run_id,
    agentType: row.class_name,
    inputPreview: row.preview ?? undefined,
    order: row.display_order,
    display
  });
}

/** The child counts its chunks from 0. */
function chunkFrame(
  row: RunRow,
  { sequence, body, restarts }: AgentToolChunk,
  kind: "chunk" | "rewritten" = "chunk"
): Frame {
  const kept = restarts === undefined ? undefined : parseJson(restarts);
  return frameOf(row, sequence + 1, {
    kind,
    runId: row.run_id,
    body,
    ...(kept?.ok && isObject(kept.value) && { restarts: kept.value })
  });
}

/** Undefined while the run is open. */
function endFrame(row: RunRow): Frame | undefined {
  const event = endEvent(row);
  return event && frameOf(row, row.last_event, event);
}

function endEvent(row: RunRow): AgentToolEvent | undefined {
  const { run_id: runId } = row;
  switch (row.status) {
    case "completed":
      return { kind: "finished", runId, summary: row.summary ?? "" };
    case "error":
      return { kind: "error", runId, error: row.error ?? "" };
    case "aborted":
      return { kind: "aborted", runId, reason: row.error ?? undefined };
    case "interrupted":
      return {
        kind: "interrupted",
        runId,
        error: row.error ?? "",
        reason: row.reason ?? undefined,
        childStillRunning: row.still_running !== null ? row.still_running === 1 : undefined
      };
    default:
      return undefined;
  }
}
