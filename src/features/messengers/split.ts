// Long answers as messages of a size the provider takes. The cut of a growing text depends only on what is before it, so
// the first messages of a streamed answer stay as they are while more arrives.

/** The part of the limit before which no cut is made. */
const EARLIEST_CUT = 0.6;
const FENCE = /^(```|~~~)([^\n`]*)$/gm;

export interface SplitLimits {
  /** Characters of the first message. */
  readonly first: number;
  /** Characters of each further one. */
  readonly next: number;
  /** The most that a message may weigh as it is sent: some characters are sent as two. */
  readonly weight?: { readonly limit: number; readonly of: (character: string) => number };
}

/** Splits a text at a paragraph, line or word; a code block that is cut is closed and opened again. */
export function splitMarkdown(text: string, limits: SplitLimits): string[] {
  const pieces: string[] = [];
  let rest = text;
  for (let size = limits.first; ; size = limits.next) {
    const limit = countFitting(rest, size, limits.weight);
    if (rest.length <= limit) break;
    const cut = findCut(rest, limit);
    const piece = rest.slice(0, cut);
    const fence = findOpenFence(piece);
    pieces.push(fence === undefined ? piece.trimEnd() : `${piece.trimEnd()}\n${fence.marks}`);
    const following = rest.slice(cut).replace(/^\n+/, "");
    rest = fence === undefined ? following : `${fence.marks}${fence.language}\n${following}`;
  }
  if (rest.trim() !== "") pieces.push(rest.trimEnd());
  return pieces;
}

/** Counts the characters of the beginning that one message can hold. */
function countFitting(text: string, size: number, weight: SplitLimits["weight"]): number {
  if (!weight) return size;
  let sum = 0;
  const end = Math.min(size, text.length);
  for (let at = 0; at < end; at += 1) {
    sum += weight.of(text.charAt(at));
    if (sum > weight.limit) return at;
  }
  return size;
}

/** Characters that are kept free for the marks that close a code block. */
const FENCE_CHARS = 4;

function findCut(text: string, limit: number): number {
  const head = text.slice(0, limit - FENCE_CHARS);
  const earliest = Math.floor(limit * EARLIEST_CUT);
  for (const boundary of ["\n\n", "\n", " "]) {
    const at = head.lastIndexOf(boundary);
    if (at >= earliest) return at + boundary.length;
  }
  return betweenCharacters(text, head.length);
}

/** Moves a place back to the boundary of a character. */
export function betweenCharacters(text: string, at: number): number {
  const code = text.charCodeAt(at);
  const isSecondHalf = code >= 0xdc00 && code <= 0xdfff;
  return isSecondHalf && at > 1 ? at - 1 : at;
}

function findOpenFence(piece: string): { marks: string; language: string } | undefined {
  let open: { marks: string; language: string } | undefined;
  for (const [, marks = "", language = ""] of piece.matchAll(FENCE)) {
    if (!open) open = { marks, language };
    else if (open.marks === marks) open = undefined;
  }
  return open;
}
