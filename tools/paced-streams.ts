// What a stream costs while it runs: `node tools/paced-streams.ts [rounds]` prints, for each pace, the rows it took in the
// journal, the bytes that workerd gave to the disk and its CPU time, the median of the rounds. `dist/` must have been built.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import WebSocket from "ws";
import { readUsage } from "../bench/usage.ts";
import { serveWorker, type WorkerServer } from "./serve-worker.ts";

const DEFAULT_ROUNDS = 3;
/** After the answer: what the turn leaves to do. */
const QUIET_MS = 300;

/** Pieces come in groups of `atOnce`, one group in `pauseMs`, on so many objects at a time. */
const PACES = {
  "slow, 20 tokens/s": { pieces: 200, pauseMs: 50, atOnce: 1, streams: 1 },
  "fast, 200 tokens/s": { pieces: 1_600, pauseMs: 5, atOnce: 1, streams: 1 },
  "bursts of 50 tokens, two in a second": { pieces: 800, pauseMs: 500, atOnce: 50, streams: 1 },
  "one burst of 2,000 tokens": { pieces: 2_000, pauseMs: 0, atOnce: 2_000, streams: 1 },
  "20 objects, 50 tokens/s each": { pieces: 400, pauseMs: 20, atOnce: 1, streams: 20 }
} satisfies Record<string, Pace>;

interface Pace {
  readonly pieces: number;
  readonly pauseMs: number;
  readonly atOnce: number;
  readonly streams: number;
}

interface Cost {
  readonly rows: number;
  readonly diskKiB: number;
  readonly cpuMs: number;
}

const rounds = Number(process.argv[2] ?? DEFAULT_ROUNDS);
const entry = fileURLToPath(new URL("../test/process/fixtures/paced-worker.ts", import.meta.url));
const server = await serveWorker({ entry, objects: ["Paced", "Prompt"] });
try {
  await stream(server, "paced/warm-up", { pieces: 20, pauseMs: 1, atOnce: 1, streams: 1 });
  const head = "| Pace | Rows, 0.5 s | Rows, 0.1 s | KiB to disk, 0.5 s | 0.1 s | CPU ms, 0.5 s | 0.1 s |";
  console.log(`${head}\n|---|---:|---:|---:|---:|---:|---:|`);
  for (const [name, pace] of Object.entries(PACES)) {
    const [usual, prompt] = [await medians("paced", pace), await medians("prompt", pace)];
    const numbers = (["rows", "diskKiB", "cpuMs"] as const).flatMap((key) => [usual[key], prompt[key]]);
    console.log(`| ${name} | ${numbers.map(Math.round).join(" | ")} |`);
  }
} finally {
  await server.stop();
}

async function medians(agent: string, pace: Pace): Promise<Cost> {
  const costs: Cost[] = [];
  for (let round = 0; round < rounds; round += 1)
    costs.push(await measure(server, `${agent}/${pace.pauseMs}-${round}`, pace));
  const of = (key: keyof Cost) => median(costs.map((cost) => cost[key]));
  return { rows: of("rows"), diskKiB: of("diskKiB"), cpuMs: of("cpuMs") };
}

async function measure(worker: WorkerServer, name: string, pace: Pace): Promise<Cost> {
  const names = Array.from({ length: pace.streams }, (_, index) => `${name}-${pace.streams}-${pace.pieces}-${index}`);
  // An object's first turn makes its tables.
  await Promise.all(names.map((one) => stream(worker, one, { pieces: 5, pauseMs: 1, atOnce: 1, streams: 1 })));
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  const rowsBefore = rowsIn(worker.dataDirectory);
  const before = readUsage(worker.pid ?? 0);
  await Promise.all(names.map((one) => stream(worker, one, pace)));
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  const after = readUsage(worker.pid ?? 0);
  return {
    rows: (rowsIn(worker.dataDirectory) - rowsBefore) / pace.streams,
    diskKiB: (after.diskBytes - before.diskBytes) / 1024 / pace.streams,
    cpuMs: (after.cpuMs - before.cpuMs) / pace.streams
  };
}

async function stream(worker: WorkerServer, path: string, pace: Pace): Promise<void> {
  const socket = new WebSocket(`${worker.url.replace("http", "ws")}/agents/${path}`);
  await new Promise((resolve) => socket.once("open", resolve));
  const id = `r-${performance.now()}`;
  const done = new Promise<void>((resolve) => {
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as { type: string; id?: string; done?: boolean };
      if (frame.type === "cf_agent_use_chat_response" && frame.id === id && frame.done === true) resolve();
    });
  });
  const messages = [{ id: `u-${id}`, role: "user", parts: [{ type: "text", text: JSON.stringify(pace) }] }];
  const body = JSON.stringify({ messages, trigger: "submit-message" });
  socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } }));
  await done;
  socket.terminate();
}

/** Of the journals of all objects. */
function rowsIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sqlite"));
  return files.reduce((sum, file) => sum + rowsOf(join(folder, file)), 0);
}

function rowsOf(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    // workerd locks a file while it moves what was written to its place.
    database.exec("PRAGMA busy_timeout = 5000");
    const has = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'cf_journal'").get();
    return has ? Number(database.prepare("SELECT count(*) AS rows FROM cf_journal").get()?.["rows"]) : 0;
  } finally {
    database.close();
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
