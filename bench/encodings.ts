// What the encodings of one turn cost beside each other: `cf_agent_*` frames, frames of `WebSocketChatTransport`, and
// server-sent events. Raw readers, one workerd, one conversation each; `node bench/encodings.ts` prints a table.
import { WebSocket } from "ws";
import { serveWorker, type WorkerServer } from "../tools/serve-worker.ts";
import { quantile } from "./statistics.ts";
import { writeScript } from "./workers/script.ts";

interface Turn {
  readonly bytes: number;
  readonly ms: number;
}

type Ask = (question: string, number: number) => Promise<Turn>;

const ROUNDS = 15;
const BURST = 2_000;

const message = (text: string, number: number) => ({
  id: `u${number}`,
  role: "user",
  parts: [{ type: "text", text }]
});

/** Frames of a socket until one says that the turn is over. */
async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url.replace("http", "ws"));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return socket;
}

function socketTurn(socket: WebSocket, frame: object, isEnd: (text: string) => boolean): Promise<Turn> {
  const from = performance.now();
  let bytes = 0;
  return new Promise((resolve) => {
    const receive = (data: Buffer) => {
      bytes += data.byteLength;
      if (!isEnd(data.toString())) return;
      socket.off("message", receive);
      resolve({ bytes, ms: performance.now() - from });
    };
    socket.on("message", receive);
    socket.send(JSON.stringify(frame));
  });
}

async function cfAgent(address: string): Promise<Ask> {
  const socket = await openSocket(`${address}?_pk=bench`);
  return (question, number) => {
    const body = JSON.stringify({ messages: [message(question, number)], trigger: "submit-message" });
    const frame = { type: "cf_agent_use_chat_request", id: `r${number}`, init: { method: "POST", body } };
    // The stored answer follows the end: with it the turn is over for this client.
    return socketTurn(socket, frame, (text) => text.startsWith('{"type":"cf_agent_message_updated"'));
  };
}

async function plainSocket(address: string): Promise<Ask> {
  const socket = await openSocket(`${address}/chat`);
  return (question, number) => {
    const frame = {
      type: "send",
      requestId: `r${number}`,
      id: "bench",
      trigger: "submit-message",
      messages: [message(question, number)],
      headers: {},
      body: {}
    };
    return socketTurn(socket, frame, (text) => text.startsWith('{"type":"end"'));
  };
}

async function events(address: string): Promise<Ask> {
  return async (question, number) => {
    const from = performance.now();
    const response = await fetch(`${address}/chat`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ id: "bench", messages: [message(question, number)], trigger: "submit-message" })
    });
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.byteLength;
    return { bytes, ms: performance.now() - from };
  };
}

function middle(turns: readonly Turn[], of: keyof Turn): number {
  return quantile(
    turns.map((turn) => turn[of]),
    0.5
  );
}

async function measure(server: WorkerServer, name: string, open: (address: string) => Promise<Ask>) {
  const ask = await open(`${server.url}/agents/chat/${name}`);
  let number = 0;
  const turns = async (script: string) => {
    const results: Turn[] = [];
    for (let round = 0; round < ROUNDS; round += 1) results.push(await ask(script, (number += 1)));
    // The first ones warm it up.
    return results.slice(3);
  };
  const one = await turns(writeScript({ chunks: 1 }));
  const burst = await turns(writeScript({ chunks: BURST }));
  return {
    encoding: name,
    "one chunk, ms": Number(middle(one, "ms").toFixed(2)),
    "one chunk, bytes": middle(one, "bytes"),
    "2,000 chunks, bytes": middle(burst, "bytes"),
    "2,000 chunks, chunks/s": Math.round(BURST / (middle(burst, "ms") / 1000))
  };
}

const server = await serveWorker({ entry: new URL("./workers/everthink.ts", import.meta.url), objects: ["Chat"] });
try {
  console.table([
    await measure(server, "cf-agent", cfAgent),
    await measure(server, "plain-socket", plainSocket),
    await measure(server, "server-sent-events", events)
  ]);
} finally {
  await server.stop();
}
