// Many agents with a task at one and the same time, on `everthink serve`: the server is stopped before that time and started
// after it, and workerd is killed once while they run. Measured is what an operator sees: how soon and how slowly the port
// answers, memory, open files, and whether every task ran. One agent is planned by the server, the others are copies of its
// file under their own ids and names. `npm run storm:alarms -- 20000`; a short run is a test.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { bundleWorker } from "./bundle-worker.ts";

const COMMAND = fileURLToPath(new URL("../dist/serve/cli.js", import.meta.url));
const ENTRY = fileURLToPath(new URL("../test/process/fixtures/reminder-worker.ts", import.meta.url));
const CONFIG = {
  name: "app",
  main: "index.js",
  no_bundle: true,
  compatibility_date: "2026-09-18",
  durable_objects: { bindings: [{ name: "REMINDER", class_name: "Reminder" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Reminder"] }]
};
/** From the plan to the time of all tasks. */
const LEAD_MS = 8_000;
const LOOK_MS = 250;
/** Slower than this the run has failed. */
const MOST_PER_AGENT_MS = 150;

/** Versions for writing and reading in the header of a file of SQLite: 2 is "with a log beside it". */
const FORMAT_AT = 18;
const WITH_LOG = [2, 2];

export interface StormOptions {
  folder: string;
  agents: number;
  /** Open files that the server may have. */
  openFiles?: number;
  /** workerd is killed when this many tasks have run. */
  killAfter: number;
  say?: (text: string) => void;
}

export interface StormReport {
  /** Times each agent's task ran: how many agents for each number. */
  runs: Record<string, number>;
  /** Tasks that began in one and the same second, at most. */
  mostInASecond: number;
  /** From the command to the first answer, of a server without agents. */
  idleAnswerMs: number;
  /** From the command to the first answer, with all the tasks due. */
  firstAnswerMs: number;
  /** Tasks that had run by then. */
  ranAtFirstAnswer: number;
  /** Slowest answer of the port while tasks ran. */
  slowestAnswerMs: number;
  peakMegabytes: number;
  peakOpenFiles: number;
  /** From the start until all had run. */
  tookMs: number;
  /** What the server printed. */
  output: string;
}

export async function alarmStorm(options: StormOptions): Promise<StormReport> {
  const { folder, agents, say = () => undefined } = options;
  await writeProject(folder);
  const planning = await serve(options);
  const at = Date.now() + LEAD_MS;
  const ids = JSON.parse(await ask(`${planning.url}/plan?count=${agents}&at=${at}`)) as string[];
  await planning.stop();
  copyAgent(join(folder, "data"), ids);
  say(`${agents} agents are planned`);
  await delay(at + 1_000 - Date.now());
  const askedAt = performance.now();
  const running = await serve(options);
  const peaks = await watch(running, options)
    .catch(async (error: unknown) => {
      // What it says about its end.
      await delay(3_000);
      throw new Error(`The server has failed:\n${running.output()}`, { cause: error });
    })
    .finally(() => running.stop());
  return {
    ...countRuns(join(folder, "data")),
    idleAnswerMs: planning.answeredAfterMs,
    firstAnswerMs: running.answeredAfterMs,
    ranAtFirstAnswer: running.ranAtFirstAnswer,
    ...peaks,
    tookMs: Math.round(performance.now() - askedAt),
    output: running.output()
  };
}

async function watch(server: Server, { agents, killAfter, say, folder }: StormOptions) {
  const dataFolder = join(folder, "data");
  const giveUpAt = performance.now() + 120_000 + agents * MOST_PER_AGENT_MS;
  const peaks = { slowestAnswerMs: 0, peakMegabytes: 0, peakOpenFiles: 0 };
  let before = 0;
  let hasKilled = false;
  for (let looks = 1; ; looks += 1) {
    const askedAt = performance.now();
    const { ran } = JSON.parse(await ask(`${server.url}/ran`)) as { ran: number };
    peaks.slowestAnswerMs = Math.max(peaks.slowestAnswerMs, Math.round(performance.now() - askedAt));
    const { megabytes, files } = usage(server.workerd());
    peaks.peakMegabytes = Math.max(peaks.peakMegabytes, megabytes);
    peaks.peakOpenFiles = Math.max(peaks.peakOpenFiles, files);
    if (looks % 80 === 0) say?.(`${before + ran} ran; ${megabytes} MB, ${files} files; ${JSON.stringify(peaks)}`);
    // Tasks that ended between a look and the kill are not in the number that ran, but their alarms are gone.
    if (hasKilled && openAlarms(dataFolder) === 0) return peaks;
    if (performance.now() > giveUpAt) throw new Error(`${before + ran} of ${agents} ran.\n${server.output()}`);
    if (!hasKilled && ran >= killAfter) {
      hasKilled = true;
      before = ran;
      process.kill(server.workerd(), "SIGKILL");
      await server.says(/workerd runs again/);
      say?.(`killed after ${ran}`);
    }
    await delay(LOOK_MS);
  }
}

/** On a connection of its own, as a new visitor. */
async function ask(url: string): Promise<string> {
  const [answer] = (await once(request(url, { agent: false }).end(), "response")) as [IncomingMessage];
  return (await answer.toArray()).join("");
}

interface Server {
  url: string;
  answeredAfterMs: number;
  ranAtFirstAnswer: number;
  output(): string;
  says(pattern: RegExp): Promise<RegExpExecArray>;
  workerd(): number;
  stop(): Promise<void>;
}

async function serve({ folder, openFiles }: StormOptions): Promise<Server> {
  // The limit of the whole tree: what Node raises by itself is bounded by it.
  const limit = openFiles === undefined ? "" : `ulimit -n ${openFiles}; `;
  const startedAt = performance.now();
  const script = `${limit}exec "$0" "$1" serve --port 0 --data data`;
  const child = spawn("/bin/sh", ["-c", script, process.execPath, COMMAND], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"]
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const says = async (pattern: RegExp) => {
    for (;;) {
      const match = pattern.exec(output);
      if (match) return match;
      if (child.exitCode !== null) throw new Error(`It ended without saying ${pattern}:\n${output}`);
      await delay(10);
    }
  };
  const url = (await says(/Ready: (http:\S+)\/ /))[1] ?? "";
  const { ran } = JSON.parse(await ask(`${url}/ran`)) as { ran: number };
  return {
    url,
    answeredAfterMs: Math.round(performance.now() - startedAt),
    ranAtFirstAnswer: ran,
    says,
    output: () => output,
    workerd: () => workerdOf(child),
    async stop() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "close");
    }
  };
}

function workerdOf({ pid }: ChildProcess): number {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" });
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  return Number(rows.find(([, parent, name]) => Number(parent) === pid && name === "workerd")?.[0] ?? 0);
}

/** Zero for a process that is just gone, and where there is no /proc. */
function usage(pid: number): { megabytes: number; files: number } {
  try {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    const files = readdirSync(`/proc/${pid}/fd`).length;
    return { megabytes: Math.round(Number(kilobytes ?? 0) / 1024), files };
  } catch {
    return { megabytes: 0, files: 0 };
  }
}

async function writeProject(folder: string): Promise<void> {
  const build = join(folder, "dist", "app");
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  mkdirSync(build, { recursive: true });
  const workerd = dirname(createRequire(import.meta.url).resolve("workerd/package.json"));
  symlinkSync(workerd, join(folder, "node_modules", "workerd"));
  await bundleWorker({ entry: ENTRY, outputFile: join(build, "index.js") });
  writeFileSync(join(build, "wrangler.json"), JSON.stringify(CONFIG));
}

/** The first id is of the agent that was planned. */
function copyAgent(dataFolder: string, ids: readonly string[]): void {
  const [first = ""] = ids;
  const found = readdirSync(dataFolder, { recursive: true, encoding: "utf8" }).find((name) => name.includes(first));
  const classFolder = join(dataFolder, dirname(found ?? ""));
  const original = join(dataFolder, "original.sqlite");
  const planned = new DatabaseSync(join(classFolder, `${first}.sqlite`));
  planned.exec(`VACUUM INTO '${original}'`);
  planned.close();
  const bytes = readFileSync(original);
  // As workerd keeps it: VACUUM writes a file without a log, and the change back costs five syncs at the first start.
  bytes.set(WITH_LOG, FORMAT_AT);
  const alarms = new DatabaseSync(join(classFolder, "metadata.sqlite"));
  alarms.exec("BEGIN");
  const insert = alarms.prepare(
    "INSERT INTO _cf_ALARM SELECT ?, scheduled_time, ? FROM _cf_ALARM WHERE actor_id = ? ON CONFLICT DO NOTHING"
  );
  for (const [index, id] of ids.entries()) {
    if (index === 0) continue;
    writeFileSync(join(classFolder, `${id}.sqlite`), renamed(bytes, agentName(index)));
    insert.run(id, agentName(index), first);
  }
  alarms.exec("COMMIT");
  alarms.close();
  rmSync(original);
  // The server's first commits must not wait until all these files are on the disk.
  execFileSync("sync");
}

/** Names are of one length, so that nothing in the file moves. */
function renamed(bytes: Buffer, name: string): Buffer {
  const copy = Buffer.from(bytes);
  const first = agentName(0);
  for (let at = copy.indexOf(first); at >= 0; at = copy.indexOf(first, at + 1)) copy.write(name, at);
  return copy;
}

/** As the worker names them. */
function agentName(index: number): string {
  return `agent-${String(index).padStart(6, "0")}`;
}

function openAlarms(dataFolder: string): number {
  const files = readdirSync(dataFolder, { recursive: true, encoding: "utf8" });
  const file = files.find((name) => name.endsWith("metadata.sqlite")) ?? "";
  const database = new DatabaseSync(join(dataFolder, file), { readOnly: true });
  const { n } = database.prepare("SELECT COUNT(*) AS n FROM _cf_ALARM").get() as { n: number };
  database.close();
  return n;
}

function countRuns(dataFolder: string): Pick<StormReport, "runs" | "mostInASecond"> {
  const runs: Record<string, number> = {};
  const bySecond = new Map<number, number>();
  const files = readdirSync(dataFolder, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => /[0-9a-f]{64}\.sqlite$/.test(name))) {
    const database = new DatabaseSync(join(dataFolder, file));
    const isKnown = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'ran'").get();
    const rows = isKnown ? (database.prepare("SELECT at FROM ran").all() as { at: number }[]) : [];
    database.close();
    runs[rows.length] = (runs[rows.length] ?? 0) + 1;
    for (const { at } of rows) {
      const second = Math.floor(at / 1_000);
      bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
    }
  }
  return { runs, mostInASecond: Math.max(0, ...bySecond.values()) };
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === process.argv[1]) {
  const { mkdtempSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const { removeFolder } = await import("./remove-folder.ts");
  const agents = Number(process.argv[2] ?? 20_000);
  const folder = mkdtempSync(join(tmpdir(), "everthink-storm-"));
  try {
    console.log(await alarmStorm({ folder, agents, killAfter: Math.floor(agents / 10), say: console.log }));
  } finally {
    await removeFolder(folder);
  }
}
