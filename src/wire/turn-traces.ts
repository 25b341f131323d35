// What was sent of each open turn, as far as its closing frames depend on it. Kept from acceptance to outcome, in memory:
// a turn that an earlier process accepted has no trace, and its closing frames assume the worst case.
import type { TurnView } from "../turn/turn.ts";
import { isObject, parseJson } from "../util/json.ts";

/** What only the request says about its turn. */
export interface RequestNote {
  /** Ids of the user messages at the end of what was posted, stored before or not. */
  readonly messageIds: readonly string[];
  readonly branched: boolean;
  /** Ids of the messages that join with the turn. */
  readonly inputIds: readonly string[];
}

export interface TurnTrace extends RequestNote {
  readonly requestId: string;
  /** The id under which its answer will be stored. */
  readonly answerId: string;
  isStreaming: boolean;
  isDisturbed: boolean;
  /** The id on its `start` chunk; null until a chunk came. */
  streamedId: string | undefined | null;
}

export class TurnTraces {
  readonly #open = new Map<string, TurnTrace>();
  readonly #notes = new Map<string, RequestNote>();

  /** Admission notifies listeners at once, so the note must be stored first. */
  withNote<T>(requestId: string, note: RequestNote, admit: () => T): T {
    this.#notes.set(requestId, note);
    try {
      return admit();
    } finally {
      this.#notes.delete(requestId);
    }
  }

  accepted(turn: TurnView): void {
    this.disturb();
    const note = this.#notes.get(turn.requestId);
    this.#open.set(turn.turnId, {
      requestId: turn.requestId,
      messageIds: note?.messageIds ?? turn.inputMessageIds,
      branched: note?.branched ?? false,
      inputIds: note?.inputIds ?? turn.inputMessageIds,
      answerId: turn.messageId,
      isStreaming: false,
      isDisturbed: this.#open.size > 0,
      streamedId: null
    });
  }

  /** True the first time: a turn that tries again streams again. */
  streaming(turn: TurnView): boolean {
    const trace = this.#open.get(turn.turnId);
    if (!trace) return true;
    const isFirst = !trace.isStreaming;
    trace.isStreaming = true;
    if (!isFirst) trace.isDisturbed = true;
    return isFirst;
  }

  chunk(turn: TurnView, body: string): void {
    const trace = this.#open.get(turn.turnId);
    if (trace?.streamedId === null) trace.streamedId = startId(body);
  }

  /** Another turn was accepted, or the conversation itself changed. */
  disturb(): void {
    for (const trace of this.#open.values()) trace.isDisturbed = true;
  }

  /** Messages that joined before the stream are part of every snapshot sent then; clients have not seen later ones. */
  disturbStreaming(): void {
    for (const trace of this.#open.values()) if (trace.isStreaming) trace.isDisturbed = true;
  }

  /** A message that an open turn, or one just being admitted, stores itself. */
  isOwnWrite(messageId: string): boolean {
    if ([...this.#notes.values()].some(({ inputIds }) => inputIds.includes(messageId))) return true;
    return [...this.#open.values()].some(
      ({ inputIds, answerId, streamedId }) =>
        answerId === messageId || streamedId === messageId || inputIds.includes(messageId)
    );
  }

  hasRequest(requestId: string): boolean {
    return [...this.#open.values()].some((trace) => trace.requestId === requestId);
  }

  take(turnId: string): TurnTrace | undefined {
    const trace = this.#open.get(turnId);
    this.#open.delete(turnId);
    return trace;
  }
}

/** The first chunk of a stream is its `start`. */
function startId(body: string): string | undefined {
  const chunk = parseJson(body);
  if (!chunk.ok || !isObject(chunk.value) || chunk.value.type !== "start") return undefined;
  const { messageId } = chunk.value;
  return typeof messageId === "string" ? messageId : undefined;
}
