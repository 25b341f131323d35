// What a place for messages must offer to be a session's storage. The default keeps them in the object's SQLite
// (message-store.ts); a custom one may answer later, so every result may be a promise.
import type { SearchResult } from "./search.ts";
import type { SessionMessage } from "./session-message.ts";

type Maybe<T> = T | Promise<T>;

/** Size of one stored message, without its content. */
export interface HistoryRowStat {
  readonly id: string;
  readonly role: string;
  readonly bytes: number;
}

/** The newest part of a path. */
export interface RecentHistoryResult {
  readonly messages: SessionMessage[];
  /** True when older messages were left out. */
  readonly truncated: boolean;
  /** Of the whole path. */
  readonly totalContentBytes: number;
}

/** A summary that histories show in place of the messages from one to another. */
export interface StoredCompaction {
  readonly id: string;
  readonly summary: string;
  readonly fromMessageId: string;
  readonly toMessageId: string;
  readonly createdAt: string;
}

export interface SessionProvider {
  getMessage(id: string): Maybe<SessionMessage | null>;
  /** Root to leaf. No leaf: the latest. Unknown leaf: empty. */
  getHistory(leafId?: string | null): Maybe<SessionMessage[]>;
  getLatestLeaf(): Maybe<SessionMessage | null>;
  /** Children of a message, oldest first. */
  getBranches(messageId: string): Maybe<SessionMessage[]>;
  getPathLength(leafId?: string | null): Maybe<number>;
  /** An id that is already stored is left as it is. */
  appendMessage(message: SessionMessage, parentId?: string | null): unknown;
  updateMessage(message: SessionMessage): unknown;
  deleteMessages(messageIds: string[]): unknown;
  clearMessages(): unknown;
  getRecentHistory?(
    leafId: string | null | undefined,
    maxContentBytes: number,
    minRecentMessages?: number
  ): Maybe<RecentHistoryResult>;
  /** Best first. The query is a person's text, never the syntax of a search engine. */
  searchMessages?(query: string, limit?: number): Maybe<SearchResult[]>;
  /** Without these two the session cannot be compacted. */
  addCompaction?(summary: string, fromMessageId: string, toMessageId: string): Maybe<StoredCompaction>;
  /** Oldest first. */
  getCompactions?(): Maybe<StoredCompaction[]>;
  getHistoryRowStats?(leafId?: string | null): Maybe<HistoryRowStat[]>;
}
