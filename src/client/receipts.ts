// The messages that wait in a busy conversation, as a client knows them: what the agent sent when it connected, and every
// change since. Pure.
import type { UIMessage } from "ai";
import { isObject } from "../util/json.ts";

/** What became of a message that was given to a busy conversation. */
export interface ClientReceipt {
  /** Of the message, and of the request that it is or becomes. */
  readonly id: string;
  readonly kind: "steer" | "follow-up";
  /**
   * `accepted`, `queued`: it waits. `applied`: the running turn ended after `step` for it. `started`: a turn of its own.
   * `passed`: a sub-agent that the running turn waits for has it; `accepted` again if that one ends without reading it.
   */
  readonly state: "accepted" | "queued" | "applied" | "started" | "passed" | "withdrawn" | "dropped";
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly messageIds: readonly string[];
  /** While it waits: what it says, and its place among those that wait, counted from 1. */
  readonly messages?: readonly UIMessage[];
  readonly place?: number;
  /** Of an applied one: the request that ended for it, and after how many of its model calls. Of a passed one: the run. */
  readonly to?: string;
  readonly step?: number;
}

/** Those that wait, in the order in which they take effect: steers first. */
export function withReceipts(
  known: readonly ClientReceipt[],
  { receipts, isAll }: { readonly receipts: readonly ClientReceipt[]; readonly isAll: boolean }
): readonly ClientReceipt[] {
  const byId = new Map((isAll ? [] : known).map((receipt) => [receipt.id, receipt]));
  for (const receipt of receipts) {
    if (receipt.state === "accepted" || receipt.state === "queued") byId.set(receipt.id, receipt);
    else byId.delete(receipt.id);
  }
  const waiting = [...byId.values()];
  const ordered = [...waiting.filter(isSteer), ...waiting.filter((receipt) => !isSteer(receipt))];
  return ordered.map((receipt, index) => ({ ...receipt, place: index + 1 }));
}

/** Receipts of messages that wait no more, which a client keeps. The oldest is forgotten first. */
export const ENDED_RECEIPTS = 32;

/** What became of those that wait no more, in the order in which it did. */
export function withEnded(
  known: readonly ClientReceipt[],
  receipts: readonly ClientReceipt[]
): readonly ClientReceipt[] {
  const ended = receipts.filter(({ state }) => state !== "accepted" && state !== "queued");
  // What was passed on and came back waits again.
  const ids = new Set(receipts.map(({ id }) => id));
  if (ended.length === 0 && !known.some(({ id }) => ids.has(id))) return known;
  return [...known.filter(({ id }) => !ids.has(id)), ...ended].slice(-ENDED_RECEIPTS);
}

function isSteer({ kind }: ClientReceipt): boolean {
  return kind === "steer";
}

/** As the agent sends them. */
export function receiptList(value: unknown): ClientReceipt[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const isOne = (one: unknown) =>
    isObject(one) &&
    typeof one["id"] === "string" &&
    typeof one["state"] === "string" &&
    Array.isArray(one["messageIds"]);
  return value.every(isOne) ? (value as ClientReceipt[]) : undefined;
}

/** Messages that wait are shown by themselves until they take effect. */
export function withoutWaiting(
  messages: readonly UIMessage[],
  waiting: readonly ClientReceipt[]
): readonly UIMessage[] {
  if (waiting.length === 0) return messages;
  const ids = new Set(waiting.flatMap(({ messageIds }) => messageIds));
  return messages.filter(({ id }) => !ids.has(id));
}
