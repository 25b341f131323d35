// Disturbs the script of every test that is killed at its writes (everyCrash) further: at all points, twice in a row, and
// with garbage in each stored value. `node tools/crashes.ts [--once n] [--twice n] [--garbage n] [--deaths n] [file…]`: at
// most n of a kind and script; prints a table per capability, or per stored table, and exits 1 on a silent difference.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import type { Played, Verdict } from "../test/crashes/scene.ts";
import type { CrashPlan } from "../test/crashes/setup.ts";

type Line = Played & { readonly file: string; readonly test: string };

const VERDICTS: readonly Verdict[] = ["same", "reported", "refused", "silent", "endless"];
const SHOWN = 40;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    once: { type: "string", default: "0" },
    twice: { type: "string", default: "0" },
    garbage: { type: "string", default: "0" },
    deaths: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
    shown: { type: "string", default: String(SHOWN) },
    workers: { type: "string", default: String(availableParallelism()) }
  }
});

const scratch = mkdtempSync(join(tmpdir(), "everthink-crashes-"));
const plan: CrashPlan = {
  file: join(scratch, "played.jsonl"),
  once: Number(values.once),
  twice: Number(values.twice),
  garbage: Number(values.garbage),
  deaths: Number(values.deaths),
  seed: Number(values.seed)
};
const files = positionals.length > 0 ? positionals : filesWithScenes();
const run = spawnSync(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--project",
    "node",
    "--reporter",
    "dot",
    `--maxWorkers=${values.workers}`,
    ...files
  ],
  { env: { ...process.env, EVERTHINK_CRASHES: JSON.stringify(plan) }, encoding: "utf8", maxBuffer: 1 << 28 }
);
if (run.status !== 0) console.log(run.stdout.slice(-4_000), run.stderr.slice(-2_000));
const lines = readFileSync(plan.file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Line);
rmSync(scratch, { recursive: true, force: true });
print("Script of", lines, ({ file }) => basename(file, ".test.ts"));
const garbage = lines.filter(({ kind }) => kind === "garbage");
if (garbage.length > 0) print("Garbage in", garbage, ({ table = "" }) => table);
const wrong = lines.filter(({ verdict }) => verdict !== "same" && verdict !== "reported");
for (const { file, test, kind, verdict, detail } of wrong.slice(0, Number(values.shown))) {
  console.log(`- ${verdict}, ${kind}, ${basename(file)}, ${test}\n    ${detail}`);
}
if (lines.some(({ verdict }) => verdict === "silent" || verdict === "endless")) process.exitCode = 1;

function filesWithScenes(): string[] {
  const found = spawnSync("git", ["grep", "-l", "everyCrash({", "--", "test/node"], { encoding: "utf8" });
  return found.stdout.trim().split("\n");
}

function print(head: string, all: readonly Line[], nameOf: (line: Line) => string): void {
  const groups = Map.groupBy(all, nameOf);
  console.log(`| ${head} | Played | ${VERDICTS.join(" | ")} |\n|---|${"---:|".repeat(VERDICTS.length + 1)}`);
  for (const [name, group] of [...groups].toSorted()) console.log(row(name, group));
  console.log(`${row("all", all)}\n`);
}

function row(name: string, group: readonly Line[]): string {
  const counts = VERDICTS.map((verdict) => group.filter((one) => one.verdict === verdict).length);
  return `| ${name} | ${group.length} | ${counts.join(" | ")} |`;
}
