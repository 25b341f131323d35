// `npm run bench`: measures everthink beside a bare baseline and the original, each in its own workerd process, and
// prints what it found. Fails when a contender of this repository could not be measured.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeMachine } from "./machine.ts";
import { type Options, readOptions, USAGE } from "./options.ts";
import { buildIfNeeded, installIfNeeded, openArenas } from "./prepare.ts";
import { renderAims, renderReport, replaceMeasured, reportJson, type Run } from "./report.ts";
import { runRounds } from "./rounds.ts";

const ERASE_LINE = "\r\u001b[K";
let shownRound = "";

async function measure(options: Options): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "everthink-bench-bundles-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const arenas = await openArenas(options.contenders, folder);
  try {
    const results = await runRounds({ ...options, arenas }, showProgress);
    return {
      contenders: options.contenders,
      results,
      rounds: options.rounds,
      date: new Date().toISOString().slice(0, 10),
      machine: describeMachine()
    };
  } finally {
    await Promise.all(arenas.map((arena) => arena.remove()));
  }
}

/** One line that is overwritten on a terminal, and a line for each round where it goes to a file. */
function showProgress(text: string): void {
  const [round = ""] = text.split(":");
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE + text);
  else if (round !== shownRound) console.error(round);
  shownRound = round;
}

function publish(run: Run, options: Options): void {
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
  console.log(renderReport(run));
  if (options.showAims) console.log(`\n${renderAims(run.results)}`);
  if (options.jsonFile !== undefined) writeFileSync(options.jsonFile, reportJson(run));
  if (options.document !== undefined) {
    const measured = `${renderReport(run)}\n\nAims:\n\n${renderAims(run.results)}`;
    writeFileSync(options.document, replaceMeasured(readFileSync(options.document, "utf8"), measured));
  }
}

// Ended by a signal, this process would leave its bundles behind. The servers die with it by themselves.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

if (process.argv.includes("--help")) {
  console.log(USAGE);
} else {
  const options = readOptions(process.argv.slice(2));
  if (options.mayBuild) buildIfNeeded();
  installIfNeeded(options.contenders);
  const run = await measure(options);
  publish(run, options);
  const isOurs = (name: string) => options.contenders.some((one) => one.name === name && !one.isOpponent);
  process.exitCode = run.results.failures.some(({ contender }) => isOurs(contender)) ? 1 : 0;
}
