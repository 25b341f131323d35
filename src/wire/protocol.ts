// The `cf_agent_*` chat protocol: one listener of turns and one handler of commands. The engine reports what happened;
// here it becomes frames, in the order clients rely on, for the sockets it concerns. Stores nothing.
import type { UIMessage } from "ai";
import type { Clock } from "../host/ports.ts";
import type { Emit } from "../observe/events.ts";
import type { MessageTrace } from "../session/message-changes.ts";
import type { RecoveringTurn, TurnEngine } from "../turn/engine.ts";
import type { TurnHooks } from "../turn/hooks.ts";
import type { TurnListener } from "../turn/listener.ts";
import type { TurnOutcome, TurnView } from "../turn/turn.ts";
import type { AnswerOutcome } from "../turn/answers.ts";
import { assertNever } from "../util/assert-never.ts";
import { isThenable, whenDone, type MaybePromise } from "../util/maybe-promise.ts";
import { ChatClients, OtherClient, type ChatSocket, type ChatSockets, type ClientView } from "./clients.ts";
import { closingFor, ClosingTexts, hasStreamed, terminalOf, type Ended } from "./closing.ts";
import { isWatching, type ChatCommand } from "./commands.ts";
import { wireErrors } from "./errors.ts";
import { chatFrames, type AnswerRefusedFrame } from "./frames.ts";
import { ResumeHandshake } from "./resume.ts";
import {
  Submit,
  type ChatRequest,
  type MessageConcurrency,
  type Reconciler,
  type RequestPlan,
  type Submitted
} from "./submit.ts";
import { TurnTraces } from "./turn-traces.ts";

/** A recovery older than this is not shown to a client that connects: it should not wait for it. */
const RECOVERING_LIFETIME_MS = 15 * 60_000;

/** A snapshot and a request that cross on the wire: the snapshot erased the message the client already showed. */
const CROSSING_PERIOD_MS = 2_000;

export interface ChatProtocolInit {
  readonly turns: TurnEngine;
  readonly sockets: ChatSockets;
  readonly reconciler: Reconciler;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly describeFailure: TurnHooks["describeFailure"];
  concurrency(): MessageConcurrency;
  readonly emit: Emit;
  /** Runs the writes of an acceptance as one transaction. */
  atomically?<T>(work: () => T): T;
  /** Takes a command about messages that wait, and answers its sender; who may send it is decided there. */
  steering?(sender: object, fields: Record<string, unknown>): MaybePromise<void>;
  /** Whether this client may only watch. Default: all clients may change things. */
  isReadonly?(socket: ChatSocket): boolean;
}

export class ChatProtocol implements TurnListener {
  readonly #init: ChatProtocolInit;
  readonly #clients: ChatClients;
  readonly #handshake: ResumeHandshake;
  /** The entry of requests, for other encodings too: what a client is shown depends on what another has asked. */
  readonly submit: Submit;
  readonly #traces = new TurnTraces();
  readonly #refused = new WeakSet<ClientView>();
  readonly #warnedOf = new Set<string>();
  /** By socket: when the last of its frames that had to wait is handled. */
  readonly #undecided = new Map<unknown, Promise<void>>();
  #hasWarnedOfPush = false;
  /** What clients were last sent about recovery. An earlier process has notified them of a turn it was recovering. */
  #showsRecovery: boolean;
  /** The time of the pause that clients were last shown. */
  #retryShown: number | undefined;

  constructor(init: ChatProtocolInit) {
    this.#init = init;
    this.#clients = new ChatClients(init);
    this.#handshake = new ResumeHandshake(this.#clients, init.turns);
    this.#showsRecovery = init.turns.recovering() !== undefined;
    this.submit = new Submit(init, this.#traces);
    init.turns.listen(this);
  }

  /** The chat frames of a connect, before all others. Only for sockets that want unsolicited frames. */
  connected(socket: ChatSocket): void {
    const view = this.#clients.of(socket);
    if (this.#handshake.connected(view)) this.#sendRecovery(view);
    this.#sendPause(view);
  }

  #sendRecovery(view: ClientView): void {
    const recovering = this.#init.turns.recovering();
    if (!recovering || this.#init.clock.now() - recovering.since >= RECOVERING_LIFETIME_MS) return;
    this.#clients.send(view, chatFrames.recovering(true, recovering.requestId));
  }

  /** To a client that was not there when the silence or the pause was reported. */
  #sendPause(view: ClientView): void {
    const silent = this.#init.turns.silent();
    if (silent) this.#clients.send(view, chatFrames.silent(silent.turn.requestId, silent.sinceMs));
    const { requestId = "", retry } = this.#init.turns.recovering() ?? {};
    if (retry && retry.at > this.#init.clock.now()) this.#clients.send(view, chatFrames.retry(requestId, retry));
  }

  disconnected(socket: ChatSocket): void {
    this.#clients.forget(socket);
  }

  /**
   * Frames of one socket in the order they came: those that follow a decision about which the class still thinks wait for
   * it. Throws only what the engine throws for tool answers and clears.
   */
  receive(socket: ChatSocket, command: ChatCommand): MaybePromise<void> {
    const { key } = socket;
    const before = this.#undecided.get(key);
    const handled = before ? before.then(() => this.#handle(socket, command)) : this.#handle(socket, command);
    if (!isThenable(handled)) return;
    const release = () => {
      if (this.#undecided.get(key) === over) this.#undecided.delete(key);
      // It may have gone in the meantime, and been looked up again.
      if (!socket.isOpen) this.#clients.forget(socket);
    };
    const over = handled.then(release, release);
    this.#undecided.set(key, over);
    return handled;
  }

  #handle(socket: ChatSocket, command: ChatCommand): MaybePromise<void> {
    // Its sender waits for an answer, also for a refusal.
    if (command.type === "steering") return this.#init.steering?.(socket.key, command.fields);
    const view = this.#clients.of(socket);
    if (!isWatching(command) && this.#init.isReadonly?.(socket)) return this.#refuse(view, command);
    const { turns } = this.#init;
    switch (command.type) {
      case "request":
        return this.#request(view, command);
      case "malformed-request":
        return this.#refuseRequest(view, command.requestId, command.error);
      case "cancel":
        return turns.cancel(command.requestId);
      case "clear":
        return turns.clear(socket.key);
      case "push":
        return this.#pushed(view);
      case "tool-result":
        return this.#toolResult(view, command);
      case "approval":
        return this.#approval(view, command);
      case "resume-request":
        return this.#handshake.asked(view, command.probeId);
      case "resume-ack":
        this.#handshake.acknowledged(view, command.requestId);
        return this.#sendPause(view);
      case "ignored":
        return console.warn(`Ignored ${command.reason}.`);
      default:
        return assertNever(command);
    }
  }

  /** Every turn and armed continuation was given up: clients that wait for one are released. */
  reset(): void {
    this.#handshake.releaseParked();
    this.#refreshRecovery();
  }

  /** The request goes on: its stream stays open, and clients are shown why it pauses. */
  interrupted(): void {
    this.#refreshRecovery();
    const turn = this.#init.turns.recovering();
    if (turn) this.#showRetry(turn);
  }

  /**
   * The stored messages changed. Changes without an announcement of their own (messages added inside a turn, silent
   * appends, compaction) reach clients with the transcript at the end of the turn.
   */
  messagesChanged(change: MessageTrace): void {
    if (change.kind === "repeated" || change.kind === "shortened") return;
    if (change.id !== undefined && this.#traces.isOwnWrite(change.id)) return;
    this.#traces.disturbStreaming();
    for (const view of this.#clients.known()) view.setInSync(false);
  }

  accepted(turn: TurnView): void {
    this.#traces.accepted(turn);
  }

  streaming(turn: TurnView): void {
    this.#clients.payMissing();
    this.#handshake.streamStarted(turn, this.#traces.streaming(turn));
  }

  chunk(turn: TurnView, chunk: { readonly seq: number; readonly body: string }): void {
    this.#traces.chunk(turn, chunk.body);
    const recipients = this.#clients.ofTurn(turn).filter((view) => view.offered === undefined);
    this.#clients.sendAll(recipients, () => chatFrames.chunk(turn, chunk));
  }

  silent({ requestId }: TurnView, sinceMs: number): void {
    this.#clients.sendAll(this.#clients.all(), () => chatFrames.silent(requestId, sinceMs));
  }

  /**
   * No client of the AI SDK can take words back from a stream that it reads: further chunks would stand behind them. The
   * stored message takes the place of what is shown; the rest is sent at the end, or to a client that joins anew.
   */
  takenBack(turn: TurnView, kept: UIMessage): void {
    const shown = this.#clients.ofTurn(turn).filter((view) => view.offered === undefined);
    for (const view of shown) view.withhold(turn.requestId);
    this.#clients.sendAll(shown, () => chatFrames.messageUpdated(kept, turn.requestId));
  }

  settled(turn: TurnView, outcome: TurnOutcome): void {
    const answerer = this.#init.turns.steering.answererOf(turn, outcome);
    const ended = { turn, outcome, trace: this.#traces.take(turn.turnId), answerer };
    if (hasStreamed(ended)) this.#closeStreamed(ended);
    else this.#closeUnstreamed(ended);
    if (this.#isLast(turn)) this.#clients.payAll();
    this.#refreshRecovery();
  }

  /** No other turn is accepted: what clients are sent now is what they show until the next one. */
  #isLast({ turnId }: TurnView): boolean {
    const { turns } = this.#init;
    return [turns.streaming(), turns.waiting()].every((other) => other === undefined || other.turnId === turnId);
  }

  messageUpdated(message: UIMessage): void {
    this.#traces.disturbStreaming();
    this.#clients.sendAll(this.#clients.all(), () => chatFrames.messageUpdated(message));
  }

  transcriptChanged(origin: unknown): void {
    this.#traces.disturbStreaming();
    this.#clients.sendSnapshotSoon(this.#clients.all().filter((view) => view.socket.key !== origin));
    const { turns } = this.#init;
    // Another branch was chosen: a continuation that clients waited for belonged to the branch that was left.
    if (!turns.streaming() && !turns.waiting()) this.#handshake.releaseParked();
  }

  cleared(origin: unknown): void {
    this.#traces.disturb();
    this.#handshake.releaseParked();
    for (const view of this.#clients.known()) {
      view.endStream();
      view.setInSync(view.socket.key !== origin);
    }
    const others = this.#clients.all().filter((view) => view.socket.key !== origin);
    this.#clients.sendAll(others, () => chatFrames.clear());
    this.#refreshRecovery();
  }

  /**
   * Terminal and closing frame of a socket back to back, with nothing awaited: clients act on the pair. While a long queue is
   * answered, not every answer is followed by the whole transcript; the last one is.
   */
  #closeStreamed(ended: Omit<Ended, "view">): void {
    const { turn, outcome } = ended;
    const terminal = terminalOf(ended);
    const texts = new ClosingTexts(() => this.#init.turns.transcript(), outcome.message);
    const isLast = this.#isLast(turn);
    const owing: ClientView[] = [];
    for (const view of this.#clients.ofTurn(turn)) {
      const closing = closingFor({ ...ended, view });
      view.endStream(turn.requestId);
      this.#clients.send(view, terminal);
      if (closing === "snapshot" && (isLast || this.#clients.canTakeSnapshot(view, "order"))) {
        this.#clients.sendSnapshotFrame(view, texts.snapshot);
      } else if (closing === "message") {
        this.#clients.send(view, texts.message);
        if (outcome.message) view.received(outcome.message.id);
      } else if (closing === "snapshot") {
        // Its answer is whole at once; its place in the list comes with a later snapshot.
        if (outcome.message) this.#clients.send(view, texts.message);
        owing.push(view);
      }
    }
    this.#clients.sendSnapshotSoon(owing, "order");
  }

  /** Only the client that asked has seen the request, unless it was given up or its client is gone. */
  #closeUnstreamed(ended: Omit<Ended, "view">): void {
    const { turn, outcome } = ended;
    const asker = turn.trigger === "auto-continuation" ? undefined : this.#clients.origin(turn.origin);
    const isOrphan = turn.trigger === "ws-chat" && !asker && !isElsewhere(turn.origin);
    if (outcome.status === "error" && (outcome.givenUp || isOrphan)) return this.#closeFailed(ended);
    if (asker) this.#clients.send(asker, terminalOf(ended));
    const disturbed = this.#clients.ofTurn(turn).filter((view) => closingFor({ ...ended, view }) === "snapshot");
    this.#clients.sendSnapshotSoon(disturbed, "order");
    this.#handshake.endedUnstreamed(turn);
  }

  /** Any tab may be waiting. The snapshot removes the empty answer that clients show for the end of an unknown request. */
  #closeFailed(ended: Omit<Ended, "view">): void {
    const { turn } = ended;
    const recipients = this.#clients.ofTurn(turn);
    this.#clients.sendAll(recipients, () => terminalOf(ended));
    this.#clients.sendSnapshotSoon(recipients, "order");
    this.#handshake.failedUnstreamed(turn);
  }

  #request(view: ClientView, request: ChatRequest): void {
    const { requestId, messages } = request;
    const posting = { posted: messages, now: this.#init.clock.now(), periodMs: CROSSING_PERIOD_MS };
    const mayBeErased = view.mayHaveCrossed(posting);
    const submitted = this.submit.receive(request, view.socket.key);
    switch (submitted.kind) {
      case "accepted":
        this.#accepted(view, submitted.plan);
        if (mayBeErased) this.#clients.sendSnapshotSoon([view]);
        return;
      case "dropped": {
        // Nothing is stored; the snapshot removes what the client already shows.
        this.#clients.sendSnapshot([view]);
        const end = { requestId, continuation: false, outcome: "skipped" as const };
        this.#clients.send(view, chatFrames.terminal({ ...end, messageIds: submitted.messageIds }));
        return;
      }
      case "failed":
        return this.#failRequest(view, requestId, submitted);
      case "ended-before":
        return this.#handshake.acknowledged(view, requestId);
      case "repeated":
        return;
      default:
        return assertNever(submitted);
    }
  }

  #accepted(view: ClientView, plan: RequestPlan): void {
    if (plan.clientShows !== "part") view.setInSync(plan.clientShows === "equal");
    // Admission announces the messages that join, not those that changed.
    if (plan.changesStored && plan.input.length === 0) {
      this.#clients.sendSnapshotSoon(this.#clients.all().filter((other) => other !== view));
    }
  }

  /** The one end of a request that never became a turn. Only its sender has seen the request. */
  #failRequest(view: ClientView, requestId: string, failure: Extract<Submitted, { kind: "failed" }>): void {
    const { errorText, messageIds } = failure;
    const end = { requestId, continuation: false, outcome: "error" as const, errorText };
    this.#clients.send(view, chatFrames.terminal({ ...end, messageIds }));
    // The client shows a question that is not stored. Removing it would lose the user's text, which may be sent again.
    view.setInSync(false);
  }

  #refuseRequest(view: ClientView, requestId: string, error: unknown): void {
    const refused = this.submit.refuse(requestId, error, view.socket.key);
    if (refused.kind === "failed") this.#failRequest(view, requestId, refused);
  }

  #toolResult(view: ClientView, command: Extract<ChatCommand, { type: "tool-result" }>): MaybePromise<void> {
    const { toolCallId, output, errorText, autoContinue, clientTools } = command;
    const answered = this.#init.turns.answerTool({
      toolCallId,
      output,
      errorText,
      clientTools,
      autoContinue,
      origin: view.socket.key
    });
    return whenDone(answered, (outcome) => this.#sendRefusal(view, { toolCallId }, outcome));
  }

  #approval(view: ClientView, command: Extract<ChatCommand, { type: "approval" }>): MaybePromise<void> {
    const { type: _type, ...answer } = command;
    const { toolCallId, approved, input } = answer;
    // A decision with another input is no repetition of one that was taken, though it says the same.
    const about = input === undefined ? { toolCallId, approved } : { toolCallId };
    const answered = this.#init.turns.answerApproval({ ...answer, origin: view.socket.key });
    return whenDone(answered, (outcome) => this.#sendRefusal(view, about, outcome));
  }

  /** The reason and the stored call, to its sender only: that client already shows its own answer, others do not. */
  #sendRefusal(
    view: ClientView,
    answer: Pick<AnswerRefusedFrame, "toolCallId" | "approved">,
    answered: AnswerOutcome
  ): void {
    if (answered.changed || !answered.refused) return;
    const { code, message, hint } = answered.refused;
    this.#clients.send(view, chatFrames.answerRefused({ ...answer, code, error: message }));
    if (answered.message) this.#clients.send(view, chatFrames.messageUpdated(answered.message));
    // Logged once per code: a hostile client must not fill the log.
    if (this.#warnedOf.has(code)) return;
    this.#warnedOf.add(code);
    console.warn(`Refused an answer to a tool call (${code}; logged once): ${message} ${hint ?? ""}`);
  }

  #pushed(view: ClientView): void {
    // The client changed its own list.
    view.setInSync(false);
    if (this.#hasWarnedOfPush) return;
    this.#hasWarnedOfPush = true;
    console.warn(
      "A client pushed its list of messages. The stored conversation does not change; set it on the server."
    );
  }

  /** Nothing changes. A client that waits for an answer gets one; a client that already shows its change gets a snapshot. */
  #refuse(view: ClientView, command: ChatCommand): void {
    if (!this.#refused.has(view)) {
      // Logged once per client: it may send any number of them.
      this.#refused.add(view);
      console.warn(`Refused "${command.type}" of a readonly connection.`);
    }
    if (command.type === "request" || command.type === "malformed-request") {
      this.#refuseRequest(view, command.requestId, wireErrors.ForbiddenFrameError());
    } else if (command.type !== "cancel") this.#clients.sendSnapshot([view]);
  }

  /** One frame per pause; the next chunk, or the end of the recovery, ends it. */
  #showRetry({ requestId, retry }: RecoveringTurn): void {
    if (!retry || retry.at === this.#retryShown) return;
    this.#retryShown = retry.at;
    const recipients = this.#clients.all().filter((view) => view.offered === undefined);
    this.#clients.sendAll(recipients, () => chatFrames.retry(requestId, retry));
  }

  /** Derived from the open turns; one frame per change. */
  #refreshRecovery(): void {
    const turn = this.#init.turns.recovering();
    const isOn = turn !== undefined;
    if (this.#showsRecovery === isOn) return;
    this.#showsRecovery = isOn;
    // A client that was offered a stream is sent the end of a recovery all the same: it may have seen its beginning.
    const recipients = this.#clients.all().filter((view) => !isOn || view.offered === undefined);
    this.#clients.sendAll(recipients, () => chatFrames.recovering(isOn, turn?.requestId));
  }
}

/** A client of another encoding asked, and is there to be notified. */
function isElsewhere(origin: unknown): boolean {
  return origin instanceof OtherClient && origin.isOpen;
}
