// The deployed worker as tests reach it: by URL, by stub, and by a look into an object's storage. Names are unique per
// call because all files share one runtime and its storage.
import { env as workerEnv, exports as workerExports } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import type { Agent } from "../../src/agent-class/index.ts";
import { runtimeOf } from "../../src/agent/runtime.ts";
import { ALL_TABLES } from "../../src/testing/stored-tables.ts";
import type { Marked, Room } from "../conformance/agents.ts";
import type { ImportParams, Library } from "../conformance/workflow-agents.ts";
import type { HookRecorder } from "../conformance/hook-recorder.ts";
import { ClientSocket } from "./client-socket.ts";
import type { Clerk } from "./clerk.ts";
import type { Librarian } from "./librarian.ts";
import type { Programmer } from "./coder.ts";
import type { Captain } from "./crew.ts";
import type { Harbour } from "./harbour.ts";
import type { Extended } from "./extended.ts";
import type { Purser } from "./purser.ts";
import type { Releaser } from "./releaser.ts";
import type { Talker } from "./talker.ts";
import type { Triager, TriageParams } from "./triager.ts";

export interface TestEnv {
  Room: DurableObjectNamespace<Room>;
  Clerk: DurableObjectNamespace<Clerk>;
  Talker: DurableObjectNamespace<Talker>;
  HookRecorder: DurableObjectNamespace<HookRecorder>;
  Librarian: DurableObjectNamespace<Librarian>;
  Captain: DurableObjectNamespace<Captain>;
  Harbour: DurableObjectNamespace<Harbour>;
  Programmer: DurableObjectNamespace<Programmer>;
  Extended: DurableObjectNamespace<Extended>;
  Purser: DurableObjectNamespace<Purser>;
  Releaser: DurableObjectNamespace<Releaser>;
  AIAssistant: DurableObjectNamespace<Marked>;
  BOOKS: DurableObjectNamespace<Library>;
  IMPORTER: Workflow<ImportParams>;
  Triager: DurableObjectNamespace<Triager>;
  TRIAGE: Workflow<TriageParams>;
  LOADER: WorkerLoader;
}

const ORIGIN = "http://agents.test";

// Both are typed by generated files in an application; here by wrangler.jsonc and worker.ts.
export const env = workerEnv as object as TestEnv;
const worker = (workerExports as object as { default: Fetcher }).default;

let names = 0;

export function uniqueName(hint = "object"): string {
  return `${hint}-${++names}-${crypto.randomUUID().slice(0, 8)}`;
}

/** A stub that has started nothing yet. */
export function rawStub<T extends Agent>(namespace: DurableObjectNamespace<T>, name: string): DurableObjectStub<T> {
  return namespace.get(namespace.idFromName(name));
}

export function fetchPath(path: string, init?: RequestInit): Promise<Response> {
  return worker.fetch(new Request(new URL(path, ORIGIN), init));
}

/** The answer to an upgrade, whatever it is. */
export function upgrade(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetchPath(path, { headers: { ...headers, Upgrade: "websocket" } });
}

export async function connect(path: string): Promise<ClientSocket> {
  const response = await upgrade(path);
  if (!response.webSocket) throw new Error(`${path} was refused: ${response.status} ${await response.text()}`);
  return new ClientSocket(response.webSocket);
}

type Row = Record<string, SqlStorageValue>;

/** Runs one statement on what an object stored. Builds the object if it is cold, but does not start the agent. */
export function sqlOf<T extends Agent>(
  stub: DurableObjectStub<T>,
  query: string,
  ...values: (string | number | null)[]
): Promise<Row[]> {
  const parts = Object.assign(query.split("?"), { raw: [] });
  return inside(stub, (agent) => runMakingTables(agent, () => agent.sql<Row>(parts, ...values)));
}

/** A test need not know which tables the agent has needed so far: one that does not exist yet is made. */
function runMakingTables<T>(agent: Agent, run: () => T): T {
  try {
    return run();
  } catch (error) {
    const missing = error instanceof Error ? /no such table: (\w+)/.exec(error.message)?.[1] : undefined;
    const table = ALL_TABLES.find(({ name }) => name === missing);
    if (table === undefined) throw error;
    runtimeOf(agent).sql.catalog.make([table]);
    return runMakingTables(agent, run);
  }
}

export function alarmOf<T extends Agent>(stub: DurableObjectStub<T>): Promise<number | null> {
  return inside(stub, (_agent, state) => state.storage.getAlarm());
}

export function setAlarmOf<T extends Agent>(stub: DurableObjectStub<T>, atMs: number | null): Promise<void> {
  return inside(stub, (_agent, state) => (atMs === null ? state.storage.deleteAlarm() : state.storage.setAlarm(atMs)));
}

/** Runs in the object's own context. */
export function inside<T extends Agent, R>(
  stub: DurableObjectStub<T>,
  work: (agent: T, state: DurableObjectState) => R | Promise<R>
): Promise<R> {
  // The overload for branded objects cannot see through a type parameter.
  return runInDurableObject(stub as DurableObjectStub, (agent: DurableObject, state) =>
    work(agent as object as T, state)
  );
}

/**
 * The message a call fails with. A stub's promise must not be handed to `expect`, which probes it, and must be disposed
 * when it failed: until then it keeps the object from being evicted.
 */
export async function errorOf(work: () => Promise<unknown>): Promise<string> {
  const pending = work();
  try {
    await pending;
  } catch (error) {
    dispose(pending);
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error("The call was expected to fail.");
}

/** A call's result as plain data, disposed: one that was passed on by its object keeps it from being evicted. */
export async function plain<T>(pending: Promise<T>): Promise<T> {
  const result = await pending;
  const copy = structuredClone(result);
  dispose(result);
  return copy;
}

function dispose(value: unknown): void {
  if (typeof value === "object" && value !== null && Symbol.dispose in value) (value as Disposable)[Symbol.dispose]();
}
