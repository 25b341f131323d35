// Text that a client has shown, and that a kill takes back: a real process is watched by a real client and killed, and
// what the client had on its screen is compared with what the recovered answer begins with.
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import WebSocket from "ws";
import { EventLog } from "../clients/event-log.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";

const LOST_MS = 500;
const LOST_BYTES = 16 * 1024;
/** When each process is killed, after the first words. */
const KILLS_MS = [60, 430, 1_150, 1_900];

interface ReceivedFrame {
  readonly at: number;
  readonly frame: { type: string; id?: string; body?: string; done?: boolean; error?: boolean };
}

test.each(["slow", "steady", "fast"])(
  "a kill takes back at most 0.5 s and 16 KiB of the text that a client has shown (%s stream)",
  async (pace) => {
    const entry = new URL("./shown-text-worker.ts", import.meta.url);
    const server = await startWorker({ entry, objects: ["Narrator"] });
    const losses: { ms: number; bytes: number; shownBytes: number }[] = [];
    for (const [index, afterMs] of KILLS_MS.entries()) {
      losses.push(await killAfter(server, { name: `${pace}-${index}`, pace, afterMs }));
    }
    console.log(pace, JSON.stringify(losses));
    for (const { ms, bytes } of losses) {
      expect(ms).toBeLessThanOrEqual(LOST_MS);
      expect(bytes).toBeLessThanOrEqual(LOST_BYTES);
    }
    // The later kills found something to keep: else nothing was compared.
    expect(losses.at(-1)?.shownBytes).toBeGreaterThan(losses.at(-1)?.bytes ?? 0);
    await server.stop();
  }
);

async function killAfter(server: WorkerServer, run: { name: string; pace: string; afterMs: number }) {
  const watcher = await connect(server, run.name);
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
  return { ...lossOf(shown, await keptText(server, run.name), killedAt) };
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
async function keptText(server: WorkerServer, name: string): Promise<string> {
  const { socket, log } = await connect(server, name);
  socket.send(JSON.stringify({ type: "cf_agent_stream_resume_request" }));
  // The turn may be over before anything is offered; then the list that a connect is sent has all of it.
  await log.find(({ frame }) => JSON.stringify(frame).includes("[the end]"));
  const stored = await untilStored(server, name);
  socket.terminate();
  return stored.slice(0, stored.indexOf("[the end]"));
}

async function untilStored(server: WorkerServer, name: string): Promise<string> {
  for (;;) {
    const response = await fetch(`${server.url}/agents/narrator/${name}/get-messages`);
    const answer = ((await response.json()) as UIMessage[]).at(-1);
    const text = answer?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
    if (answer?.role === "assistant" && text.includes("[the end]")) return text;
  }
}

async function connect(server: WorkerServer, name: string) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/agents/narrator/${name}`);
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
