// `node tools/chaos.ts`: the crash matrix. Plays the conversation of test/chaos once per point of every disturbance, in
// several processes, prints a table, and exits 1 on any difference. See USAGE for what can be chosen.
import { fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createServer, createServerModuleRunner } from "vite";
import type * as testingSource from "../src/testing/index.ts";
import type * as conversationSource from "../test/chaos/conversation.ts";
import { runProcessChaos } from "./chaos-process.ts";

const USAGE = `
  --short            at most 12 points of each disturbance
  --points <n>       at most n points of each disturbance
  --modes <a,b>      only these disturbances
  --at <a;b>         only these points, such as "write 12; await 7"
  --seed <n>         of ids and of the points chosen by chance
  --shown <n>        how many differences are printed (20)
  --json             prints the result as JSON
  --kills <n>        SIGKILLs of a real workerd process (150; none with --short, --modes or --at); needs a build
  --write <file>     puts the table between the chaos marks of a Markdown page, too
  --processes <n>    how many processes share the work (one per core)`;

const SHORT_POINTS = 12;
const DEFAULT_KILLS = 150;
const MARKS = ["<!-- chaos:begin -->", "<!-- chaos:end -->"] as const;
const root = fileURLToPath(new URL("..", import.meta.url));

type Testing = typeof testingSource;
type Conversation = typeof conversationSource;
type Result = Awaited<ReturnType<Testing["chaos"]>>;

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    points: { type: "string" },
    modes: { type: "string" },
    at: { type: "string" },
    seed: { type: "string", default: "1" },
    shown: { type: "string" },
    json: { type: "boolean", default: false },
    kills: { type: "string" },
    write: { type: "string" },
    processes: { type: "string", default: String(availableParallelism()) },
    share: { type: "string" },
    help: { type: "boolean", default: false }
  }
});

if (values.help) console.log(`node tools/chaos.ts${USAGE}`);
else if (values.share === undefined) await playAll(Number(values.processes));
else await playShare(values.share);

async function playAll(processes: number): Promise<void> {
  const startedAt = performance.now();
  const results = await Promise.all(Array.from({ length: processes }, (_, index) => shareOf(index, processes)));
  const killed = await killProcesses();
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  await withSources(async ({ formatChaos, mergeChaos }) => {
    const result = mergeChaos(results);
    const table = [formatChaos(result, values.shown === undefined ? undefined : Number(values.shown)), ...killed.lines];
    const report = `${table.join("\n\n")}\n\n${seconds} s in ${processes} processes`;
    console.log(values.json ? JSON.stringify({ ...result, killed }, null, 2) : report);
    if (values.write !== undefined) putBetweenMarks(values.write, `${table.join("\n\n")}\n\n${stamp()}`);
    if (result.differences.length + killed.differences.length > 0) process.exitCode = 1;
  });
}

/** The same promises for a real process, killed from outside at random moments. */
async function killProcesses(): Promise<{ lines: string[]; differences: string[] }> {
  const isPart = values.short || values.modes !== undefined || values.at !== undefined;
  const kills = Number(values.kills ?? (isPart ? 0 : DEFAULT_KILLS));
  if (kills === 0) return { lines: [], differences: [] };
  const played = await runProcessChaos({ kills, seed: Number(values.seed) });
  const cutOff = played.rounds.reduce((sum, { cutOffCalls }) => sum + cutOffCalls, 0);
  const row = `| ${played.rounds.length} | ${played.kills} | ${cutOff} | ${played.differences.length} |`;
  const head = "A real workerd process, killed with SIGKILL at random moments, several times per conversation:";
  const table = ["| Conversations | SIGKILLs | Calls cut off | Differences |", "|---:|---:|---:|---:|", row].join("\n");
  return { lines: [head, table, ...played.differences.map((text) => `- ${text}`)], differences: played.differences };
}

function stamp(): string {
  const day = new Date().toISOString().slice(0, 10);
  return `Made by \`npm run chaos\` on ${day}: ${availableParallelism()} cores, Node ${process.versions.node}, seed ${values.seed}.`;
}

function putBetweenMarks(file: string, text: string): void {
  const page = readFileSync(file, "utf8");
  const [begin, end] = MARKS.map((mark) => page.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin) {
    throw new Error(`${file} has no place for the table: ${MARKS.join(" … ")}`);
  }
  writeFileSync(file, `${page.slice(0, begin)}${MARKS[0]}\n\n${text}\n\n${page.slice(end)}`);
}

/** Another process plays every n-th point. */
function shareOf(index: number, processes: number): Promise<Result> {
  const child = fork(import.meta.filename, [...process.argv.slice(2), "--share", `${index}/${processes}`], {
    execArgv: [...process.execArgv, "--experimental-async-context-frame"]
  });
  return new Promise((resolve, reject) => {
    // Its only message.
    child.once("message", (message) => resolve(message as Result));
    child.once("exit", (code) => reject(new Error(`A process of the crash matrix ended early with ${code}.`)));
  });
}

async function playShare(share: string): Promise<void> {
  const [index = 0, of = 1] = share.split("/").map(Number);
  const points = values.short ? SHORT_POINTS : values.points === undefined ? undefined : Number(values.points);
  await withSources(async ({ chaos, CHAOS_MODES }, { trip }) => {
    const modes = CHAOS_MODES.filter((mode) => values.modes === undefined || values.modes.split(",").includes(mode));
    const result = await chaos({
      ...trip,
      modes,
      seed: Number(values.seed),
      share: { index, of },
      ...(values.at !== undefined && { at: values.at.split(";").map((point) => point.trim()) }),
      ...(points !== undefined && { points })
    });
    await new Promise((resolve) => process.send?.(result, undefined, undefined, resolve));
  });
  process.disconnect?.();
}

/** The sources as they are, with the in-process host behind `#platform`. */
async function withSources(work: (testing: Testing, conversation: Conversation) => Promise<void>): Promise<void> {
  const server = await createServer({
    root,
    configFile: false,
    logLevel: "error",
    appType: "custom",
    server: { middlewareMode: true, watch: null, hmr: false, ws: false },
    optimizeDeps: { noDiscovery: true },
    resolve: { alias: { "#platform": `${root}src/testing/inprocess/platform.ts` } }
  });
  const runner = createServerModuleRunner(server.environments.ssr, { hmr: false });
  try {
    const testing: Testing = await runner.import(`${root}src/testing/index.ts`);
    const conversation: Conversation = await runner.import(`${root}test/chaos/conversation.ts`);
    await work(testing, conversation);
  } finally {
    await runner.close();
    await server.close();
  }
}
