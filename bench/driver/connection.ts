// A chat client as thin as possible over a real WebSocket: it asks, and notes when what arrived. An answer that is not
// exactly what the script asked for is an error, so that no contender wins by losing something.
import { WebSocket } from "ws";
import { readScript, type Script, writeScript } from "../workers/script.ts";

export interface UserMessage {
  id: string;
  role: string;
  parts: { type: string; [key: string]: unknown }[];
}

export interface Answer {
  /** From sending the request. */
  firstTextMs: number;
  doneMs: number;
  /** Frames that carried text. */
  textFrames: number;
  toolOutputs: number;
}

interface Frame {
  type?: string;
  id?: string;
  body?: string;
  done?: boolean;
  error?: boolean;
  replayComplete?: boolean;
}

interface Watch {
  id: string;
  onChunk(chunk: { type: string; delta?: string }): void;
  onEnd(frame: Frame): void;
}

/** Longer than the slowest turn: one that was given up would go on and slow the others down. */
const TURN_LIMIT_MS = 300_000;
const AWAKE_TICK_MS = 4_000;
let requests = 0;

export class Connection {
  readonly #socket: WebSocket;
  #watch: Watch | undefined;
  #bytes = 0;
  #frames = 0;
  #onFrame: ((frame: Frame) => void) | undefined;
  #ticker: NodeJS.Timeout | undefined;
  #onClose: (() => void) | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer) => this.#receive(data));
    socket.on("close", () => this.#onClose?.());
  }

  static async open(url: string): Promise<Connection> {
    // As browsers do not wait, nor do we: frames that come with the handshake must find their listener.
    const socket = new WebSocket(url, { perMessageDeflate: false });
    const connection = new Connection(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    socket.on("error", () => undefined); // The process at the other end may be killed; `close` follows.
    return connection;
  }

  /** Payload received so far. */
  get bytes(): number {
    return this.#bytes;
  }

  get frames(): number {
    return this.#frames;
  }

  close(): void {
    clearInterval(this.#ticker);
    this.#socket.terminate();
  }

  /**
   * Sends something that is not answered from time to time. workerd puts an object to sleep after ten seconds without a word,
   * and most scenarios are about objects that are awake.
   */
  keepAwake(): void {
    this.#ticker ??= setInterval(() => this.#socket.send(JSON.stringify({ type: "bench_awake" })), AWAKE_TICK_MS);
  }

  /** Sends the question, after `before` if the whole conversation is to be posted, and waits for the end. */
  async ask(script: Partial<Script>, before: readonly UserMessage[] = []): Promise<Answer> {
    return this.post([...before, userMessage(writeScript(script))]);
  }

  async post(messages: readonly UserMessage[]): Promise<Answer> {
    const text = messages.at(-1)?.parts[0]?.["text"];
    const script = readScript(typeof text === "string" ? text : "");
    const id = `r${(requests += 1)}`;
    const frame = JSON.stringify({
      type: "cf_agent_use_chat_request",
      id,
      init: { method: "POST", body: JSON.stringify({ messages, trigger: "submit-message" }) }
    });
    const sentAt = performance.now();
    const collected = this.#collect(id, sentAt);
    this.#socket.send(frame);
    const { answer, textChars } = await collected;
    const calls = script.callSteps * script.callsPerStep;
    if (textChars !== script.chunks * script.chunkChars) throw new Error(`${textChars} characters of text arrived.`);
    if (answer.toolOutputs !== calls) throw new Error(`${answer.toolOutputs} of ${calls} tool outputs arrived.`);
    return answer;
  }

  /** Asks for an answer that stays open; resolves with its id when all its text is here. */
  async askHeld(script: Partial<Script>): Promise<string> {
    const held = { ...script, isHeld: true };
    const expected = expectedChars(held);
    const id = `r${(requests += 1)}`;
    let chars = 0;
    const arrived = new Promise<void>((resolve, reject) => {
      this.#watch = {
        id,
        onChunk: ({ type, delta }) => {
          if (type === "text-delta") chars += delta?.length ?? 0;
          if (chars >= expected) resolve();
        },
        onEnd: () => reject(new Error("An answer that should stay open has ended."))
      };
    });
    const body = JSON.stringify({ messages: [userMessage(writeScript(held))], trigger: "submit-message" });
    this.#socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } }));
    await arrived;
    return id;
  }

  /** Ends an answer that was left open. */
  async cancel(id: string): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#watch = { id, onChunk: () => undefined, onEnd: () => resolve() };
    });
    this.#socket.send(JSON.stringify({ type: "cf_agent_chat_request_cancel", id }));
    await ended;
  }

  /** Takes the stream that is offered and resolves when everything until now was replayed. */
  async resume(script: Partial<Script>): Promise<void> {
    const expected = expectedChars(script);
    let chars = 0;
    await new Promise<void>((resolve, reject) => {
      this.#onFrame = (frame) => {
        if (frame.type === "cf_agent_stream_resuming" && this.#watch === undefined) {
          const id = frame.id ?? "";
          this.#watch = {
            id,
            onChunk: ({ type, delta }) => {
              if (type === "text-delta") chars += delta?.length ?? 0;
            },
            onEnd: () => reject(new Error("The stream ended before its replay."))
          };
          this.#socket.send(JSON.stringify({ type: "cf_agent_stream_resume_ack", id }));
        }
        if (frame.replayComplete !== true) return;
        if (chars === expected) resolve();
        else reject(new Error(`${chars} of ${expected} characters were replayed.`));
      };
      this.#socket.send(JSON.stringify({ type: "cf_agent_stream_resume_request", probeId: "probe" }));
    });
    this.#onFrame = undefined;
  }

  /**
   * Asks, and gives another message to the turn when half of its steps are over. `stepMs`: of an ordinary step.
   * `effectMs`: from sending that message to the first text of its answer.
   */
  async askAndSteer(script: Partial<Script>): Promise<{ readonly stepMs: number; readonly effectMs: number }> {
    const half = Math.floor(readScript(writeScript(script)).callSteps / 2);
    const [id, steerId] = [`r${(requests += 1)}`, `r${(requests += 1)}`];
    const outputs: number[] = [];
    const given = new Promise<number>((resolve, reject) => {
      this.#watch = {
        id,
        onChunk: ({ type }) => {
          if (type !== "tool-output-available" || outputs.push(performance.now()) !== half) return;
          const message = userMessage(writeScript({}));
          this.#socket.send(
            JSON.stringify({ type: "cf_agent_chat_steering", key: steerId, do: "steer", id: steerId, message })
          );
          resolve(performance.now());
        },
        onEnd: () => reject(new Error("The turn ended before it was steered."))
      };
    });
    const body = JSON.stringify({ messages: [userMessage(writeScript(script))], trigger: "submit-message" });
    this.#socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } }));
    const givenAt = await given;
    let textAt = Number.NaN;
    await new Promise<void>((resolve) => {
      this.#watch = {
        id: steerId,
        onChunk: ({ type }) => {
          if (type === "text-delta") textAt = performance.now();
        },
        onEnd: () => resolve()
      };
    });
    const [first = Number.NaN] = outputs;
    return { stepMs: ((outputs.at(-1) ?? Number.NaN) - first) / (outputs.length - 1), effectMs: textAt - givenAt };
  }

  async #collect(id: string, sentAt: number): Promise<{ answer: Answer; textChars: number }> {
    const answer = { firstTextMs: Number.NaN, doneMs: Number.NaN, textFrames: 0, toolOutputs: 0 };
    let textChars = 0;
    await new Promise<void>((resolve, reject) => {
      const limit = setTimeout(
        () => reject(new Error(`A turn took longer than ${TURN_LIMIT_MS / 1000} s.`)),
        TURN_LIMIT_MS
      );
      this.#onClose = () => {
        clearTimeout(limit);
        reject(new Error("The connection was closed during a turn."));
      };
      this.#watch = {
        id,
        onChunk: ({ type, delta }) => {
          if (type === "tool-output-available") answer.toolOutputs += 1;
          if (type !== "text-delta") return;
          if (answer.textFrames === 0) answer.firstTextMs = performance.now() - sentAt;
          answer.textFrames += 1;
          textChars += delta?.length ?? 0;
        },
        onEnd: (frame) => {
          clearTimeout(limit);
          this.#onClose = undefined;
          answer.doneMs = performance.now() - sentAt;
          if (frame.error) reject(new Error(`The turn failed: ${frame.body}`));
          else resolve();
        }
      };
    });
    return { answer, textChars };
  }

  #receive(data: Buffer): void {
    this.#bytes += data.byteLength;
    this.#frames += 1;
    const frame = JSON.parse(data.toString()) as Frame;
    const watch = this.#watch;
    if (watch !== undefined && frame.type === "cf_agent_use_chat_response" && frame.id === watch.id) {
      if (frame.done === true) {
        this.#watch = undefined;
        watch.onEnd(frame);
      } else if (frame.body) watch.onChunk(JSON.parse(frame.body));
    }
    this.#onFrame?.(frame);
  }
}

export function userMessage(text: string): UserMessage {
  return { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
}

function expectedChars(script: Partial<Script>): number {
  const { chunks, chunkChars } = readScript(writeScript(script));
  return chunks * chunkChars;
}
