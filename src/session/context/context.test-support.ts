// An agent with a session over an in-memory SQLite, and providers that remember what they were asked, for this folder's
// tests.
import type { SqliteDatabase } from "../../journal/memory-sql.test-support.ts";
import { provideSessionHost } from "../session-host.ts";
import { openTestSession, type TestSession } from "../session.test-support.ts";
import { Session } from "../session.ts";

export class TestAgent {
  sql(_strings: TemplateStringsArray): unknown[] {
    return [];
  }
}

export interface AgentSession extends TestSession {
  agent: TestAgent;
  /** A new one, as after `configureSession` of a new process. */
  session(): Session;
  restart(): AgentSession;
}

/** Test files pass a fresh `new DatabaseSync(":memory:")`. */
export function openAgent(database: SqliteDatabase): AgentSession {
  return wire(openTestSession(database));
}

function wire(test: TestSession): AgentSession {
  const agent = new TestAgent();
  provideSessionHost(agent, test.host);
  return { ...test, agent, session: () => Session.create(agent), restart: () => wire(test.reboot()) };
}

/** A writable text outside of the agent; every call is noted. */
export class NotedText {
  readonly calls: string[] = [];
  content: string | null;

  constructor(content: string | null = null) {
    this.content = content;
  }

  init(label: string, sessionId: string) {
    this.calls.push(`init ${label} ${sessionId}`);
  }

  async get() {
    this.calls.push("get");
    return this.content;
  }

  async set(content: string) {
    this.calls.push(`set ${content}`);
    this.content = content;
  }

  get reads(): number {
    return this.calls.filter((call) => call === "get").length;
  }
}

/** Documents outside of the agent. */
export class NotedDocuments {
  readonly documents: Map<string, string>;
  readonly writes: unknown[][] = [];

  constructor(documents: Record<string, string> = {}) {
    this.documents = new Map(Object.entries(documents));
  }

  async get() {
    return [...this.documents.keys()].map((key) => `- ${key}`).join("\n") || null;
  }

  async load(key: string) {
    if (key === "broken") throw new Error("The bucket is down.");
    return this.documents.get(key) ?? null;
  }

  async set(key: string, content: string, description?: string) {
    this.writes.push([key, content, description]);
    this.documents.set(key, content);
  }
}
