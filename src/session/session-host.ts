// What a session needs of the object it lives in, and where an agent leaves it. One object has one scope per session id:
// the session that user code holds and the engine share its Conversation, its rows and its listeners.
import type { Blobs } from "../host/blobs.ts";
import type { Cached } from "../host/cached.ts";
import type { Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import type { Conversation } from "../journal/conversation.ts";
import type { ChangeLog } from "./change-log.ts";
import { sessionErrors } from "./errors.ts";
import { MessageChanges } from "./message-changes.ts";
import { MessageRows } from "./message-rows.ts";
import { OverlayRows } from "./overlay-rows.ts";
import { cachedUsage, type UsageRow } from "./tokens-reported.ts";

export interface SessionHost {
  readonly sql: Sql;
  readonly blobs: Blobs;
  /** Keeps a row that cannot be read. */
  readonly setAside: Quarantine;
  /** How log lines name the agent. */
  readonly label?: string;
  now(): number;
  /** The one Conversation object of this id: it caches its row. */
  conversation(id: string): Conversation;
  /** Lets other events of the object run in between long work. Absent: it is not interrupted. */
  pause?(): Promise<void>;
  /** Absent when there can be no listener. */
  broadcast?(frame: string): void;
}

/** One session of one object. */
export interface SessionScope {
  readonly host: SessionHost;
  readonly sessionId: string;
  readonly conversation: Conversation;
  readonly changes: MessageChanges;
  /** The session's rows. All stores of a session share them, and what they keep in memory. */
  readonly rows: MessageRows;
  readonly summaries: OverlayRows;
  readonly usage: Cached<UsageRow | undefined>;
  /** Where changes are recorded; set with the journal of the conversation that the agent holds. Other sessions have none. */
  log?: ChangeLog;
}

/** What a log line about storage begins with. */
export function labelOf({ label }: SessionHost): string {
  return label === undefined ? "" : `${label}: `;
}

/** Now, in SQLite's own form of a time, so that the column reads like those of other programs. */
export function createdAt(host: SessionHost): string {
  return new Date(host.now()).toISOString().replace("T", " ").replace("Z", "");
}

const hosts = new WeakMap<object, SessionHost>();
const scopes = new WeakMap<SessionHost, Map<string, SessionScope>>();

/** Called once by the agent's own wiring; `Session.create(agent)` finds it. */
export function provideSessionHost(agent: object, host: SessionHost): void {
  hosts.set(agent, host);
}

/** Throws SessionHostMissingError for anything that is not a wired agent. */
export function sessionHostOf(agent: object): SessionHost {
  const host = hosts.get(agent);
  if (host === undefined) throw sessionErrors.SessionHostMissingError();
  return host;
}

export function sessionScope(host: SessionHost, sessionId: string): SessionScope {
  const known = scopes.get(host) ?? new Map<string, SessionScope>();
  scopes.set(host, known);
  const scope: SessionScope = known.get(sessionId) ?? {
    host,
    sessionId,
    conversation: host.conversation(sessionId),
    changes: new MessageChanges(),
    rows: new MessageRows(host.sql, sessionId, host.setAside),
    summaries: new OverlayRows(host.sql, sessionId),
    usage: cachedUsage(host.sql, sessionId)
  };
  known.set(sessionId, scope);
  return scope;
}
