// What became of a message that was given to an answer which was being written, in words. Pure.
import type { ClientReceipt } from "../think.ts";

type Ended = Pick<ClientReceipt, "state" | "step">;

/** Undefined: it was taken back, and nothing is to be said. */
export function endedWords({ state, step }: Ended): string | undefined {
  if (state === "applied") return step === undefined ? "applied" : `applied at step ${step}`;
  if (state === "started") return "became a turn";
  if (state === "passed") return "passed to the sub-agent";
  return state === "dropped" ? "not read: the conversation was stopped or cleared" : undefined;
}

export function waitingWords(place: number, count: number): string {
  return `waiting ${place} of ${count}`;
}

/** By message, for those that the conversation shows now. */
export function receiptsByMessage(receipts: readonly ClientReceipt[]): ReadonlyMap<string, string> {
  return new Map(
    receipts.flatMap((receipt) => {
      const words = endedWords(receipt);
      if (words === undefined || receipt.state === "dropped") return [];
      const sentence = words.charAt(0).toUpperCase() + words.slice(1);
      return receipt.messageIds.map((id): [string, string] => [id, sentence]);
    })
  );
}
