// Sums over a path of messages, and their arithmetic.
import type { MessageHeader } from "./message-rows.ts";

export interface PathTotals {
  readonly length: number;
  readonly bytes: number;
  readonly tokens: number;
}

export const ZERO_TOTALS: PathTotals = { length: 0, bytes: 0, tokens: 0 };

/** What one message adds. */
export function ownTotals(message: { readonly sizeBytes: number; readonly tokens: number }): PathTotals {
  return { length: 1, bytes: message.sizeBytes, tokens: message.tokens };
}

/** What a header says about its path; to be believed of the newest message only. */
export function pathTotals(header: MessageHeader): PathTotals {
  return { length: header.pathLength, bytes: header.pathBytes, tokens: header.pathTokens };
}

export function addTotals(first: PathTotals, second: PathTotals): PathTotals {
  return {
    length: first.length + second.length,
    bytes: first.bytes + second.bytes,
    tokens: first.tokens + second.tokens
  };
}

/** Of all these messages. */
export function sumTotals(headers: Iterable<Parameters<typeof ownTotals>[0]>): PathTotals {
  let totals = ZERO_TOTALS;
  for (const header of headers) totals = addTotals(totals, ownTotals(header));
  return totals;
}

export function subtractTotals(first: PathTotals, second: PathTotals): PathTotals {
  return {
    length: first.length - second.length,
    bytes: first.bytes - second.bytes,
    tokens: first.tokens - second.tokens
  };
}

/** The header with these sums. */
export function withTotals<Header extends MessageHeader>(header: Header, totals: PathTotals): Header {
  return { ...header, pathLength: totals.length, pathBytes: totals.bytes, pathTokens: totals.tokens };
}
