// Answers on their way, each a fold of numbered chunks. A replay is folded beside what is shown and takes its place when
// it is complete, so that nothing on the screen goes back while a stream is joined; chunks that were applied already
// change nothing. Pure.
import type { UIMessage } from "ai";
import { continueFold, foldChunk, startFold, type MessageFold } from "../model/message-fold.ts";
import type { ChunkFrame } from "./frames.ts";
import { adoptNewerToolParts } from "./message-list.ts";

export interface FoldedChunks {
  readonly fold: MessageFold;
  /** Number of the newest chunk in it. */
  readonly seq: number;
  /** The last message when it began: its place is behind that one, whatever is asked meanwhile. */
  readonly behind: string | undefined;
}

export interface OpenStream {
  /** What is shown of it. */
  readonly live: FoldedChunks | undefined;
  /** Asked for; "empty" until its first chunk. */
  readonly replay: FoldedChunks | "empty" | undefined;
  /** Its connection is gone. It stays on show until the server says more. */
  readonly isSuspended: boolean;
}

export type Streams = Readonly<Record<string, OpenStream>>;

interface Conversation {
  readonly stored: readonly UIMessage[];
  readonly streams: Streams;
}

export function beginReplay(streams: Streams, requestId: string): Streams {
  const known = streams[requestId];
  return {
    ...streams,
    [requestId]: { live: known?.live, replay: "empty", isSuspended: known?.isSuspended ?? false }
  };
}

/** The replay is all there was: it is shown from here on, and live chunks follow. */
export function completeReplay(conversation: Conversation, requestId: string): { streams: Streams } {
  const { streams } = conversation;
  const stream = streams[requestId];
  if (stream?.replay === undefined) return { streams };
  const live = stream.replay === "empty" ? stream.live : stream.replay;
  return { streams: { ...streams, [requestId]: { live, replay: undefined, isSuspended: false } } };
}

/** The same object if the chunk is in it already. */
export function foldFrame(conversation: Conversation, frame: ChunkFrame): Streams {
  const { streams } = conversation;
  const stream = streams[frame.requestId];
  if (frame.isReplay) {
    if (stream?.replay === undefined) return streams;
    const before = stream.replay === "empty" ? undefined : stream.replay;
    const replay = folded(conversation, before, frame);
    return replay === before ? streams : { ...streams, [frame.requestId]: { ...stream, replay } };
  }
  // What an earlier connection brought may be ahead of what the server still has.
  const before = stream?.isSuspended ? undefined : stream?.live;
  const live = folded(conversation, before, frame);
  if (live === before) return streams;
  return { ...streams, [frame.requestId]: { live, replay: stream?.replay, isSuspended: false } };
}

function folded(conversation: Conversation, before: FoldedChunks | undefined, frame: ChunkFrame): FoldedChunks {
  if (before !== undefined && frame.seq !== undefined && frame.seq <= before.seq) return before;
  const { chunk } = frame;
  const isNewMessage = chunk.type === "start" && chunk.messageId !== undefined;
  const fold = before === undefined || isNewMessage ? firstFold(conversation, frame) : before.fold;
  const known = before ?? conversation.streams[frame.requestId]?.live;
  const behind = known ? known.behind : conversation.stored.at(-1)?.id;
  return { fold: foldChunk(fold, chunk), seq: frame.seq ?? before?.seq ?? -1, behind };
}

function firstFold({ stored }: Conversation, { requestId, chunk, isContinuation }: ChunkFrame): MessageFold {
  if (chunk.type === "start" && chunk.messageId !== undefined) return startFold(chunk.messageId);
  const last = isContinuation ? stored.findLast(({ role }) => role === "assistant") : undefined;
  // The transcript that follows the end gives the message its own id.
  return last ? continueFold(last) : startFold(`answer-to-${requestId}`);
}

/** What was streamed of a request beyond this message is taken back. */
export function takeBack(streams: Streams, requestId: string, message: UIMessage): Streams {
  const stream = streams[requestId];
  if (stream?.live === undefined) return streams;
  const live = { ...stream.live, fold: continueFold(message) };
  return { ...streams, [requestId]: { ...stream, live, replay: undefined } };
}

/** News of stored messages reach those of their calls that are part of a stream. */
export function takeOver(streams: Streams, messages: readonly UIMessage[]): Streams {
  const byId = new Map(messages.map((message) => [message.id, message]));
  let isChanged = false;
  const next: Record<string, OpenStream> = {};
  for (const [id, stream] of Object.entries(streams)) {
    const live = adopt(stream.live, byId);
    const replay = stream.replay === "empty" ? stream.replay : adopt(stream.replay, byId);
    const isSame = live === stream.live && replay === stream.replay;
    next[id] = isSame ? stream : { ...stream, live, replay };
    isChanged ||= !isSame;
  }
  return isChanged ? next : streams;
}

function adopt(chunks: FoldedChunks | undefined, messages: ReadonlyMap<string, UIMessage>): FoldedChunks | undefined {
  const news = chunks && messages.get(chunks.fold.message.id);
  if (chunks === undefined || news === undefined) return chunks;
  const message = adoptNewerToolParts(chunks.fold.message, news);
  return message === chunks.fold.message ? chunks : { ...chunks, fold: { ...chunks.fold, message } };
}
