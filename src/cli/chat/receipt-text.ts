// What became of a message that was given to a busy conversation, in words. Pure.
import type { ClientReceipt } from "../../client/index.ts";
import { printable } from "../message-text.ts";
import { wordsOf } from "./slash-commands.ts";

const STATES: Readonly<Record<ClientReceipt["state"], string>> = {
  accepted: "the model reads it before its next step",
  queued: "it is the next turn",
  applied: "the model reads it now",
  started: "it is a turn of its own",
  withdrawn: "the model does not read it",
  passed: "the sub-agent that the answer waits for reads it",
  dropped: "the answer was stopped or cleared, and it with it"
};

/** As `accepted (1): the model reads it before its next step`. */
export function receiptText({ state, place }: Pick<ClientReceipt, "state" | "place">): string {
  return `${state}${place === undefined ? "" : ` (${place})`}: ${STATES[state]}`;
}

export function queueLines(queued: readonly ClientReceipt[]): string[] {
  if (queued.length === 0) return ["Nothing waits."];
  return queued.map(
    ({ kind, messages = [] }, index) =>
      `${index + 1}  ${kind.padEnd("follow-up".length)}  ${oneLine(wordsOf(messages))}`
  );
}

/** Those that waited before and do not any more: what the conversation holds of them now says what became of them. */
export function leftQueue(
  before: readonly ClientReceipt[],
  now: { readonly queued: readonly ClientReceipt[]; readonly messages: readonly { readonly id: string }[] }
): { readonly receipt: ClientReceipt; readonly isRead: boolean }[] {
  const waiting = new Set(now.queued.map(({ id }) => id));
  const shown = new Set(now.messages.map(({ id }) => id));
  return before
    .filter(({ id }) => !waiting.has(id))
    .map((receipt) => ({ receipt, isRead: receipt.messageIds.some((id) => shown.has(id)) }));
}

const SHOWN_CHARACTERS = 60;

export function oneLine(text: string): string {
  const line = printable(text).replaceAll(/\s+/g, " ").trim();
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}
