// The baseline: what a chat turn costs with nothing around it. A bare Durable Object reads its history, runs `streamText`
// and forwards the chunks, with two inserts a turn. It speaks just enough of the chat protocol for the driver, keeps a
// running stream in memory for replay, and promises nothing about crashes.
import { DurableObject } from "cloudflare:workers";
import { convertToModelMessages, isStepCount, streamText, tool, toUIMessageStream, type UIMessage } from "ai";
import { z } from "zod";
import { answerMeter, meterObject } from "./meter.ts";
import { scriptedModelV4 } from "./model.ts";

interface Env {
  Chat: DurableObjectNamespace<Chat>;
}

interface Frame {
  type: string;
  id: string;
  init?: { body: string };
}

interface Running {
  id: string;
  frames: string[];
  abort: AbortController;
  /** Sockets that were offered the stream and have not taken it: they get no chunks. */
  offered: Set<WebSocket>;
}

const MAX_STEPS = 20;

const tools = {
  echo: tool({
    description: "Returns what it is given.",
    inputSchema: z.object({ text: z.string() }),
    execute: async ({ text }) => text
  })
};

export class Chat extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  #running: Running | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    meterObject(ctx);
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS messages (position INTEGER PRIMARY KEY, message TEXT NOT NULL)");
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.headers.get("upgrade") === "websocket") return this.#connect();
    switch (new URL(request.url).pathname.split("/").at(-1)) {
      case "get-messages":
        return Response.json(this.#history());
      case "seed":
        for (const message of await request.json<UIMessage[]>()) this.#insert(message);
        return new Response("seeded");
      default:
        return Response.json({ databaseSize: this.#sql.databaseSize });
    }
  }

  override async webSocketMessage(socket: WebSocket, data: string): Promise<void> {
    const frame = JSON.parse(data) as Frame;
    switch (frame.type) {
      case "cf_agent_use_chat_request":
        return this.#answer(frame.id, JSON.parse(frame.init?.body ?? "{}"));
      case "cf_agent_chat_request_cancel":
        return this.#running?.abort.abort();
      case "cf_agent_stream_resume_request":
        return this.#offer(socket);
      case "cf_agent_stream_resume_ack":
        return this.#replay(socket);
    }
  }

  #connect(): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    this.#offer(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  #offer(socket: WebSocket): void {
    if (this.#running === undefined) return;
    this.#running.offered.add(socket);
    socket.send(JSON.stringify({ type: "cf_agent_stream_resuming", id: this.#running.id }));
  }

  async #answer(id: string, { messages }: { messages: UIMessage[] }): Promise<void> {
    const asked = messages.at(-1);
    if (asked !== undefined) this.#insert(asked);
    const running: Running = { id, frames: [], abort: new AbortController(), offered: new Set() };
    this.#running = running;
    const result = streamText({
      model: scriptedModelV4(),
      messages: await convertToModelMessages(this.#history()),
      tools,
      stopWhen: isStepCount(MAX_STEPS),
      abortSignal: running.abort.signal
    });
    const chunks = toUIMessageStream({
      stream: result.stream,
      tools,
      generateMessageId: () => crypto.randomUUID(),
      onEnd: ({ responseMessage }) => this.#insert(responseMessage)
    });
    for await (const chunk of chunks) this.#send(running, JSON.stringify(chunk));
    this.#running = undefined;
    for (const socket of this.ctx.getWebSockets()) {
      socket.send(JSON.stringify({ type: "cf_agent_use_chat_response", id, body: "", done: true }));
    }
  }

  #send(running: Running, body: string): void {
    const frame = JSON.stringify({ type: "cf_agent_use_chat_response", id: running.id, body, done: false });
    running.frames.push(frame);
    for (const socket of this.ctx.getWebSockets()) {
      if (!running.offered.has(socket)) socket.send(frame);
    }
  }

  #replay(socket: WebSocket): void {
    const running = this.#running;
    if (running === undefined) return;
    for (const frame of running.frames) socket.send(frame);
    running.offered.delete(socket);
    const end = { type: "cf_agent_use_chat_response", id: running.id, body: "", done: false, replayComplete: true };
    socket.send(JSON.stringify(end));
  }

  #history(): UIMessage[] {
    const rows = this.#sql.exec<{ message: string }>("SELECT message FROM messages ORDER BY position");
    return rows.toArray().map(({ message }) => JSON.parse(message) as UIMessage);
  }

  #insert(message: UIMessage): void {
    this.#sql.exec("INSERT INTO messages (message) VALUES (?)", JSON.stringify(message));
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const answer = answerMeter(request);
    if (answer) return answer;
    const name = new URL(request.url).pathname.split("/")[3];
    if (name === undefined) return new Response("Not found", { status: 404 });
    return env.Chat.get(env.Chat.idFromName(name)).fetch(request);
  }
};
