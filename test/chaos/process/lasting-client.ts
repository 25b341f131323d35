// A chat client over a real WebSocket that outlives the server, as the published clients do: it reconnects until it
// succeeds, asks whether there is something to resume, acknowledges what it is offered, and folds all it receives into the
// list it shows.
import type { UIMessage } from "ai";
import WebSocket from "ws";
import { type ChatFrame, ChaosChatView, endOf, type RequestEnd } from "../../../src/testing/chaos/chat-view.ts";
import { isObject, parseJson } from "../../../src/util/json.ts";

const RECONNECT_MS = 40;
/** A server that does not answer within this is asked again. */
const ANSWER_MS = 5_000;

export type Activity = "idle" | "busy" | "gone";

export class LastingClient {
  readonly view = new ChaosChatView();
  readonly ends = new Map<string, RequestEnd>();
  /** What was wrong with the frames themselves. */
  readonly problems: string[] = [];
  readonly #url: string;
  #socket: WebSocket | undefined;
  #isEnded = false;
  #probes = 0;
  #answers = new Map<string, (activity: Activity) => void>();
  #acknowledged = new Set<string>();
  #liveEnds = new Set<string>();
  #lastNumbers = new Map<string, number>();
  #awayUntil = 0;

  /** The agent's address, with http. */
  constructor(url: string) {
    this.#url = url;
    void this.#stayConnected();
  }

  get messages(): readonly UIMessage[] {
    return this.view.messages;
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Does not reconnect for so long: only its alarm can wake the agent. */
  stayAway(ms: number): void {
    this.#awayUntil = performance.now() + ms;
  }

  /** False when there is no connection: the frame is lost. */
  send(frame: ChatFrame): boolean {
    if (!this.isOpen) return false;
    this.#socket?.send(JSON.stringify(frame));
    return true;
  }

  /** What the server says about itself now. All frames it sent before have been received then. */
  activity(): Promise<Activity> {
    this.#probes += 1;
    const probeId = `probe-${this.#probes}`;
    const { promise, resolve } = Promise.withResolvers<Activity>();
    const late = setTimeout(() => resolve("gone"), ANSWER_MS);
    this.#answers.set(probeId, resolve);
    if (!this.send({ type: "cf_agent_stream_resume_request", probeId })) resolve("gone");
    return promise.finally(() => {
      clearTimeout(late);
      this.#answers.delete(probeId);
    });
  }

  end(): void {
    this.#isEnded = true;
    this.#socket?.terminate();
  }

  async #stayConnected(): Promise<void> {
    let hasMessages = false;
    while (!this.#isEnded) {
      const awayMs = Math.max(this.#awayUntil - performance.now(), RECONNECT_MS);
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      try {
        if (!hasMessages) this.view.messages = await fetchMessages(this.#url);
        hasMessages = true;
        await this.#connectOnce();
      } catch {
        // The server is down; that is what this client is for.
      }
    }
  }

  /** Resolves when the connection is gone. */
  async #connectOnce(): Promise<void> {
    const socket = new WebSocket(this.#url.replace("http", "ws"));
    const closed = new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
      socket.on("error", () => resolve());
    });
    this.#socket = socket;
    this.#acknowledged = new Set();
    this.#liveEnds = new Set();
    this.#lastNumbers = new Map();
    this.view.interrupt();
    socket.on("open", () => void this.activity());
    socket.on("message", (data) => {
      const frame = parseJson(String(data));
      if (frame.ok && isObject(frame.value)) this.#receive(frame.value);
    });
    await closed;
    for (const answer of this.#answers.values()) answer("gone");
    socket.terminate();
  }

  #receive(frame: ChatFrame): void {
    this.#noteEnd(frame);
    this.#noteNumber(frame);
    this.view.receive(frame);
    switch (frame["type"]) {
      case "cf_agent_stream_resuming":
        return this.#offered(frame);
      case "cf_agent_stream_pending":
        return this.#answered(frame, "busy");
      case "cf_agent_stream_resume_none":
        if (frame["reason"] === "idle") this.view.forgetStreams();
        this.#answered(frame, frame["reason"] === "idle" ? "idle" : "busy");
    }
  }

  #offered(frame: ChatFrame): void {
    const requestId = String(frame["id"]);
    // A failed turn is offered until something newer happens: that is news, not work.
    this.#answered(frame, this.ends.get(requestId)?.outcome === "error" ? "idle" : "busy");
    if (this.#acknowledged.has(requestId)) return;
    this.#acknowledged.add(requestId);
    this.send({ type: "cf_agent_stream_resume_ack", id: requestId });
  }

  /** An answer that does not say to which question it belongs is one to all. */
  #answered(frame: ChatFrame, activity: Activity): void {
    const probeId = frame["probeId"];
    if (typeof probeId === "string") this.#answers.get(probeId)?.(activity);
    else for (const answer of this.#answers.values()) answer(activity);
  }

  /** The numbers of a stream only grow on a socket; a replay begins again. Chunks that were taken back leave a gap. */
  #noteNumber(frame: ChatFrame): void {
    const seq = frame["seq"];
    if (typeof seq !== "number") return;
    const requestId = String(frame["id"]);
    const isReplay = frame["replay"] === true;
    const last = this.#lastNumbers.get(requestId);
    if (!isReplay && last !== undefined && seq <= last) this.problems.push(`${requestId}: chunk ${seq} after ${last}`);
    this.#lastNumbers.set(requestId, seq);
  }

  #noteEnd(frame: ChatFrame): void {
    const end = endOf(frame);
    if (end === undefined) return;
    const requestId = String(frame["id"]);
    this.ends.set(requestId, end);
    if (end.isReplay || (end.outcome === "error" && this.#acknowledged.has(requestId))) return;
    if (this.#liveEnds.has(requestId)) this.problems.push(`${requestId} ended twice on one socket`);
    this.#liveEnds.add(requestId);
  }
}

/** What is stored, over HTTP. */
export async function fetchMessages(url: string): Promise<UIMessage[]> {
  const response = await fetch(`${url}/get-messages`);
  if (!response.ok) throw new Error(`get-messages answered ${response.status}: ${await response.text()}`);
  // The checks judge what it is.
  return (await response.json()) as UIMessage[];
}
