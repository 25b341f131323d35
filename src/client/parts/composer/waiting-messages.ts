// The messages that stand above the field: on their way, waiting in their order, and for a moment those that have just taken
// effect. What waits is the agent's word, and so the same in every tab.
import { useCallback, useState } from "react";
import type { UIMessage } from "ai";
import type { ClientReceipt } from "../think.ts";
import type { UnsentMessage } from "../conversation/use-actions.ts";
import { endedWords, waitingWords } from "./receipt-words.ts";

export interface WaitingMessage {
  readonly id: string;
  readonly kind: ClientReceipt["kind"];
  readonly state: "sending" | "waiting" | "ended";
  /** Such as "waiting 1 of 2". */
  readonly words: string;
  readonly parts: UIMessage["parts"];
}

export interface WaitingSource {
  readonly queued: readonly ClientReceipt[];
  readonly receipts: readonly ClientReceipt[];
  readonly unsent: readonly UnsentMessage[];
}

interface Memory extends WaitingSource {
  readonly messages: readonly WaitingMessage[];
  /** What each one said: a receipt of one that has ended says only what became of it. */
  readonly said: ReadonlyMap<string, WaitingMessage>;
}

export function useWaitingMessages({ queued, receipts, unsent }: WaitingSource): {
  readonly messages: readonly WaitingMessage[];
  /** Of one that has ended: it was shown long enough. */
  forget(id: string): void;
} {
  const [memory, setMemory] = useState<Memory>(() => beginWaiting({ queued, receipts, unsent }));
  const isOld = memory.queued !== queued || memory.receipts !== receipts || memory.unsent !== unsent;
  const now = isOld ? nextWaiting(memory, { queued, receipts, unsent }) : memory;
  // While it renders, so that a chip which is being edited is the same one when its message has ended.
  if (isOld) setMemory(now);
  const forget = useCallback((id: string) => {
    setMemory((before) => ({ ...before, messages: before.messages.filter((one) => one.id !== id) }));
  }, []);
  return { messages: now.messages, forget };
}

/** What ended before this page looked is not shown. */
export function beginWaiting(source: WaitingSource): Memory {
  return nextWaiting({ queued: [], unsent: [], receipts: source.receipts, messages: [], said: new Map() }, source);
}

export function nextWaiting(memory: Memory, source: WaitingSource): Memory {
  const { queued, receipts, unsent } = source;
  const known = new Set(memory.receipts);
  const news = receipts.filter((receipt) => !known.has(receipt));
  // A message that was passed on and came back waits again.
  const isWaiting = new Set(queued.map(({ id }) => id));
  const ended = [
    ...memory.messages.filter(({ id, state }) => state === "ended" && !isWaiting.has(id)),
    ...news.flatMap((receipt) => endedMessage(memory.said.get(receipt.id), receipt) ?? [])
  ];
  const waiting = queued.map((receipt, index) => waitingMessage(receipt, index + 1, queued.length));
  const shown = new Set([...ended, ...waiting].map(({ id }) => id));
  const sending = unsent.filter(({ id }) => !shown.has(id)).map(sendingMessage);
  const said = new Map([
    ...memory.said,
    ...[...waiting, ...sending].map((one): [string, WaitingMessage] => [one.id, one])
  ]);
  for (const { id } of news) said.delete(id);
  return { ...source, messages: [...ended, ...waiting, ...sending], said };
}

function endedMessage(message: WaitingMessage | undefined, receipt: ClientReceipt): WaitingMessage | undefined {
  const words = endedWords(receipt);
  return message && words !== undefined ? { ...message, state: "ended", words } : undefined;
}

function waitingMessage({ id, kind, messages = [] }: ClientReceipt, place: number, count: number): WaitingMessage {
  const parts = messages.flatMap((message) => message.parts);
  return { id, kind, state: "waiting", words: waitingWords(place, count), parts };
}

function sendingMessage(message: UnsentMessage): WaitingMessage {
  return { ...message, state: "sending", words: "sending" };
}
