// The conversation as a page that takes part in it shows it: the newest messages, what is being written, what waits.
import type { ChatServices } from "../../feature/services.ts";
import { foldChunks, foldedMessage, isChunk, continueFold, startFold } from "../../model/index.ts";
import type { Receipt } from "../../turn/receipts.ts";
import type { TurnView } from "../../turn/turn.ts";
import { parseJson } from "../../util/json.ts";
import { shownMessage, textOf } from "./shown-messages.ts";
import { shownText } from "./shown-text.ts";
import type { ShownMessage, ShownText } from "./views.ts";

/** The newest of the branch that is shown. */
const SHOWN_MESSAGES = 40;

/** `GET chat`. */
export interface ChatView {
  readonly messages: readonly ShownMessage[];
  /** There are older ones. */
  readonly isCut: boolean;
  /** The turn that runs, with its answer as far as it is written; null: none does. */
  readonly running: { readonly turnId: string; readonly answer: ShownMessage | null } | null;
  /** Turns that run or wait. */
  readonly openTurns: number;
  /** Messages that were accepted and have not taken effect, in their order. */
  readonly waiting: readonly ShownReceipt[];
  /** Null: this page may ask. Otherwise why not. */
  readonly refusal: string | null;
}

export interface ShownReceipt extends Pick<Receipt, "id" | "kind" | "state" | "at" | "place"> {
  readonly text: ShownText | null;
}

export function readChat(services: ChatServices, refusal: string | null): ChatView {
  const { turns, store, transcript } = services;
  const started = turns.started();
  const receipts = turns.steering.waiting();
  // The answer that runs, and what waits, are shown beside it.
  const others = new Set([started?.messageId, ...receipts.flatMap(({ messageIds }) => messageIds)]);
  const all = turns.transcript();
  const shown = all.slice(-SHOWN_MESSAGES).filter(({ id }) => !others.has(id));
  return {
    messages: shown.map((message) => shownMessage(transcript.get(message.id) ?? message)),
    isCut: all.length > SHOWN_MESSAGES,
    running: started ? { turnId: started.turnId, answer: answerOf(services, started) } : null,
    openTurns: store.scope.conversation.row.openTurns.length,
    waiting: receipts.map(shownReceipt),
    refusal
  };
}

export function shownReceipt({ id, kind, state, at, place, messages = [] }: Receipt): ShownReceipt {
  const words = messages.map(textOf).join("\n\n");
  return { id, kind, state, at, ...(place !== undefined && { place }), text: words === "" ? null : shownText(words) };
}

/** What is stored of it, with the chunks that this turn has written. */
function answerOf({ turns, transcript }: ChatServices, { requestId, messageId }: TurnView): ShownMessage | null {
  const replay = turns.replay(requestId);
  if (!replay) return null;
  const stored = transcript.get(messageId);
  const chunks = [...replay.chunks].flatMap(({ body }) => {
    const parsed = parseJson(body);
    return parsed.ok && isChunk(parsed.value) ? [parsed.value] : [];
  });
  const fold = stored && replay.turn.continuation ? continueFold(stored) : startFold(messageId);
  const message = foldedMessage(foldChunks(fold, chunks));
  return message.parts.length === 0 ? null : shownMessage(message);
}
