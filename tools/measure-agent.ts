// `node tools/measure-agent.ts`: prints what an agent costs, as a Markdown table for release notes. It measures what is
// in dist/, on this machine; nothing here is a limit that a test would check.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundleWorker } from "./bundle-worker.ts";
import { serveWorker, type WorkerServer } from "./serve-worker.ts";

const STARTS = 10;
const tests = join(import.meta.dirname, "..", "test");

interface Measurement {
  what: string;
  value: string;
}

async function measureBundle(): Promise<Measurement[]> {
  const directory = mkdtempSync(join(tmpdir(), "everthink-measure-"));
  try {
    const outputFile = join(directory, "worker.js");
    const entry = join(tests, "package", "fixtures", "smallest-worker.ts");
    const { sizeBytes } = await bundleWorker({ entry, outputFile, minify: true });
    const gzipBytes = gzipSync(readFileSync(outputFile), { level: 9 }).byteLength;
    return [
      { what: "Bundle of a worker that only extends Agent, minified", value: kilobytes(sizeBytes) },
      { what: "The same, gzip", value: kilobytes(gzipBytes) }
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureStarts(server: WorkerServer): Promise<Measurement[]> {
  const cold: number[] = [];
  const warm: number[] = [];
  for (let round = 0; round < STARTS; round += 1) {
    await server.kill();
    const startedAt = performance.now();
    await server.start();
    await rowsWritten(server, "kept");
    cold.push(performance.now() - startedAt);
    const askedAt = performance.now();
    await rowsWritten(server, "kept");
    warm.push(performance.now() - askedAt);
  }
  return [
    { what: `Process start to first response, stored agent (median of ${STARTS})`, value: milliseconds(cold) },
    { what: `Next response of the same agent (median of ${STARTS})`, value: milliseconds(warm) }
  ];
}

async function measureRows(server: WorkerServer): Promise<Measurement[]> {
  const name = "fresh";
  const boot = await rowsWritten(server, name);
  const request = await rowsWritten(server, name);
  const first = await rowsWritten(server, name, "?change");
  const next = await rowsWritten(server, name, "?change");
  await server.kill();
  await server.start();
  const restart = await rowsWritten(server, name);
  return [
    { what: "Rows written by the first boot of a new object", value: String(boot) },
    { what: "Rows written by booting it again", value: String(restart) },
    { what: "Rows written by a request that changes nothing", value: String(request) },
    { what: "Rows written by the first state change", value: String(first) },
    { what: "Rows written by each further state change", value: String(next) }
  ];
}

async function rowsWritten(server: WorkerServer, name: string, query = ""): Promise<number> {
  const response = await fetch(`${server.url}/agents/measured/${name}${query}`);
  if (!response.ok) throw new Error(`The measured agent answered ${response.status}.`);
  const { rowsWritten: rows } = (await response.json()) as { rowsWritten: number };
  return rows;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

function milliseconds(samples: number[]): string {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
  return `${median.toFixed(1)} ms`;
}

function printTable(rows: Measurement[]): void {
  const header = { what: "What", value: "Measured" };
  const width = (key: keyof Measurement) => Math.max(...[header, ...rows].map((row) => row[key].length));
  const [what, value] = [width("what"), width("value")];
  const line = (row: Measurement) => `| ${row.what.padEnd(what)} | ${row.value.padStart(value)} |`;
  console.log([line(header), `| ${"-".repeat(what)} | ${"-".repeat(value - 1)}: |`, ...rows.map(line)].join("\n"));
}

const server = await serveWorker({
  entry: join(tests, "process", "fixtures", "measured-agent.ts"),
  objects: ["Measured"]
});
try {
  printTable([...(await measureBundle()), ...(await measureStarts(server)), ...(await measureRows(server))]);
} finally {
  await server.stop();
}
