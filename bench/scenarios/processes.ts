// What a process costs: its start, its return after a kill, and its memory. All on the spare process, which begins
// anew in each of them.
import { type Arena, connected } from "../arena.ts";
import { Connection } from "../driver/connection.ts";
import { type Scenario, untilQuiet } from "./scenario.ts";

const IDLE_AGENTS = 100;
const STREAMING_AGENTS = 20;
/** How many agents are woken at once. */
const WOKEN_AT_ONCE = 10;
const STREAMED_CHUNKS = 200;
const STREAM_PAUSE_MS = 5;
const MEMORY_SAMPLE_MS = 50;
const RESTART_MESSAGES = 1_000;

export const start: Scenario = {
  name: "start",
  weight: "heavy",
  run: async (arena) => {
    await arena.restartSpare();
    await connected(arena.spare, "start", (connection) => connection.ask({}));
    await untilQuiet();
    await arena.spare.kill();
    const startedAt = performance.now();
    await arena.spare.start();
    await arena.spare.databaseSize("start");
    return { start: performance.now() - startedAt };
  }
};

export const restart: Scenario = {
  name: "restart",
  weight: "heavy",
  run: async (arena) => {
    await arena.restartSpare();
    const name = await arena.withHistory(arena.spare, `history-${RESTART_MESSAGES}`, RESTART_MESSAGES);
    await untilQuiet();
    await arena.spare.kill();
    const startedAt = performance.now();
    await arena.spare.start();
    await connected(arena.spare, name, (connection) => connection.ask({}));
    return { restart: performance.now() - startedAt };
  }
};

export const memory: Scenario = {
  name: "memory",
  weight: "heavy",
  run: async (arena, round) => {
    await arena.restartSpare();
    const connections = await wakeAgents(arena, round);
    try {
      await untilQuiet();
      const idle = arena.spare.usage().residentBytes;
      const streaming = await peakWhileStreaming(arena, connections.slice(0, STREAMING_AGENTS));
      return { memoryIdle: idle / 1e6, memoryStreaming: streaming / 1e6 };
    } finally {
      for (const connection of connections) connection.close();
      await arena.spare.kill();
    }
  }
};

/** Each agent has answered once and keeps its client. */
async function wakeAgents({ spare }: Arena, round: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  for (let from = 0; from < IDLE_AGENTS; from += WOKEN_AT_ONCE) {
    const names = Array.from({ length: WOKEN_AT_ONCE }, (_, index) => `memory-${round}-${from + index}`);
    const opened = await Promise.all(names.map((name) => Connection.open(spare.url("ws", name))));
    connections.push(...opened);
    await Promise.all(opened.map((connection) => connection.ask({})));
  }
  return connections;
}

async function peakWhileStreaming({ spare }: Arena, connections: readonly Connection[]): Promise<number> {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, spare.usage().residentBytes);
  };
  const timer = setInterval(look, MEMORY_SAMPLE_MS);
  try {
    const script = { chunks: STREAMED_CHUNKS, pauseMs: STREAM_PAUSE_MS };
    await Promise.all(connections.map((connection) => connection.ask(script)));
  } finally {
    clearInterval(timer);
  }
  look();
  return peak;
}
