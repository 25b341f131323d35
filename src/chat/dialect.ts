// The `cf_agent_*` chat protocol: one reader of turns and one handler of commands. The engine says what happened; here
// it becomes frames, in the order clients rely on, for the sockets it concerns. Stores nothing.
import type { UIMessage } from "ai";
import type { MessageTrace } from "../session/message-changes.ts";
import type { TurnListener } from "../turn/listener.ts";
import type { TurnOutcome, TurnView } from "../turn/turn.ts";
import type { AnswerOutcome } from "../turn/turns.ts";
import { assertNever } from "../util/assert-never.ts";
import { Audience } from "./audience.ts";
import type { ClientView } from "./client-view.ts";
import { closingFrames, type ClosingFrames } from "./closing.ts";
import { isWatching, type ChatCommand } from "./commands.ts";
import { ForbiddenFrameError } from "./errors.ts";
import { chatFrames, type AnswerRefusedFrame } from "./frames.ts";
import { ResumeHandshake } from "./handshake.ts";
import { RecoveryFlag } from "./recovery-flag.ts";
import type { ChatSocket, ChatSockets } from "./sockets.ts";
import { Submit, type SubmitInit } from "./submit.ts";
import { TurnTraces, type TurnTrace } from "./turn-traces.ts";

export interface ChatDialectInit extends SubmitInit {
  readonly sockets: ChatSockets;
  /** Whether this client may only watch. Default: none is. */
  isReadonly?(socket: ChatSocket): boolean;
}

export class ChatDialect implements TurnListener {
  readonly #init: ChatDialectInit;
  readonly #audience: Audience;
  readonly #handshake: ResumeHandshake;
  readonly #submit: Submit;
  readonly #recovery: RecoveryFlag;
  readonly #traces = new TurnTraces();
  readonly #refused = new WeakSet<ClientView>();
  readonly #warnedOf = new Set<string>();
  #hasWarnedOfPush = false;

  constructor(init: ChatDialectInit) {
    this.#init = init;
    this.#audience = new Audience(init);
    this.#handshake = new ResumeHandshake(this.#audience, init.turns);
    this.#recovery = new RecoveryFlag(this.#audience, init.turns);
    this.#submit = new Submit(init, this.#audience, this.#traces);
    init.turns.listen(this);
  }

  /** The chat frames of a connect, before all others. Only for sockets that want unsolicited frames. */
  connected(socket: ChatSocket): void {
    const view = this.#audience.of(socket);
    if (this.#handshake.connected(view)) this.#recovery.greet(view, this.#init.clock.now());
  }

  disconnected(socket: ChatSocket): void {
    this.#audience.forget(socket);
  }

  /** Frames of one socket in the order they came. Throws only what the engine throws for tool answers and clears. */
  receive(socket: ChatSocket, command: ChatCommand): void {
    const view = this.#audience.of(socket);
    if (!isWatching(command) && this.#init.isReadonly?.(socket)) return this.#refuse(view, command);
    const { turns } = this.#init;
    switch (command.type) {
      case "request":
        if (this.#submit.receive(view, command) === "ended-before") {
          this.#handshake.acknowledged(view, command.requestId);
        }
        return;
      case "malformed-request":
        return this.#submit.refuse(view, command.requestId, command.error);
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
        return this.#handshake.acknowledged(view, command.requestId);
      case "ignored":
        return console.warn(`Ignored ${command.reason}.`);
      default:
        return assertNever(command);
    }
  }

  /** Every turn and armed continuation was given up: nobody waits for one any more. */
  reset(): void {
    this.#handshake.releaseParked();
    this.#recovery.refresh();
  }

  /** The request goes on: its stream stays open, and people are told why it pauses. */
  interrupted(): void {
    this.#recovery.refresh();
  }

  /**
   * Something was written to the stored messages, by whomever. What no announcement follows (messages added inside a
   * turn, silent appends, compaction) is brought to clients by the transcript at the end of the turn.
   */
  messagesChanged(change: MessageTrace): void {
    if (change.kind === "repeated" || change.kind === "shortened") return;
    if (change.id !== undefined && this.#traces.isOwnWrite(change.id)) return;
    this.#traces.disturbStreaming();
    for (const view of this.#audience.known()) view.setInStep(false);
  }

  accepted(turn: TurnView): void {
    this.#traces.accepted(turn);
  }

  streaming(turn: TurnView): void {
    this.#handshake.streamStarted(turn, this.#traces.streaming(turn));
  }

  chunk(turn: TurnView, chunk: { readonly seq: number; readonly body: string }): void {
    this.#traces.chunk(turn, chunk.body);
    const hearers = this.#audience.ofTurn(turn).filter((view) => view.offered === undefined);
    this.#audience.sendAll(hearers, () => chatFrames.chunk(turn, chunk));
  }

  settled(turn: TurnView, outcome: TurnOutcome): void {
    const trace = this.#traces.take(turn.turnId);
    if (hasStreamed({ outcome, trace })) this.#closeStreamed(turn, outcome, trace);
    else this.#closeUnstreamed(turn, outcome, trace);
    this.#recovery.refresh();
  }

  messageUpdated(message: UIMessage): void {
    this.#traces.disturbStreaming();
    this.#audience.sendAll(this.#audience.all(), () => chatFrames.messageUpdated(message));
  }

  transcriptChanged(origin: unknown): void {
    this.#traces.disturbStreaming();
    this.#audience.sendSnapshot(this.#audience.all().filter((view) => view.socket.key !== origin));
    const { turns } = this.#init;
    // Another branch was chosen, and a continuation that somebody waited for belonged to the one that was left.
    if (!turns.streaming() && !turns.waiting()) this.#handshake.releaseParked();
  }

  cleared(origin: unknown): void {
    this.#traces.disturb();
    this.#handshake.releaseParked();
    for (const view of this.#audience.known()) {
      view.endStream();
      view.setInStep(view.socket.key !== origin);
    }
    const others = this.#audience.all().filter((view) => view.socket.key !== origin);
    this.#audience.sendAll(others, () => chatFrames.clear());
    this.#recovery.refresh();
  }

  /** Terminal and closing frame of a socket back to back, with nothing awaited: clients act on the pair. */
  #closeStreamed(turn: TurnView, outcome: TurnOutcome, trace: TurnTrace | undefined): void {
    const terminal = terminalOf(turn, outcome, trace);
    const texts = new ClosingTexts(() => this.#init.turns.transcript(), outcome.message);
    for (const view of this.#audience.ofTurn(turn)) {
      const closing = closingFor({ turn, outcome, trace, view });
      view.endStream(turn.requestId);
      this.#audience.send(view, terminal);
      if (closing === "snapshot") this.#audience.sendSnapshotFrame(view, texts.snapshot);
      else if (closing === "message") {
        this.#audience.send(view, texts.message);
        if (outcome.message) view.heard(outcome.message.id);
      }
    }
  }

  /** Only the client that asked has heard of the request, unless it was given up or its client is gone. */
  #closeUnstreamed(turn: TurnView, outcome: TurnOutcome, trace: TurnTrace | undefined): void {
    const asker = turn.trigger === "auto-continuation" ? undefined : this.#audience.origin(turn.origin);
    const isOrphan = turn.trigger === "ws-chat" && !asker;
    if (outcome.status === "error" && (outcome.givenUp || isOrphan)) return this.#closeFailed(turn, outcome, trace);
    if (asker) this.#audience.send(asker, terminalOf(turn, outcome, trace));
    const audience = this.#audience.ofTurn(turn);
    const disturbed = audience.filter((view) => closingFor({ turn, outcome, trace, view }) === "snapshot");
    this.#audience.sendSnapshot(disturbed);
    this.#handshake.endedUnstreamed(turn);
  }

  /** Any tab may be the one that waits. Clients make an empty answer of the end of a request they do not know. */
  #closeFailed(turn: TurnView, outcome: TurnOutcome, trace: TurnTrace | undefined): void {
    const audience = this.#audience.ofTurn(turn);
    this.#audience.sendAll(audience, () => terminalOf(turn, outcome, trace));
    this.#audience.sendSnapshot(audience);
    this.#handshake.failedUnstreamed(turn);
  }

  #toolResult(view: ClientView, command: Extract<ChatCommand, { type: "tool-result" }>): void {
    const { toolCallId, output, errorText, autoContinue, clientTools } = command;
    const answered = this.#init.turns.answerTool({
      toolCallId,
      output,
      ...(errorText !== undefined && { errorText }),
      ...(clientTools && { clientTools }),
      autoContinue,
      origin: view.socket.key
    });
    this.#tellRefusal(view, { toolCallId }, answered);
  }

  #approval(view: ClientView, command: Extract<ChatCommand, { type: "approval" }>): void {
    const { toolCallId, approved, autoContinue } = command;
    const answer = { toolCallId, approved, autoContinue, origin: view.socket.key };
    this.#tellRefusal(view, { toolCallId, approved }, this.#init.turns.answerApproval(answer));
  }

  /** Why, and what the call really is: a client shows its own answer at once. Others have seen nothing of it. */
  #tellRefusal(
    view: ClientView,
    answer: Pick<AnswerRefusedFrame, "toolCallId" | "approved">,
    answered: AnswerOutcome
  ): void {
    if (answered.changed || !answered.refused) return;
    const { code, message, hint } = answered.refused;
    this.#audience.send(view, chatFrames.answerRefused({ ...answer, code, error: message }));
    if (answered.message) this.#audience.send(view, chatFrames.messageUpdated(answered.message));
    // Once: a hostile client must not fill the log.
    if (this.#warnedOf.has(code)) return;
    this.#warnedOf.add(code);
    console.warn(`Refused an answer to a tool call (${code}; said once): ${message} ${hint ?? ""}`);
  }

  #pushed(view: ClientView): void {
    // The client changed its own list.
    view.setInStep(false);
    if (this.#hasWarnedOfPush) return;
    this.#hasWarnedOfPush = true;
    console.warn(
      "A client pushed its list of messages. The stored conversation does not change; set it on the server."
    );
  }

  /** Nothing changes. A client that waits for an answer gets one, and one that shows its wish already is put right. */
  #refuse(view: ClientView, command: ChatCommand): void {
    if (!this.#refused.has(view)) {
      // Once per client: it may send as many as it likes.
      this.#refused.add(view);
      console.warn(`Refused "${command.type}" of a readonly connection.`);
    }
    if (command.type === "request" || command.type === "malformed-request") {
      this.#submit.refuse(view, command.requestId, new ForbiddenFrameError());
    } else if (command.type !== "cancel") this.#audience.sendSnapshot([view]);
  }
}

interface Ended {
  readonly turn: TurnView;
  readonly outcome: TurnOutcome;
  readonly trace: TurnTrace | undefined;
  readonly view: ClientView;
}

function hasStreamed({ outcome, trace }: Pick<Ended, "outcome" | "trace">): boolean {
  return trace ? trace.isStreaming : outcome.streamed;
}

function closingFor(ended: Ended): ClosingFrames {
  const { turn, outcome, trace, view } = ended;
  return closingFrames({
    streamed: hasStreamed(ended),
    status: outcome.status,
    continuation: turn.continuation,
    branched: trace?.branched ?? false,
    undisturbed: trace !== undefined && !trace.isDisturbed,
    streamedId: trace?.streamedId ?? undefined,
    storedId: outcome.message?.id,
    followed: view.isFollowing(turn.turnId),
    inStep: view.inStep
  });
}

/** Each text is made at most once, and only if somebody needs it. */
class ClosingTexts {
  readonly #transcript: () => UIMessage[];
  readonly #message: UIMessage | undefined;
  #snapshotText: string | undefined;
  #messageText: string | undefined;

  constructor(transcript: () => UIMessage[], message: UIMessage | undefined) {
    this.#transcript = transcript;
    this.#message = message;
  }

  get snapshot(): string {
    return (this.#snapshotText ??= chatFrames.snapshot(this.#transcript()));
  }

  get message(): string {
    // Only asked for when there is one.
    return (this.#messageText ??= this.#message ? chatFrames.messageUpdated(this.#message) : this.snapshot);
  }
}

function terminalOf(turn: TurnView, outcome: TurnOutcome, trace: TurnTrace | undefined): string {
  return chatFrames.terminal({
    requestId: turn.requestId,
    continuation: turn.continuation,
    outcome: outcome.status,
    messageIds: trace?.messageIds ?? turn.inputMessageIds,
    ...(outcome.status === "error" && { errorText: outcome.error ?? "The turn failed." })
  });
}
