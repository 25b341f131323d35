// What does not depend on the speed of the machine: rows read and written, bytes sent, the size of the bundle.
import { type Arena, connected } from "../arena.ts";
import type { Sample } from "../metrics.ts";
import type { Script } from "../workers/script.ts";
import { type Scenario, untilQuiet } from "./scenario.ts";

const BURST_CHUNKS = 2_000;
const TOOL_CALLS = 10;

const WRITTEN = [
  { key: "rowsWrittenTurn", script: {} },
  { key: "rowsWrittenBurst", script: { chunks: BURST_CHUNKS } },
  { key: "rowsWrittenTools", script: { callSteps: TOOL_CALLS } }
] as const;

const PASTS = [
  { messages: 10, read: "rowsRead10", asking: "bytesAsking10", watching: "bytesWatching10" },
  { messages: 1_000, read: "rowsRead1000", asking: "bytesAsking1000", watching: "bytesWatching1000" }
] as const;

export const rowsWritten: Scenario = {
  name: "rows-written",
  weight: "exact",
  prepare: async (arena, round) => {
    await (await arena.openClient(`rows-${round}`)).ask({});
  },
  run: async (arena, round) => {
    const sample: Sample = {};
    for (const { key, script } of WRITTEN) {
      const counts = await rowsOf(arena, `rows-${round}`, script);
      sample[key] = counts.rowsWritten;
      if (key === "rowsWrittenTurn") sample.statements = counts.statements;
    }
    return sample;
  }
};

/** On warm objects: they have just answered. */
export const rowsRead: Scenario = {
  name: "rows-read",
  weight: "exact",
  prepare: preparePasts,
  run: async (arena) => {
    const sample: Sample = {};
    for (const { messages, read } of PASTS) sample[read] = (await rowsOf(arena, pastName(messages), {})).rowsRead;
    return sample;
  }
};

/** Two clients see the same turn from its beginning: one asks, the other is a second tab. */
export const bytesSent: Scenario = {
  name: "bytes",
  weight: "exact",
  prepare: preparePasts,
  run: async (arena) => {
    const sample: Sample = {};
    for (const { messages, asking, watching } of PASTS) {
      const client = arena.client(pastName(messages));
      await connected(arena.main, pastName(messages), async (secondTab) => {
        await untilQuiet();
        const before = { asking: client.bytes, watching: secondTab.bytes };
        await client.ask({});
        await untilQuiet();
        sample[asking] = (client.bytes - before.asking) / 1024;
        sample[watching] = (secondTab.bytes - before.watching) / 1024;
      });
    }
    return sample;
  }
};

export const bundleSize: Scenario = {
  name: "bundle",
  weight: "once",
  run: async ({ bundle }) => ({ bundle: bundle.minifiedBytes / 1024, bundleGzip: bundle.gzipBytes / 1024 })
};

async function preparePasts(arena: Arena): Promise<void> {
  for (const { messages } of PASTS) {
    const name = pastName(messages);
    await arena.withHistory(arena.main, name, messages);
    const client = await arena.openClient(name);
    await client.ask({});
  }
}

/** Not the objects of the timed scenarios: their pasts grow. */
function pastName(messages: number): string {
  return `past-${messages}`;
}

function rowsOf(arena: Arena, name: string, script: Partial<Script>) {
  return arena.main.countRows(async () => {
    await arena.client(name).ask(script);
    await untilQuiet();
  });
}
