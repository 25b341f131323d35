// Text that a client has shown, and that a kill takes back: a real process is watched by a real client and killed, and
// what the client had on its screen is compared with what the recovered answer begins with.
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import WebSocket from "ws";
import { EventLog } from "../clients/event-log.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";

/** What an agent promises, by its class. */
const PROMISES = { Narrator: 500, Dictation: 100 } as const;
/** A timer and a frame on a machine that other tests use. */
const LATE_MS = 60;
const LOST_BYTES = 4 * 1024;
/** When each process is killed, after the first words. */
const KILLS_MS = [60, 430, 1_150, 1_900];

interface ReceivedFrame {
  readonly at: number;
  readonly frame: { type: string; id?: string; body?: string; done?: boolean; error?: boolean };
}

const CASES = (["Narrator", "Dictation"] as const).flatMap((agent) =>
  ["slow", "steady", "fast"].map((pace) => ({ agent, pace, promise: PROMISES[agent] }))
);

test.each(CASES)(
  "a kill takes back at most $promise ms and 4 KiB of the text that a client has shown ($pace stream)",
  async ({ agent, pace, promise }) => {
    const entry = new URL("./shown-text-worker.ts", import.meta.url);
    const server = await startWorker({ entry, objects: ["Narrator", "Dictation"] });
    const losses: { ms: number; bytes: number; shownBytes: number }[] = [];
    for (const [index, afterMs] of KILLS_MS.entries()) {
      losses.push(await killAfter(server, { path: `${agent.toLowerCase()}/${pace}-${index}`, pace, afterMs }));
    }
    console.log(agent, pace, JSON.stringify(losses));
    for (const { ms, bytes } of losses) {
      expect(ms).toBeLessThanOrEqual(promise + LATE_MS);
      expect(bytes).toBeLessThanOrEqual(LOST_BYTES);
    }
    // The later kills found something to keep: else nothing was compared.
    expect(losses.at(-1)?.shownBytes).toBeGreaterThan(losses.at(-1)?.bytes ?? 0);
    await server.stop();
  }
);

async function killAfter(server: WorkerServer, run: { path: string; pace: string; afterMs: number }) {
  const watcher = await connect(server, run.path);
  const messages = [{ id: "u1", role: "user", parts: [{ type: "text", text: run.pace }] }];
  const body = JSON.stringify({ messages, trigger: "submit-message" });
  watcher.socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id: "r1", init: { method: "POST", body } }));
  await watcher.log.find(({ frame }) => deltaOf(frame) !== "");
  await new Promise((resolve) => setTimeout(resolve, run.afterMs));
  const killedAt = performance.now();
  await server.kill();
  await watcher.closed;
  await server.start();
  const shown = watcher.log.events.map(({ at, frame }) => ({ at, text: deltaOf(frame) }));
  return { ...lossOf(shown, await keptText(server, run.path), killedAt) };
}

/** What was on the screen and is not at the beginning of the answer that is stored now. */
function lossOf(shown: readonly { at: number; text: string }[], kept: string, killedAt: number) {
  let position = 0;
  let oldestLost: number | undefined;
  for (const { at, text } of shown) {
    const isKept = kept.slice(position, position + text.length) === text;
    position += text.length;
    if (!isKept) oldestLost ??= at;
  }
  const lost = oldestLost === undefined ? [] : shown.filter(({ at }) => at >= oldestLost);
  const bytes = lost.reduce((sum, { text }) => sum + text.length, 0);
  return { ms: oldestLost === undefined ? 0 : Math.round(killedAt - oldestLost), bytes, shownBytes: position };
}

/** Of the recovered answer, what the first process had stored. */
async function keptText(server: WorkerServer, path: string): Promise<string> {
  const { socket, log } = await connect(server, path);
  socket.send(JSON.stringify({ type: "cf_agent_stream_resume_request" }));
  // The turn may be over before anything is offered; then the list that a connect is sent has all of it.
  await log.find(({ frame }) => JSON.stringify(frame).includes("[the end]"));
  const stored = await untilStored(server, path);
  socket.terminate();
  return stored.slice(0, stored.indexOf("[the end]"));
}

async function untilStored(server: WorkerServer, path: string): Promise<string> {
  for (;;) {
    const response = await fetch(`${server.url}/agents/${path}/get-messages`);
    const answer = ((await response.json()) as UIMessage[]).at(-1);
    const text = answer?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
    if (answer?.role === "assistant" && text.includes("[the end]")) return text;
  }
}

async function connect(server: WorkerServer, path: string) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/agents/${path}`);
  const log = new EventLog<ReceivedFrame>();
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => undefined);
  socket.on("message", (data) => {
    const frame = JSON.parse(String(data)) as ReceivedFrame["frame"];
    log.add({ at: performance.now(), frame });
    if (frame.type !== "cf_agent_stream_resuming") return;
    socket.send(JSON.stringify({ type: "cf_agent_stream_resume_ack", id: frame.id }));
  });
  await new Promise<void>((resolve) => socket.once("open", () => resolve()));
  return { socket, log, closed };
}

function deltaOf({ type, body }: ReceivedFrame["frame"]): string {
  if (type !== "cf_agent_use_chat_response" || !body?.startsWith("{")) return "";
  const chunk = JSON.parse(body) as { type: string; delta?: string };
  return chunk.type === "text-delta" ? (chunk.delta ?? "") : "";
}
