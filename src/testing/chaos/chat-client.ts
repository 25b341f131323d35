// A chat client for tests: speaks the `cf_agent_*` protocol over test sockets and survives the death of the server as
// the published clients do. On each connection it asks whether there is something to resume, acknowledges what it is
// offered, and folds replay, live chunks and snapshots into the list it shows.
import type { UIMessage } from "ai";
import { isObject, parseJson } from "../../util/json.ts";
import type { TestSocket } from "../test-socket.ts";
import { ChaosChatView, endOf, type ChatFrame, type RequestEnd } from "./chat-view.ts";

export interface ChatClientOptions {
  /** Opens a socket to the agent. */
  connect(): Promise<TestSocket>;
  /** Asks for the stored messages over HTTP, as a page does before it opens its socket. */
  fetchMessages(): Promise<UIMessage[]>;
  /** How many further copies of this frame the network delivers. */
  copies?(frame: ChatFrame): number;
}

/** What the server last answered to "is there something to resume?". */
type Answer = "unasked" | "asked" | "idle" | "busy";

export class ChatClient {
  readonly view = new ChaosChatView();
  /** How requests ended, as far as this client received it. */
  readonly ends = new Map<string, RequestEnd>();
  /** Requests whose end came live more than once on one socket. */
  readonly repeatedEnds = new Set<string>();
  /** Numbered chunks that did not follow the one before on the same socket. */
  readonly gaps: string[] = [];
  readonly #options: ChatClientOptions;
  #socket: TestSocket | undefined;
  #answer: Answer = "unasked";
  #probes = 0;
  #acknowledged = new Set<string>();
  #liveEnds = new Set<string>();
  #lastNumbers = new Map<string, number>();
  #hasMessages = false;

  constructor(options: ChatClientOptions) {
    this.#options = options;
  }

  get messages(): readonly UIMessage[] {
    return this.view.messages;
  }

  get isOpen(): boolean {
    return this.#socket !== undefined && this.#socket.closed === undefined;
  }

  /** The server has said, since this was last asked, that nothing is going on. */
  get isIdle(): boolean {
    return this.isOpen && this.#answer === "idle";
  }

  /** Opens a socket. What the client shows and knows of requests stays from the one before. */
  async open(): Promise<void> {
    this.view.interrupt();
    this.#answer = "unasked";
    if (!this.#hasMessages) {
      this.view.messages = await this.#options.fetchMessages();
      this.#hasMessages = true;
    }
    const socket = await this.#options.connect();
    this.#socket = socket;
    this.#acknowledged = new Set();
    this.#liveEnds = new Set();
    this.#lastNumbers = new Map();
    socket.listen((frame) => {
      if (isObject(frame) && this.#socket === socket) this.#receive(frame);
    });
    this.ask();
  }

  /** Asks whether there is something to resume; `isIdle` is set once the host is idle again. */
  ask(): void {
    this.#probes += 1;
    this.#answer = "asked";
    this.send({ type: "cf_agent_stream_resume_request", probeId: `probe-${this.#probes}` });
  }

  send(frame: ChatFrame): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    const copies = this.#options.copies?.(frame) ?? 0;
    if (copies > 0) socket.duplicateNext(copies);
    socket.send(frame);
  }

  /** The network goes away. */
  drop(): void {
    this.#socket?.drop();
    this.#socket = undefined;
  }

  #receive(frame: ChatFrame): void {
    this.#noteEnd(frame);
    this.#noteNumber(frame);
    this.view.receive(frame);
    switch (frame["type"]) {
      case "cf_agent_stream_resuming":
        return this.#offered(String(frame["id"]));
      case "cf_agent_stream_pending":
        this.#answer = "busy";
        return;
      case "cf_agent_stream_resume_none":
        // Others' continuations go on without this client; their end is a snapshot like any other.
        if (frame["reason"] === "idle" && frame["probeId"] === `probe-${this.#probes}`) this.#answer = "idle";
        if (frame["reason"] === "idle") this.view.forgetStreams();
    }
  }

  #offered(requestId: string): void {
    // A failed turn is offered until something newer happens: that is news once per client, not a reason to wait.
    this.#answer = this.ends.get(requestId)?.outcome === "error" ? "idle" : "busy";
    if (this.#acknowledged.has(requestId)) return;
    this.#acknowledged.add(requestId);
    this.send({ type: "cf_agent_stream_resume_ack", id: requestId });
  }

  /** A socket receives a stream from its start on, each chunk once; a replay and a new attempt begin with a start again. */
  #noteNumber(frame: ChatFrame): void {
    const seq = frame["seq"];
    if (typeof seq !== "number") return;
    const requestId = String(frame["id"]);
    const expected = (this.#lastNumbers.get(requestId) ?? -1) + 1;
    const isStart = typeof frame["body"] === "string" && frame["body"].startsWith('{"type":"start"');
    // What recovery took back is left out of a replay, and its numbers with it.
    const isTakenBack = frame["replay"] === true && seq > expected;
    if (seq !== expected && !isStart && !isTakenBack)
      this.gaps.push(`${requestId}: chunk ${seq} instead of ${expected}`);
    this.#lastNumbers.set(requestId, seq);
  }

  #noteEnd(frame: ChatFrame): void {
    const end = endOf(frame);
    if (end === undefined) return;
    const requestId = String(frame["id"]);
    this.ends.set(requestId, end);
    // The end of a failed turn is sent again to a client that acknowledges it.
    if (end.isReplay || (end.outcome === "error" && this.#acknowledged.has(requestId))) return;
    if (this.#liveEnds.has(requestId)) this.repeatedEnds.add(requestId);
    this.#liveEnds.add(requestId);
  }
}

/** The body of `GET …/get-messages`. */
export async function readMessages(response: Response): Promise<UIMessage[]> {
  const body = await response.text();
  const parsed = parseJson(body);
  if (response.status !== 200 || !parsed.ok || !Array.isArray(parsed.value)) {
    throw new Error(`get-messages answered ${response.status}: ${body.slice(0, 200)}`);
  }
  // What the agent under test stores as messages; the checks judge it.
  return parsed.value as UIMessage[];
}
