// A conversation on the real turn engine: what a client sends goes in as text, what it is sent comes out as parsed
// frames, and the test plays the model. A turn that may run waits before its stream until `start()`; after that the model
// streams what the test says, part by part. Every step ends when the engine has nothing left to do.
import { tool, type UIMessage } from "ai";
import { z } from "zod";
import {
  breakStream,
  failInBand,
  scriptedModel,
  text,
  toolCall,
  type Reply,
  type ScriptPart
} from "../testing/model/index.ts";
import { ALREADY_RECORDED } from "../session/change-log.ts";
import { user, World, type WorldInit } from "../turn/engine.test-support.ts";
import type { TurnOutcome, TurnView } from "../turn/turn.ts";
import type { ChatSocket } from "./clients.ts";
import { parseChatFrame } from "./commands.ts";
import { ChatProtocol, type ChatProtocolInit } from "./protocol.ts";
import type { MessageConcurrency, Reconciler, RequestPlan } from "./submit.ts";

export { user };

export type Frame = { type: string } & Record<string, unknown>;

export class TestSocket implements ChatSocket {
  readonly key = {};
  isOpen = true;
  readonly frames: Frame[] = [];
  onFrame: ((frame: Frame) => void) | undefined;
  /** Closes itself after this many more frames. */
  framesUntilClose = Infinity;

  send(frameText: string): boolean {
    if (this.framesUntilClose <= 0) this.isOpen = false;
    if (!this.isOpen) return false;
    this.framesUntilClose -= 1;
    const frame = JSON.parse(frameText) as Frame;
    this.frames.push(frame);
    this.onFrame?.(frame);
    return true;
  }

  /** What came since the last call. */
  take(): Frame[] {
    return this.frames.splice(0);
  }

  /** The same in a word or two each. */
  takeTypes(): string[] {
    return this.take().map(summary);
  }
}

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

export function requestFrame(id: string, body: unknown): Frame {
  const bodyText = typeof body === "string" ? body : JSON.stringify(body);
  return { type: "cf_agent_use_chat_request", id, init: { method: "POST", body: bodyText } };
}

/** Numbers of the chunks in these frames. */
export function seqs(frames: readonly Frame[]): number[] {
  return frames.flatMap((frame) => (typeof frame.seq === "number" ? [frame.seq] : []));
}

export function terminals(frames: readonly Frame[]): Frame[] {
  return frames.filter((frame) => frame.done === true);
}

/** 0, 1, 2 … */
export function numbers(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

export interface TestChatInit extends Partial<ChatProtocolInit> {
  readonly world?: Partial<WorldInit>;
}

export class TestChat {
  readonly world: World;
  readonly protocol: ChatProtocol;
  readonly sockets: TestSocket[] = [];
  /** Sockets that do not want unsolicited frames. */
  readonly quiet = new Set<TestSocket>();
  readonly failures: { error: unknown; stage: string }[] = [];
  readonly events: string[] = [];
  readonly accepted: TurnView[] = [];
  readonly outcomes = new Map<string, TurnOutcome>();
  concurrency: MessageConcurrency = "queue";
  /** The protocol's clock. */
  now: number;
  readonly #model = new PlayedModel();

  constructor({ world, ...overrides }: TestChatInit = {}) {
    const ask = tool({ inputSchema: z.object({}) });
    const danger = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "done" });
    this.world = new World({
      model: () => this.#model.next(),
      tools: { ask, danger },
      classifyFailure: (error) =>
        String(error instanceof Error && error.cause).includes(LOST) ? "transient" : undefined,
      ...world
    });
    this.now = this.world.clock.now();
    this.protocol = new ChatProtocol({
      turns: this.engine,
      reconciler: new TestReconciler(this.world),
      sockets: { list: () => this.sockets.filter((socket) => socket.isOpen && !this.quiet.has(socket)) },
      clock: { now: () => this.now, sleep: (ms, signal) => this.world.clock.sleep(ms, signal) },
      concurrency: () => this.concurrency,
      describeFailure: (error, { stage }) => {
        this.failures.push({ error, stage });
        return error instanceof Error ? error.message : "failed";
      },
      emit: (type) => void this.events.push(type),
      atomically: (work) => this.world.conversation.transaction(work),
      ...overrides
    });
    this.engine.listen({
      accepted: (turn) => void this.accepted.push(turn),
      settled: ({ requestId }, outcome) => void this.outcomes.set(requestId, outcome)
    });
    reportWrites(this.world, (kind, id) => this.protocol.messagesChanged({ kind, id }));
  }

  get engine(): World["engine"] {
    return this.world.engine;
  }

  /** The stored messages. */
  get path(): UIMessage[] {
    return this.world.transcript.path();
  }

  /** Puts messages into the store that no turn wrote. */
  store(...messages: UIMessage[]): void {
    for (const message of messages) this.world.transcript.append(message, ALREADY_RECORDED);
  }

  /** A new socket; its connect frames stay to be taken. */
  connect(): TestSocket {
    const socket = new TestSocket();
    this.sockets.push(socket);
    this.protocol.connected(socket);
    return socket;
  }

  /** One that connected long ago. */
  tab(): TestSocket {
    const socket = this.connect();
    socket.take();
    this.now += 60_000;
    return socket;
  }

  close(socket: TestSocket): void {
    socket.isOpen = false;
    this.protocol.disconnected(socket);
  }

  /** False when the frame is not one of ours. */
  receive(socket: TestSocket, frame: unknown): boolean {
    const command = parseChatFrame(typeof frame === "string" ? frame : JSON.stringify(frame));
    if (command) this.protocol.receive(socket, command);
    return command !== undefined;
  }

  /** A client's request, with its whole list unless the body says otherwise. */
  submit(socket: TestSocket, id: string, body: Record<string, unknown> = {}): void {
    const messages = [...this.engine.transcript(), user(`u-${id}`)];
    this.receive(socket, requestFrame(id, { messages, trigger: "submit-message", ...body }));
  }

  ask(socket: TestSocket, probeId?: string): void {
    this.receive(socket, { type: "cf_agent_stream_resume_request", ...(probeId !== undefined && { probeId }) });
  }

  acknowledge(socket: TestSocket, id: string): void {
    this.receive(socket, { type: "cf_agent_stream_resume_ack", id });
  }

  /** Until the engine has nothing left to do: none of it waits for time or the network. */
  async idle(): Promise<void> {
    for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Opens the stream of the next turn: `start` and `start-step`. Turns that were given up end on the way. */
  async start(): Promise<TurnView> {
    const turn = await this.tryStart();
    if (!turn) throw new Error("No turn streams.");
    return turn;
  }

  async tryStart(): Promise<TurnView | undefined> {
    await this.#untilHeld();
    while (!this.engine.streaming() && this.#model.isHeld) {
      this.#model.start();
      await this.#untilHeld();
    }
    return this.engine.streaming();
  }

  /** The model says something. The first of an answer is behind `text-start`. */
  async text(...deltas: string[]): Promise<void> {
    await this.#say(...deltas.map((delta) => text(delta)));
  }

  /** The model calls a tool that only a client runs, or one that waits for approval. */
  async call(toolCallId: string, waitsFor: "client" | "approval" = "client"): Promise<void> {
    const name = waitsFor === "client" ? "ask" : "danger";
    await this.#say(toolCall(name, {}, { id: toolCallId, inputChunks: 0 }));
  }

  /** The model's answer is complete. */
  async finish(): Promise<void> {
    this.#model.end();
    await this.idle();
  }

  /** The model fails, in the stream or before there is one. */
  async fail(): Promise<void> {
    await this.#untilHeld();
    if (this.#model.isHeld) this.#model.refuse(new Error("no model"));
    else this.#model.end(failInBand(new Error("overloaded")));
    await this.idle();
  }

  /** The connection to the model breaks in the middle of its stream: the turn will be continued. */
  async lose(): Promise<void> {
    this.#model.end(breakStream(new Error(LOST)));
    await this.idle();
  }

  async stop(requestId: string): Promise<void> {
    this.engine.cancel(requestId);
    await this.idle();
  }

  /** A whole turn with a one-word answer. */
  async answer(word = "hello"): Promise<void> {
    await this.start();
    await this.text(word);
    await this.finish();
  }

  /** Back-offs and the pause before a continuation are skipped. */
  async #untilHeld(): Promise<void> {
    await this.idle();
    if (this.#model.isHeld || this.engine.streaming() || !this.engine.waiting()) return;
    this.world.clock.skip(LONGEST_PAUSE_MS);
    await this.idle();
  }

  async #say(...parts: ScriptPart[]): Promise<void> {
    this.#model.say(...parts);
    await this.idle();
  }
}

const LOST = "connection lost";
const LONGEST_PAUSE_MS = 60_000;

/** Chunks of `start()`: start, start-step. */
export const START_CHUNKS = 2;

/** Chunks of `answer()`: start, start-step, text-start, text-delta, text-end, finish-step, finish. */
export const ANSWER_CHUNKS = 7;

/** A model whose calls are held back before and after the stream opens, until the test goes on. */
class PlayedModel {
  #held: { resolve: (model: ReturnType<typeof scriptedModel>) => void; reject: (error: Error) => void } | undefined;
  #parts: ScriptPart[] = [];
  #goOn: () => void = () => undefined;

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  next(): Promise<ReturnType<typeof scriptedModel>> {
    return new Promise((resolve, reject) => (this.#held = { resolve, reject }));
  }

  start(): void {
    this.#parts = [this.#pause()];
    const parts = this.#parts;
    this.#held?.resolve(scriptedModel((): Reply => ({ kind: "reply", parts })));
    this.#held = undefined;
  }

  refuse(error: Error): void {
    this.#held?.reject(error);
    this.#held = undefined;
  }

  say(...parts: ScriptPart[]): void {
    const goOn = this.#goOn;
    this.#parts.push(...parts, this.#pause());
    goOn();
  }

  end(...parts: ScriptPart[]): void {
    this.#parts.push(...parts);
    this.#goOn();
  }

  #pause(): ScriptPart {
    const going = new Promise<void>((resolve) => (this.#goOn = resolve));
    return { kind: "wait", until: () => going };
  }
}

/** Reports every message that is stored, before the engine announces anything, as the store does. */
function reportWrites({ transcript }: World, report: (kind: "appended" | "updated", id: string) => void): void {
  const append = transcript.append.bind(transcript);
  const update = transcript.update.bind(transcript);
  transcript.append = (message, origin, parentId) => {
    const isNew = append(message, origin, parentId);
    if (isNew) report("appended", message.id);
    return isNew;
  };
  transcript.update = (message) => {
    update(message);
    report("updated", message.id);
  };
}

interface TestPlan extends RequestPlan {
  readonly updates: readonly UIMessage[];
}

/** Stores what is new, branches under the last message of a regeneration or an edit. */
class TestReconciler implements Reconciler<TestPlan> {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  plan(posted: readonly UIMessage[], trigger: string): TestPlan {
    const { transcript, engine } = this.#world;
    const stored = transcript.path();
    const queued = engine.isBusy() ? engine.transcript() : stored;
    const known = new Map(queued.map((message) => [message.id, JSON.stringify(message)]));
    const input = posted.filter(({ id, role }) => role === "user" && !known.has(id));
    const isChanged = ({ id }: UIMessage, json: string) => known.has(id) && known.get(id) !== json;
    const updates = posted.filter((message) => message.role === "user" && isChanged(message, JSON.stringify(message)));
    const last = posted.at(-1);
    const hasDescendants = last !== undefined && transcript.has(last.id) && stored.at(-1)?.id !== last.id;
    const branches = last?.role === "user" && (trigger === "regenerate-message" || hasDescendants);
    const shownAsStored = posted.filter((message) => !input.includes(message));
    const tail = queued.slice(Math.max(0, queued.length - shownAsStored.length));
    const isSame = JSON.stringify(tail) === JSON.stringify(shownAsStored);
    const clientShows = !isSame || branches ? "different" : tail.length === queued.length ? "equal" : "part";
    return {
      input,
      updates,
      changesStored: updates.length > 0,
      ...(branches && { parentMessageId: last.id }),
      clientShows
    };
  }

  apply({ updates }: TestPlan): void {
    for (const update of updates) this.#world.transcript.update(update);
  }
}
