// What waking a conversation of 200 MB costs a real process, seen from outside: bytes read from disk and memory held. Both
// are compared with waking an agent that has one message, in a process of its own each time.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startWorker, type WorkerServer } from "./workerd-process.ts";

const MEGABYTE = 1_000_000;
const HISTORY_MEGABYTES = 200;
/** More than any start needs that reads a few rows, far less than a part of the history. */
const READ_ALLOWANCE_BYTES = MEGABYTE;
const MEMORY_ALLOWANCE_BYTES = 16 * MEGABYTE;

interface Cost {
  readBytes: number;
  residentBytes: number;
}

// Only Linux tells what a process has read.
test.runIf(process.platform === "linux")(
  `waking ${HISTORY_MEGABYTES} MB of history reads and holds no more than waking one message`,
  async () => {
    const entry = new URL("./fixtures/archive-worker.ts", import.meta.url);
    const server = await startWorker({ entry, objects: ["Archive"] });
    await visit(server, "small?pages=1");
    let sizeBytes = 0;
    for (let from = 0; from < HISTORY_MEGABYTES; from += 10) {
      sizeBytes = Number(await visit(server, `large?from=${from}&pages=10`));
    }
    // After a kill SQLite reads again what it wrote last, before it answers anything: that is to be a small write.
    for (const name of ["small", "large"]) await visit(server, `${name}?from=${HISTORY_MEGABYTES}&lines=1`);
    expect(sizeBytes).toBeGreaterThan(HISTORY_MEGABYTES * MEGABYTE);
    const small = await costOfWaking(server, "small");
    const large = await costOfWaking(server, "large");
    console.log("small", small, "large", large);
    expect(large.readBytes - small.readBytes).toBeLessThan(READ_ALLOWANCE_BYTES);
    expect(large.residentBytes - small.residentBytes).toBeLessThan(MEMORY_ALLOWANCE_BYTES);
    await server.stop();
  }
);

/** A process in which something else was woken first, so that only the object is counted, not the worker. */
async function costOfWaking(server: WorkerServer, name: string): Promise<Cost> {
  await server.kill();
  await server.start();
  await visit(server, "other");
  const before = usage(server);
  await visit(server, name);
  const after = usage(server);
  return {
    readBytes: after.readBytes - before.readBytes,
    residentBytes: after.residentBytes - before.residentBytes
  };
}

function usage({ pid }: WorkerServer): Cost {
  const number = (file: string, pattern: RegExp) =>
    Number(pattern.exec(readFileSync(`/proc/${pid}/${file}`, "utf8"))?.[1]);
  return {
    readBytes: number("io", /^rchar: (\d+)/m),
    residentBytes: number("status", /^VmRSS:\s+(\d+) kB/m) * 1_024
  };
}

async function visit(server: WorkerServer, path: string): Promise<string> {
  const response = await fetch(`${server.url}/agents/archive/${path}`);
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.text();
}
