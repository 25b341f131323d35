// An answer that was given before, for a caller of `chat()` that asks again under the same key: as it was streamed, as
// long as that is kept, and after that the text of the stored message.
import type { UIMessage, UIMessageChunk } from "ai";
import type { TurnTicket } from "../turn/admit.ts";
import type { Turns } from "../turn/turns.ts";
import type { CallbackReader } from "./stream-callback.ts";

/** Brings the reader to where the turn is. One that is still open tells it the rest itself. */
export async function deliverFound(
  { requestId, settled }: TurnTicket,
  reader: Pick<CallbackReader, "chunk" | "settled">,
  turns: Pick<Turns, "replay">
): Promise<void> {
  const replay = turns.replay(requestId);
  for (const chunk of replay?.chunks ?? []) reader.chunk({ requestId }, chunk);
  if (replay?.state === "live") return;
  const outcome = await settled;
  const stored = replay || !outcome.message ? [] : textChunks(outcome.message);
  for (const chunk of stored) reader.chunk({ requestId }, { body: JSON.stringify(chunk) });
  reader.settled({ requestId }, outcome);
}

function textChunks({ id, parts }: UIMessage): UIMessageChunk[] {
  const texts = parts.flatMap((part, index): UIMessageChunk[] => {
    const textId = String(index);
    if (part.type !== "text") return [];
    return [
      { type: "text-start", id: textId },
      { type: "text-delta", id: textId, delta: part.text },
      { type: "text-end", id: textId }
    ];
  });
  return [{ type: "start", messageId: id }, ...texts, { type: "finish" }];
}
