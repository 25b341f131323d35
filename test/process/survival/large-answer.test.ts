// Answers that are larger than the memory of the process, on real processes whose heap has 128 MB. Writing 300 MB takes a
// process about 20 s on two cores, which is why these tests may take minutes.
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import WebSocket from "ws";
import { EventLog } from "../clients/event-log.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";

const MEGABYTE = 1_000_000;
const HEAP_MEGABYTES = 128;
/** What docs/durability.md gives as the largest answer survived. */
const LARGEST_MEGABYTES = 300;
const TIMEOUT_MS = 240_000;
/** An agent beside the large one answers within this, also while that is being recovered. */
const PATIENCE_MS = 60_000;

const entry = new URL("../fixtures/large-answer-worker.ts", import.meta.url);
const objects = ["Author", "Unlimited"];

test(
  `an answer of ${LARGEST_MEGABYTES} MB that a kill cuts off is settled in a heap of ${HEAP_MEGABYTES} MB, and other agents answer`,
  async () => {
    const server = await startWorker({ entry, objects });
    await ask(server, "unlimited/large", String(LARGEST_MEGABYTES)).begin();
    await until(
      async () => (await readState(server, "unlimited/large")).storedBytes > 0.99 * LARGEST_MEGABYTES * MEGABYTE
    );
    await server.kill();
    const small = await startWorker({
      entry,
      objects,
      heapMegabytes: HEAP_MEGABYTES,
      dataDirectory: server.dataDirectory
    });
    const { pid } = small;
    expect(await ask(small, "author/other", "Hello?").answer).toBe("Here I am.");
    await until(async () => (await readState(small, "unlimited/large")).openTurns === 0);
    const answer = await newest(small, "unlimited/large");
    expect(answer.startsWith("0:xxx")).toBe(true);
    expect(answer.length).toBeGreaterThan(MEGABYTE);
    expect(await shownError(small, "unlimited/large")).toBe("This answer has reached its limit of size and ends here.");
    expect(await ask(small, "unlimited/large", "And now?").answer).toBe("Here I am.");
    // Nothing of this has cost the process.
    expect(small.pid).toBe(pid);
    await small.stop();
    await server.stop();
  },
  TIMEOUT_MS
);

test(
  "an answer without end stops at 4 MB, and the process, whose heap it would not fit, lives",
  async () => {
    const server = await startWorker({ entry, objects, heapMegabytes: HEAP_MEGABYTES });
    const { pid } = server;
    const large = ask(server, "author/large", "100000");
    expect(await ask(server, "author/other", "Hello?").answer).toBe("Here I am.");
    expect(await large.answer).toBe("error: This answer has reached its limit of size and ends here.");
    expect(await newest(server, "author/large")).toHaveLength(4 * MEGABYTE);
    expect(server.pid).toBe(pid);
    await server.stop();
  },
  TIMEOUT_MS
);

test(
  "an answer that takes its process down, because its class sets no limit, is settled after a few deaths",
  async () => {
    const server = await startWorker({ entry, objects, heapMegabytes: HEAP_MEGABYTES });
    await ask(server, "unlimited/large", "100000").begin();
    let deaths = 0;
    await server.exited();
    for (;;) {
      deaths += 1;
      expect(deaths).toBeLessThanOrEqual(5);
      await server.start();
      const died = server.exited().then(() => "died" as const);
      const settled = until(async () => (await readState(server, "unlimited/large")).openTurns === 0, died);
      if ((await Promise.race([died, settled.then(() => "settled" as const)])) === "settled") break;
    }
    console.log(`out of memory ${deaths} times`);
    expect((await newest(server, "unlimited/large")).startsWith("0:xxx")).toBe(true);
    expect(await ask(server, "author/other", "Hello?").answer).toBe("Here I am.");
    expect(await ask(server, "unlimited/large", "And now?").answer).toBe("Here I am.");
    await server.stop();
  },
  TIMEOUT_MS
);

interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly body?: string;
  readonly done?: boolean;
  readonly error?: boolean;
}

/** A question over a socket of its own. `answer` is its text, or the error that people are shown. */
function ask(server: WorkerServer, path: string, question: string) {
  const id = crypto.randomUUID();
  const { log, socket } = connect(server, path);
  const messages = [{ id: `u-${id}`, role: "user", parts: [{ type: "text", text: question }] }];
  const body = JSON.stringify({ messages, trigger: "submit-message" });
  socket.on("open", () => {
    socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } }));
  });
  const isOurs = (frame: Frame) => frame.type === "cf_agent_use_chat_response" && frame.id === id;
  const accepted = log.find((frame) => isOurs(frame) && (frame.body ?? "").includes("text-delta"));
  const ended = log.find((frame) => isOurs(frame) && frame.done === true);
  const answer = ended.then(async ({ error, body: text }) => {
    socket.terminate();
    return error ? `error: ${text}` : newest(server, path);
  });
  // Only one of the two is waited for.
  for (const promise of [accepted, answer]) promise.catch(() => undefined);
  return {
    answer,
    /** Leaves as soon as the answer has begun. */
    async begin(): Promise<void> {
      await accepted;
      socket.terminate();
    }
  };
}

/** The error of the last turn, as a client that comes later reads it. */
async function shownError(server: WorkerServer, path: string): Promise<string | undefined> {
  const { log, socket } = connect(server, path);
  socket.on("open", () => socket.send(JSON.stringify({ type: "cf_agent_stream_resume_request" })));
  const offer = await log.find(({ type }) => type === "cf_agent_stream_resuming");
  socket.send(JSON.stringify({ type: "cf_agent_stream_resume_ack", id: offer.id }));
  const { body } = await log.find(({ id, done }) => id === offer.id && done === true);
  socket.terminate();
  return body;
}

function connect(server: WorkerServer, path: string) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/agents/${path}`, { maxPayload: 64 * MEGABYTE });
  const log = new EventLog<Frame>(PATIENCE_MS);
  socket.on("error", () => undefined);
  socket.on("message", (data) => log.add(JSON.parse(String(data)) as Frame));
  return { socket, log };
}

async function newest(server: WorkerServer, path: string): Promise<string> {
  const response = await fetch(`${server.url}/agents/${path}/get-messages`);
  const message = ((await response.json()) as UIMessage[]).at(-1);
  return message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
}

async function readState(server: WorkerServer, path: string) {
  const response = await fetch(`${server.url}/agents/${path}`);
  return (await response.json()) as { storedBytes: number; openTurns: number };
}

/** Asks until it is so. A process that is gone is asked no more; what waits for it knows. */
async function until(isSo: () => Promise<boolean>, gone?: Promise<unknown>): Promise<void> {
  let isOver = false;
  void gone?.then(() => (isOver = true));
  while (!isOver && !(await isSo().catch(() => false))) await new Promise((resolve) => setTimeout(resolve, 100));
  if (isOver) await new Promise(() => undefined);
}
