// What a state facet stores. The names are part of the contract: operators read them.
import type { TableDefinition } from "../../host/table-set.ts";

export const CHAT_SDK_TABLES: readonly TableDefinition[] = [
  // Bound: the threads a bot follows. Deleted: by `unsubscribe`.
  {
    name: "chat_sdk_state_subscriptions",
    create: [`CREATE TABLE chat_sdk_state_subscriptions (thread_id TEXT PRIMARY KEY) WITHOUT ROWID`]
  },
  // Bound: one for each thread. Deleted: when it is released or has expired.
  {
    name: "chat_sdk_state_locks",
    create: [
      `CREATE TABLE chat_sdk_state_locks
        (thread_id TEXT PRIMARY KEY, token TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID`
    ]
  },
  // Bound: the adapter's keys. Deleted: by `delete`, or when they have expired.
  {
    name: "chat_sdk_state_cache",
    create: [
      `CREATE TABLE chat_sdk_state_cache (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER) WITHOUT ROWID`
    ]
  },
  // Bound: the `maxSize` of each call. Deleted: when taken, displaced by newer ones, or expired.
  {
    name: "chat_sdk_state_queue",
    create: [
      `CREATE TABLE chat_sdk_state_queue (id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id TEXT NOT NULL,
        value TEXT NOT NULL, enqueued_at INTEGER NOT NULL, expires_at INTEGER NOT NULL)`,
      `CREATE INDEX chat_sdk_state_queue_thread ON chat_sdk_state_queue (thread_id, id)`
    ]
  },
  // Bound: the `maxLength` of each call. Deleted: when displaced by newer ones, or expired.
  {
    name: "chat_sdk_state_lists",
    create: [
      `CREATE TABLE chat_sdk_state_lists (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL,
        value TEXT NOT NULL, expires_at INTEGER)`,
      `CREATE INDEX chat_sdk_state_lists_key ON chat_sdk_state_lists (key, id)`
    ]
  },
  // Bound: one row, the clean-up that is scheduled. Deleted: when nothing is left to expire.
  {
    name: "chat_sdk_state_metadata",
    create: [`CREATE TABLE chat_sdk_state_metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`]
  }
];
