// Makes the fixture databases of the take-over: runs the published packages of the original on workerd, with the project
// in test/takeover/project, has it store data of every kind, kills the process in the middle of its work, and writes down
// what is in its files as SQL. Run it with `npm run takeover:fixtures` (it installs the packages on first use); the result
// is checked in, so that tests need neither the packages nor the minute this takes.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import WebSocket from "ws";
import {
  bundleOriginal,
  isOriginalInstalled,
  PACKAGES,
  type OriginalBetween,
  type OriginalLayout
} from "./original-bundle.ts";
import { serveWorker, type WorkerServer } from "./serve-worker.ts";

export const PROJECT = join(import.meta.dirname, "..", "test", "takeover", "project");
const FIXTURES = join(import.meta.dirname, "..", "test", "takeover", "fixtures");
const LAYOUTS: readonly OriginalLayout[] = ["layout-a", "layout-b"];
const OBJECT_FILE = /^[0-9a-f]{64}.*\.sqlite$/;
const BETWEEN: readonly OriginalBetween[] = ["think-0.15", "think-0.18"];
/** What is written soon after an answer has begun is in the file by then. */
const SETTLED_MS = 1_500;

/** Calls a method of an object of the project. */
export async function callObject(
  server: Pick<WorkerServer, "url">,
  { object, name, method }: { object: string; name: string; method: string },
  ...args: unknown[]
): Promise<unknown> {
  const url = `${server.url}/agents/${object}/${name}?do=${method}`;
  const response = await fetch(url, { method: "POST", body: JSON.stringify(args) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${object} ${name} ${method}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** Data of every kind, in as many objects as it takes. Returns their addresses. */
export async function fillObjects(server: WorkerServer, layout: OriginalLayout): Promise<Set<string>> {
  const filled = new Set(["assistant/asking", "assistant/client"]);
  const on =
    (object: string, name: string) =>
    (method: string, ...args: unknown[]) => {
      filled.add(`${object}/${name}`);
      return callObject(server, { object, name, method }, ...args);
    };
  const plain = on("counter", "plain");
  await plain("add", 2);
  for (const method of ["book", "finished", "unmanaged", "managed", "enqueue"]) await plain(method);
  await on("counter", "idle")("soon", 2);

  const full = on("assistant", "full");
  await full("prepare");
  await full("ask", "say Hello there.", "u1");
  await full("ask", 'call charge {"invoice":"i1"}', "u2");
  await full("ask", 'call ping {"host":"h1"}', "u3");
  await full("ask", 'call deploy {"ref":"v1"}', "u4");
  await full("compactNow");
  await full("child", "owls");
  if (layout === "layout-a") await full("writeFiles");
  await full("book");
  await full("ask", 'call research {"query":"say Owls fly."}', "u5");
  // The address answers nothing; the server is registered all the same.
  await full("connectMcp", "http://127.0.0.1:9/mcp").catch(() => undefined);
  await full("submit", "say Submitted one.", "k1");
  await until(async () => JSON.stringify(await full("submissions")).includes("completed"));
  await full("submit", "hold Submitted two words", "k2");
  await full("submit", "say Submitted three.", "k3");

  await on("assistant", "branches")("branchAndAttach");
  await on("assistant", "cut")("askAndLeave", "hold This answer was cut off", "u1");
  await on("assistant", "acting")("askAndLeave", 'call charge {"invoice":"i9","hold":true}', "u1");
  await on("assistant", "kid")("childAndLeave", "owls", "hold Owls are birds");
  await on("assistant", "running")("askAndLeave", 'call research {"query":"hold Owls fly"}', "u1");
  await on("assistant", "recovering")("askAndLeave", "hold This answer was cut off", "u1");
  if (layout === "layout-b") await on("assistant", "files")("writeNewFiles");
  await askAsClient(server, "asking", 'call remove {"user":"bob"}');
  await askAsClient(server, "client", "call colour {}");
  await pause(SETTLED_MS);
  return filled;
}

/** A turn that a client asks for, with a tool of its own, until the turn waits for it. */
async function askAsClient(server: WorkerServer, name: string, text: string): Promise<void> {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/agents/assistant/${name}`);
  await new Promise((resolve) => socket.once("open", resolve));
  const clientTools = [{ name: "colour", description: "The visitor's colour.", parameters: { type: "object" } }];
  const messages = [{ id: "u1", role: "user", parts: [{ type: "text", text }] }];
  const init = { method: "POST", body: JSON.stringify({ messages, clientTools, model: "small" }) };
  const ended = new Promise<void>((resolve) => {
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as { type: string; done?: boolean };
      if (frame.type === "cf_agent_use_chat_response" && frame.done) resolve();
    });
  });
  socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id: `r-${name}`, init }));
  await ended;
  socket.terminate();
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await pause(50);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Every table of a file as statements that make it again. What the platform keeps for itself is left out. */
export function dumpDatabase(file: string): string {
  const database = new DatabaseSync(file);
  const entries = database
    .prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'index', rowid")
    .all() as { type: string; name: string; sql: string }[];
  const virtual = entries.filter(({ sql }) => /^CREATE VIRTUAL/i.test(sql)).map(({ name }) => name);
  const isOwn = ({ name }: { name: string }) =>
    !/^(?:_cf_|sqlite_)/.test(name) && !virtual.some((table) => name.startsWith(`${table}_`));
  const lines: string[] = [];
  for (const { type, name, sql } of entries.filter(isOwn)) {
    lines.push(`${sql.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ")};`);
    if (type === "table") lines.push(...rowsOf(database, name));
  }
  database.close();
  return `${lines.join("\n")}\n`;
}

function rowsOf(database: DatabaseSync, table: string): string[] {
  const rows = database.prepare(`SELECT * FROM "${table}"`).all();
  return rows.map((row) => {
    const columns = Object.keys(row).map((name) => `"${name}"`);
    return `INSERT INTO "${table}" (${columns.join(", ")}) VALUES (${Object.values(row).map(literal).join(", ")});`;
  });
}

function literal(value: unknown): string {
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString("hex")}'`;
  if (typeof value !== "string") return String(value);
  // One statement per line.
  const text = `'${value.replaceAll("'", "''")}'`;
  return text.includes("\n") ? `replace(${text.replaceAll("\n", "\\n")}, '\\n', char(10))` : text;
}

async function makeFixtures(layout: OriginalLayout): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "everthink-takeover-"));
  const entry = join(scratch, "worker.js");
  await bundleOriginal(layout, { entry: join(PROJECT, "src", "server.ts"), outputFile: entry });
  const data = join(scratch, "data");
  const server = await serveWorker({
    entry,
    objects: ["Assistant", "Counter"],
    dataDirectory: data,
    allowsPrivateNetwork: true
  });
  const filled = await fillObjects(server, layout);
  await server.kill();
  cpSync(data, `${data}-killed`, { recursive: true });
  // In another process: it would go on with what was cut off.
  await server.start();
  const names = await objectNames(server, filled);
  await server.kill();
  rmSync(data, { recursive: true });
  cpSync(`${data}-killed`, data, { recursive: true });
  writeFixtures(layout, { data, names, only: (name) => name !== "recovering" });
  // One whose turn the original has begun to recover itself.
  await server.start();
  await callObject(server, { object: "assistant", name: "recovering", method: "notes" });
  await server.kill();
  writeFixtures(layout, { data, names, only: (name) => name === "recovering" });
  rmSync(scratch, { recursive: true, force: true });
}

/** An object with three submissions: one that is over, one that runs, one that waits. */
async function makeSubmissions(version: OriginalBetween): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "everthink-takeover-"));
  const entry = join(scratch, "worker.js");
  await bundleOriginal(version, { entry: join(PROJECT, "src", "server.ts"), outputFile: entry });
  const data = join(scratch, "data");
  const server = await serveWorker({
    entry,
    objects: ["Assistant", "Counter"],
    dataDirectory: data,
    allowsPrivateNetwork: true
  });
  const object = { object: "assistant", name: "submitting" };
  const on = (method: string, ...args: unknown[]) => callObject(server, { ...object, method }, ...args);
  await on("ask", "say Hello there.", "u1");
  await on("submit", "say Submitted one.", "k1");
  await until(async () => JSON.stringify(await on("submissions")).includes("completed"));
  await on("submit", "hold Submitted two words", "k2");
  await on("submit", "say Submitted three.", "k3");
  await pause(SETTLED_MS);
  await server.kill();
  const [file = ""] = readdirSync(join(data, "everthink-Assistant")).filter((name) => OBJECT_FILE.test(name));
  const folder = join(FIXTURES, version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "Assistant.submitting.sql"), dumpDatabase(join(data, "everthink-Assistant", file)));
  rmSync(scratch, { recursive: true, force: true });
}

/** Names of objects by their id, which is the name of their file. */
async function objectNames(server: WorkerServer, names: Iterable<string>): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const address of names) {
    const [object = "", name = ""] = address.split("/");
    found.set(String(await callObject(server, { object, name, method: "objectId" })), name);
  }
  return found;
}

function writeFixtures(
  layout: OriginalLayout,
  { data, names, only }: { data: string; names: Map<string, string>; only: (name: string) => boolean }
): void {
  const folder = join(FIXTURES, layout);
  mkdirSync(folder, { recursive: true });
  for (const kind of readdirSync(data)) {
    for (const file of readdirSync(join(data, kind)).filter((name) => OBJECT_FILE.test(name))) {
      const [id = "", child] = file.replace(".sqlite", "").split(".");
      const name = names.get(id) ?? "";
      if (name === "" || !only(name)) continue;
      const target = `${kind.replace(/^everthink-/, "")}.${name}${child === undefined ? "" : `.${child}`}.sql`;
      writeFileSync(join(folder, target), dumpDatabase(join(data, kind, file)));
    }
  }
}

if (process.argv[1] === import.meta.filename) {
  if (!isOriginalInstalled) execFileSync("npm", ["ci"], { cwd: PACKAGES, stdio: "inherit" });
  for (const layout of LAYOUTS) await makeFixtures(layout);
  for (const version of BETWEEN) await makeSubmissions(version);
  process.exit(0);
}
