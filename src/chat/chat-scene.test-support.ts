// A conversation with fake sockets around a fake engine: what a client sends goes in as text, what it is sent comes out
// as parsed frames.
import type { UIMessage } from "ai";
import { canonicalJson, isObject, parseJson } from "../util/json.ts";
import { parseChatFrame } from "./commands.ts";
import { ChatProtocol, type ChatProtocolInit } from "./protocol.ts";
import { FakeTurns } from "./fake-turns.test-support.ts";
import type { MessageConcurrency } from "./submit.ts";
import type { ChatSocket } from "./clients.ts";
import type { Reconciler, RequestPlan } from "./submit.ts";

export type Frame = { type: string } & Record<string, unknown>;

export class FakeSocket implements ChatSocket {
  readonly key = {};
  isOpen = true;
  readonly frames: Frame[] = [];
  /** Hears each frame as it is sent. */
  onFrame: ((frame: Frame) => void) | undefined;
  /** Closes itself after this many more frames. */
  framesUntilClose = Infinity;

  send(text: string): boolean {
    if (this.framesUntilClose <= 0) this.isOpen = false;
    if (!this.isOpen) return false;
    this.framesUntilClose -= 1;
    const frame = JSON.parse(text) as Frame;
    this.frames.push(frame);
    this.onFrame?.(frame);
    return true;
  }

  /** What came since the last call. */
  take(): Frame[] {
    return this.frames.splice(0);
  }

  /** Types of what came since the last call; responses tell their outcome. */
  takeTypes(): string[] {
    return this.take().map(summary);
  }
}

/** One frame in a word or two. */
export function summary(frame: Frame): string {
  switch (frame.type) {
    case "cf_agent_use_chat_response": {
      const kind = frame.done ? `done:${String(frame.outcome ?? "?")}` : frame.replayComplete ? "complete" : "chunk";
      return `${frame.replay ? "replay-" : ""}${kind}${frame.error ? "!" : ""}`;
    }
    case "cf_agent_chat_messages":
      return frame.connect ? "msgs-connect" : "msgs";
    case "cf_agent_stream_resume_none":
      return `none${typeof frame.reason === "string" ? `:${frame.reason}` : ""}`;
    default:
      return frame.type.replace(/^cf_agent_(stream_|chat_)?/, "");
  }
}

export function user(id: string, text = id): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

/** Stores what is new, branches under the last message of a regeneration or an edit. */
export class FakeReconciler implements Reconciler {
  readonly #turns: FakeTurns;
  applied = 0;
  planFailure: Error | undefined;

  constructor(turns: FakeTurns) {
    this.#turns = turns;
  }

  plan(posted: readonly UIMessage[], trigger: string): RequestPlan & { updates: UIMessage[] } {
    if (this.planFailure) throw this.planFailure;
    const stored = this.#turns.shown();
    const known = new Map(stored.map((message) => [message.id, message]));
    const input = posted.filter(({ id, role }) => role === "user" && !known.has(id));
    const isChanged = (message: UIMessage) => {
      const other = known.get(message.id);
      return other !== undefined && JSON.stringify(other) !== JSON.stringify(message);
    };
    const updates = posted.filter((message) => message.role === "user" && isChanged(message));
    const last = posted.at(-1);
    const hasDescendants = last !== undefined && known.has(last.id) && stored.at(-1)?.id !== last.id;
    const branches = last?.role === "user" && (trigger === "regenerate-message" || hasDescendants);
    const storedText = (id: string) => (known.has(id) ? JSON.stringify(known.get(id)) : undefined);
    const clientShows = compareShown({ posted, input, pathIds: stored.map(({ id }) => id), storedText });
    return {
      input,
      updates,
      changesStored: updates.length > 0,
      ...(branches && { parentMessageId: last.id }),
      clientShows
    };
  }

  apply(plan: RequestPlan & { updates?: UIMessage[] }): void {
    this.applied += 1;
    for (const update of plan.updates ?? []) {
      this.#turns.path = this.#turns.path.map((message) => (message.id === update.id ? update : message));
      this.#turns.onWrite(update.id, "updated");
    }
  }
}

export class Scene {
  readonly turns = new FakeTurns();
  readonly reconciler = new FakeReconciler(this.turns);
  readonly sockets: FakeSocket[] = [];
  /** Sockets that do not want unsolicited frames. */
  readonly quiet = new Set<FakeSocket>();
  readonly failures: { error: unknown; stage: string }[] = [];
  readonly events: string[] = [];
  readonly protocol: ChatProtocol;
  concurrency: MessageConcurrency = "queue";
  now = 1_000_000;

  constructor(overrides: Partial<ChatProtocolInit> = {}) {
    this.protocol = new ChatProtocol({
      turns: this.turns,
      reconciler: this.reconciler,
      sockets: { list: () => this.sockets.filter((socket) => socket.isOpen && !this.quiet.has(socket)) },
      clock: { now: () => this.now },
      concurrency: () => this.concurrency,
      describeFailure: (error, { stage }) => {
        this.failures.push({ error, stage });
        return error instanceof Error ? error.message : "failed";
      },
      emit: (type) => void this.events.push(type),
      ...overrides
    });
    this.turns.onWrite = (id, kind) => this.protocol.messagesChanged({ kind, id });
  }

  /** A new socket; its connect frames stay to be taken. */
  connect(): FakeSocket {
    const socket = new FakeSocket();
    this.sockets.push(socket);
    this.protocol.connected(socket);
    return socket;
  }

  /** One that connected long ago. */
  tab(): FakeSocket {
    const socket = this.connect();
    socket.take();
    this.now += 60_000;
    return socket;
  }

  close(socket: FakeSocket): void {
    socket.isOpen = false;
    this.protocol.disconnected(socket);
  }

  /** False when the frame is not one of ours. */
  receive(socket: FakeSocket, frame: unknown): boolean {
    const command = parseChatFrame(typeof frame === "string" ? frame : JSON.stringify(frame));
    if (command) this.protocol.receive(socket, command);
    return command !== undefined;
  }

  /** A client's request, with its whole list unless told otherwise. */
  submit(socket: FakeSocket, id: string, body: Record<string, unknown> = {}): void {
    const messages = [...this.turns.shown(), user(`u-${id}`)];
    this.receive(socket, requestFrame(id, { messages, trigger: "submit-message", ...body }));
  }

  ask(socket: FakeSocket, probeId?: string): void {
    this.receive(socket, { type: "cf_agent_stream_resume_request", ...(probeId !== undefined && { probeId }) });
  }

  acknowledge(socket: FakeSocket, id: string): void {
    this.receive(socket, { type: "cf_agent_stream_resume_ack", id });
  }
}

export function requestFrame(id: string, body: unknown): Frame {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { type: "cf_agent_use_chat_request", id, init: { method: "POST", body: text } };
}

/** Numbers of the chunks in these frames. */
export function seqs(frames: readonly Frame[]): number[] {
  return frames.flatMap((frame) => (isObject(frame) && typeof frame.seq === "number" ? [frame.seq] : []));
}

export interface Shown {
  readonly posted: readonly UIMessage[];
  /** What is new in it, as it will be stored. */
  readonly input: readonly UIMessage[];
  /** Ids of the transcript before, oldest first. Undefined when they are not worth reading: then nothing is `equal`. */
  readonly pathIds: readonly string[] | undefined;
  /** A stored message as JSON text. */
  storedText(id: string): string | undefined;
}

export function compareShown({ posted, input, pathIds, storedText }: Shown): RequestPlan["clientShows"] {
  const joining = new Map(input.map((message) => [message.id, JSON.stringify(message)]));
  for (const message of posted) {
    const stored = joining.get(message.id) ?? storedText(message.id);
    if (stored === undefined || !isSameMessage(message, stored)) return "different";
  }
  if (!pathIds) return "part";
  const after = [...pathIds, ...joining.keys()];
  if (!isInOrder(posted, after)) return "different";
  return after.length === posted.length ? "equal" : "part";
}

/** Every posted message is in the list, in the list's order, once. */
function isInOrder(posted: readonly UIMessage[], ids: readonly string[]): boolean {
  let next = 0;
  for (const { id } of posted) {
    next = ids.indexOf(id, next) + 1;
    if (next === 0) return false;
  }
  return true;
}

/** A client that was sent the stored text usually posts it back letter by letter. */
function isSameMessage(message: UIMessage, stored: string): boolean {
  if (JSON.stringify(message) === stored) return true;
  const parsed = parseJson(stored);
  return parsed.ok && canonicalJson(parsed.value) === canonicalJson(message);
}
