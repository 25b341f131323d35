// The frames that end a turn: the terminal frame, and what a client is sent after it so that it ends up with the stored
// transcript. The whole transcript costs bytes that grow with the conversation, so it is sent only to a client that may
// show anything else.
//
// What the published clients do (S: `agents` 0.16 with `ai-chat` 0.8, N: `agents` 0.32 with `ai-chat` 0.12), and what
// follows. "A" sent the request, "B" watches.
//
// | situation                          | A shows                        | B shows                           | needs    |
// |------------------------------------|--------------------------------|-----------------------------------|----------|
// | completed, sent from chunk 0 on,    | its list, its question, the    | the snapshot sent when the        | message  |
// |   nothing else happened meanwhile  |   SDK's own fold of the chunks |   question was stored, its own    |          |
// |                                    |   under the stored id          |   fold under the stored id        |          |
// | offered, acknowledged or not       | S: an empty bubble on the      | same                              | snapshot |
// |                                    |   terminal; else a rebuilt one |                                   |          |
// | joined late, or missed a snapshot  | holes                          | holes                             | snapshot |
// | continuation (no id on `start`)    | parts under a client-made id   | parts on its last message         | snapshot |
// | regenerated or edited              | the new answer only            | old and new answer                | snapshot |
// | stopped                            | ignored chunks after the stop, | a partial                         | snapshot |
// |                                    |   maybe no message at all      |                                   |          |
// | failed                             | a partial, or an empty message | same                              | snapshot |
// | streamed, nothing stored           | an empty message               | an empty message                  | snapshot |
// | stored under an id not streamed    | another id                     | another id                        | snapshot |
// | messages came, went or changed     | the SDK's list and ours may    | overlays its own fold on the      | snapshot |
// |   during the turn                  |   interleave differently       |   snapshot it got meanwhile       |          |
// | never streamed                     | its question, which is stored  | the snapshot of the question      | nothing  |
// | stopped before it streamed         | its question where it was      | the question where it was, maybe  | snapshot |
// |                                    |                                |   behind others that go first now |          |
// | regeneration that never streamed   | no answer at all               | the old answer, which is kept     | snapshot |
//
// A client that was sent many snapshots in a row is sent "message" instead, and the snapshot later (clients.ts).
//
// Why "message" is enough in the first row: `cf_agent_message_updated` replaces the message with that id and touches
// nothing else. S and N observers merge their own accumulated copy a last time on the terminal; the frame comes after
// it, so the stored copy wins there too. It is needed because the folds differ in detail (names on tool parts, removed
// provider references, parts that were compacted to fit a row). Unlike a snapshot it cannot erase a message that the
// application sends at the moment it sees the terminal.
import type { UIMessage } from "ai";
import type { TurnOutcome, TurnStatus, TurnView } from "../turn/turn.ts";
import type { ClientView } from "./clients.ts";
import { chatFrames } from "./frames.ts";
import type { TurnTrace } from "./turn-traces.ts";

export interface ClosingView {
  readonly streamed: boolean;
  readonly status: TurnStatus;
  readonly continuation: boolean;
  /** The answer is a child of an older message than the newest one: a regeneration or an edit. */
  readonly branched: boolean;
  /** Between its acceptance and its end nothing else changed the transcript or was accepted. */
  readonly undisturbed: boolean;
  /** The id on its `start` chunk. */
  readonly streamedId: string | undefined;
  /** The id of the stored answer. */
  readonly storedId: string | undefined;
  /** This client was sent every chunk, live. */
  readonly followed: boolean;
  /** Before the answer, this client showed exactly what is stored. */
  readonly inSync: boolean;
}

export type ClosingFrames = "nothing" | "message" | "snapshot";

export function closingFrames(view: ClosingView): ClosingFrames {
  if (!view.streamed) {
    const changesView = view.storedId !== undefined || view.status === "aborted" || view.branched;
    return changesView ? "snapshot" : "nothing";
  }
  if (view.status !== "completed" || view.continuation || view.branched) return "snapshot";
  if (view.storedId === undefined || view.storedId !== view.streamedId) return "snapshot";
  return view.undisturbed && view.followed && view.inSync ? "message" : "snapshot";
}

/** A turn that ended, as one client sees it. */
export interface Ended {
  readonly turn: TurnView;
  readonly outcome: TurnOutcome;
  readonly trace: TurnTrace | undefined;
  /** The turn that answers what this one was asked. */
  readonly answerer: TurnView | undefined;
  readonly view: ClientView;
}

export function hasStreamed({ outcome, trace }: Pick<Ended, "outcome" | "trace">): boolean {
  return trace ? trace.isStreaming : outcome.streamed;
}

export function closingFor(ended: Ended): ClosingFrames {
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
    inSync: view.isInSync
  });
}

/** Each text is encoded at most once, and only when a client needs it. */
export class ClosingTexts {
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
    // Only read when there is a message.
    return (this.#messageText ??= this.#message ? chatFrames.messageUpdated(this.#message) : this.snapshot);
  }
}

export function terminalOf({ turn, outcome, trace, answerer }: Omit<Ended, "view">): string {
  return chatFrames.terminal({
    requestId: turn.requestId,
    continuation: turn.continuation,
    outcome: outcome.status,
    messageIds: trace?.messageIds ?? turn.inputMessageIds,
    errorText: outcome.status === "error" ? (outcome.error ?? "The turn failed.") : undefined,
    answeredBy: answerer?.requestId
  });
}
