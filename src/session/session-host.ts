// What a session needs of the object it lives in, and where an agent leaves it. One object has one Conversation per
// session id and one place to announce changes, whoever asks: the session a user holds and the engine share them.
import type { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import type { Conversation } from "../journal/conversation.ts";
import type { ChangeLog } from "./change-log.ts";
import { SessionHostMissingError } from "./errors.ts";
import { MessageChanges } from "./message-changes.ts";

export interface SessionHost {
  readonly sql: Sql;
  readonly blobs: Blobs;
  /** Keeps a row nobody can read. */
  readonly setAside: Quarantine;
  now(): number;
  /** The one Conversation object of this id: it caches its row. */
  conversation(id: string): Conversation;
  /** Lets other events of the object run in between long work. Absent: it is not interrupted. */
  pause?(): Promise<void>;
  /** Absent when nobody could be listening. */
  broadcast?(frame: string): void;
}

/** One session of one object. */
export interface SessionScope {
  readonly host: SessionHost;
  readonly sessionId: string;
  readonly conversation: Conversation;
  readonly changes: MessageChanges;
  /** Where changes are recorded; set with the journal of the conversation that the agent holds. Other sessions have none. */
  log?: ChangeLog;
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
  if (host === undefined) throw new SessionHostMissingError();
  return host;
}

export function sessionScope(host: SessionHost, sessionId: string): SessionScope {
  const known = scopes.get(host) ?? new Map<string, SessionScope>();
  scopes.set(host, known);
  const scope: SessionScope = known.get(sessionId) ?? {
    host,
    sessionId,
    conversation: host.conversation(sessionId),
    changes: new MessageChanges()
  };
  known.set(sessionId, scope);
  return scope;
}
