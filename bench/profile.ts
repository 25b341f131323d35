// `node bench/profile.ts everthink '{"callSteps":10}' 200`: where the time of a turn goes inside the worker. Asks the
// baseline or everthink (from src/, nothing needs to be built) for 200 turns of a script under workerd's own profiler and
// prints milliseconds a turn, by package or folder, by function alone, and by function with what it calls. The profiler
// slows everything down: compare shares, and take times from `run.ts`.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { attachLifeline } from "../src/framework/serve/lifeline.ts";
import { findWorkerd } from "../src/framework/serve/workerd-binary.ts";
import { DATA_SERVICE, SOCKET_NAME } from "../src/framework/serve/workerd-config.ts";
import { WORKER_BUILD } from "../tools/bundle-worker.ts";
import { Connection } from "./driver/connection.ts";
import { heaviest, type Profile, timeByFolder, timeByFunction, timeWithin } from "./profile-sums.ts";
import { SETTLE_MS } from "./rounds.ts";
import { pause } from "./scenarios/scenario.ts";
import { configText } from "./server.ts";
import type { Script } from "./workers/script.ts";

const WARM_UP_TURNS = 30;
/** A conversation is left after so many turns, so that its length does not matter. */
const TURNS_OF_A_CONVERSATION = 25;
const SAMPLING_MICROSECONDS = 100;
const START_LIMIT_MS = 10_000;
const START_TICK_MS = 50;
const SHOWN = { folders: 16, functions: 25, within: 60 };

interface Debugger {
  call(method: string, params?: object): Promise<{ profile: Profile }>;
}

const [contender = "everthink", script = "{}", turnsText = "200"] = process.argv.slice(2);
const turns = Number(turnsText);
const folder = mkdtempSync(join(tmpdir(), "everthink-profile-"));
try {
  await profileTurns(JSON.parse(script) as Partial<Script>);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);

async function profileTurns(asked: Partial<Script>): Promise<void> {
  const modules = await bundle();
  const [port, inspectorPort] = [await freePort(), await freePort()];
  const child = startWorkerd(port, inspectorPort);
  try {
    const inspector = await openDebugger(inspectorPort);
    const [warm, ...conversations] = await openConversations(port);
    for (let turn = 0; turn < WARM_UP_TURNS; turn += 1) await warm?.ask(asked);
    await inspector.call("Profiler.enable");
    await inspector.call("Profiler.setSamplingInterval", { interval: SAMPLING_MICROSECONDS });
    await inspector.call("Profiler.start");
    await askInTurn(conversations, asked);
    const { profile } = await inspector.call("Profiler.stop");
    print("By package or folder", heaviest(timeByFolder(profile, modules), SHOWN.folders));
    print("By function", heaviest(timeByFunction(profile, modules), SHOWN.functions));
    print("By function with what it calls", heaviest(timeWithin(profile, modules), SHOWN.within));
  } finally {
    child.kill("SIGKILL");
  }
}

/** The file each line of the bundle comes from. */
async function bundle(): Promise<string[]> {
  const outfile = join(folder, "worker.js");
  const { tsconfigRaw: _ownPaths, ...settings } = WORKER_BUILD;
  await build({
    ...settings,
    entryPoints: [join(import.meta.dirname, "workers", `${contender}.ts`)],
    outfile,
    // The repository's own, which leads imports of everthink to src/.
    tsconfig: join(import.meta.dirname, "..", "tsconfig.json")
  });
  let file = "";
  return readFileSync(outfile, "utf8")
    .split("\n")
    .map((line) => (file = /^\/\/ (\S+\.[jt]s)$/.exec(line)?.[1] ?? file));
}

function startWorkerd(port: number, inspectorPort: number) {
  const configFile = join(folder, "worker.capnp");
  writeFileSync(configFile, configText("worker.js"));
  mkdirSync(join(folder, "data"));
  const address = (name: string, number: number) => `${name}127.0.0.1:${number}`;
  const folders = `-d${DATA_SERVICE}=${join(folder, "data")}`;
  const sockets = [address(`-s${SOCKET_NAME}=`, port), address("-i", inspectorPort)];
  const child = spawn(
    findWorkerd([import.meta.dirname]),
    ["serve", "--experimental", ...sockets, folders, configFile],
    { stdio: ["ignore", "ignore", "inherit"], detached: true }
  );
  if (child.pid !== undefined) attachLifeline(child.pid, { scratchDirectory: folder });
  return child;
}

/** Connections that have been open for long enough to be left alone with what connecting brings. */
async function openConversations(port: number): Promise<Connection[]> {
  const names = Array.from({ length: Math.ceil(turns / TURNS_OF_A_CONVERSATION) }, (_, index) => `asked-${index}`);
  const connections: Connection[] = [];
  for (const name of ["warm", ...names]) {
    connections.push(await Connection.open(`ws://127.0.0.1:${port}/agents/chat/${name}`));
  }
  await pause(SETTLE_MS);
  return connections;
}

async function askInTurn(conversations: readonly Connection[], asked: Partial<Script>): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await conversations[Math.floor(turn / TURNS_OF_A_CONVERSATION)]?.ask(asked);
  }
}

async function openDebugger(port: number): Promise<Debugger> {
  const socket = new WebSocket(await debuggerUrl(port));
  const waiting = new Map<number, (result: { profile: Profile }) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result: { profile: Profile } };
    if (id !== undefined) waiting.get(id)?.(result);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  let calls = 0;
  return {
    call: (method, params = {}) =>
      new Promise((resolve) => {
        waiting.set((calls += 1), resolve);
        socket.send(JSON.stringify({ id: calls, method, params }));
      })
  };
}

async function debuggerUrl(port: number): Promise<string> {
  for (let waited = 0; waited < START_LIMIT_MS; waited += START_TICK_MS) {
    try {
      const [target] = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
        webSocketDebuggerUrl: string;
      }[];
      if (target !== undefined) return target.webSocketDebuggerUrl;
    } catch {
      // It does not listen yet.
    }
    await pause(START_TICK_MS);
  }
  throw new Error("workerd did not start.");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function print(title: string, rows: readonly { what: string; ms: number }[]): void {
  console.log(`\n${title}, ms a turn`);
  for (const { what, ms } of rows) console.log(`${(ms / turns).toFixed(3).padStart(8)}  ${what}`);
}
