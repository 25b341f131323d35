// The input of a question as a human reads it before the decision: all of it, letter by letter. Nothing in it is hidden,
// changes the order of what is read, or passes for a field that is not there. A short input is part of the question, a longer
// one is in messages of its own before it, and a long one is a file before it, or more messages where files are not taken.
// None is shown in part. Pure.
import type { MessengerDeliveryPolicy } from "./definition.ts";
import { DEFAULT_LIMIT } from "./delivery-policy.ts";

/** The most that an input beside the buttons may weigh. */
const MAX_INLINE_WEIGHT = 1_000;
/** Messages of an input, rather than a file: a human does not read more of them before a decision. */
const MAX_MESSAGES = 20;
/** Messages of an input where files are not taken: no chat takes more in a few minutes. */
const MAX_MESSAGES_WITHOUT_FILES = 100;
/** The most that a message may weigh, unless the policy says otherwise: it fits the text of every provider's card. */
const MAX_MESSAGE_WEIGHT = 3_000;
/** Weight that is kept free for a message's heading. */
const HEADING_WEIGHT = 100;
const MAX_LINE_WEIGHT = 800;
/** The weight of a line break: Teams is sent an element for each line. */
const LINE_WEIGHT = 20;
const MAX_TITLE_CHARS = 300;

/** The mark of each further line of a text. */
const NEXT_LINE = "│ ";
/** The mark of the rest of a line that is too long for one. */
const SAME_LINE = "… ";

/**
 * An input that is part of the question, or in messages before it: `pieces`, none if they are too many. `file` is set if it
 * should rather be a file.
 */
export type ShownInput =
  { readonly text: string } | { readonly pieces: readonly string[]; readonly file?: string | undefined };

/** Chooses how an input is shown. */
export function showInput(input: object, policy: MessengerDeliveryPolicy): ShownInput {
  const { visibleSoftLimit = DEFAULT_LIMIT, cardLimit = MAX_MESSAGE_WEIGHT } = policy;
  const lines = Object.entries(input).flatMap(([name, value]) => printField(name, value));
  const text = lines.join("\n");
  if (weightOf(text) <= MAX_INLINE_WEIGHT) return { text };
  const limit = Math.min(visibleSoftLimit, cardLimit) - HEADING_WEIGHT;
  // Each character weighs one at least: what is too long is not cut into lines first.
  if (text.length > limit * MAX_MESSAGES_WITHOUT_FILES) return { pieces: [], file: text };
  const wrapped = lines.flatMap((line) => wrap(line, Math.min(limit, MAX_LINE_WEIGHT)));
  const pieces = pack(wrapped, limit);
  if (pieces.length <= MAX_MESSAGES) return { pieces };
  return { pieces: pieces.length > MAX_MESSAGES_WITHOUT_FILES ? [] : pieces, file: text };
}

/** Shows the name that the class, or the model, gives an action, in one line. The whole input is shown beside it. */
export function showTitle(summary: string): string {
  const line = showHidden(summary.replaceAll(/\s+/g, " "));
  const characters = [...line];
  return characters.length <= MAX_TITLE_CHARS ? line : `${characters.slice(0, MAX_TITLE_CHARS).join("")}…`;
}

/** Prints a field. A text of several lines has them as lines of their own, with a mark that no field begins with. */
function printField(name: string, value: unknown): string[] {
  const label = showHidden(/^[\p{L}\p{N}_$][\p{L}\p{N}_$ .-]*$/u.test(name) ? name : JSON.stringify(name));
  if (typeof value !== "string") return [`${label}: ${showHidden(JSON.stringify(value) ?? "")}`];
  if (!value.includes("\n")) return [`${label}: ${showHidden(value)}`];
  return [`${label}:`, ...value.split("\n").map((line) => `${NEXT_LINE}${showHidden(line)}`)];
}

/** Characters without a shape of their own, or that turn the direction of writing or break a line. */
const HIDDEN = /[[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]--\t]/gv;
/** Hidden characters with which scripts and emoji are written. */
const JOINERS = new Set(["\u200C", "\u200D", "\uFE0F"]);
const JOINED = /[[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]--\p{ASCII}]$/v;

/** Puts the number of each hidden character in its place. */
export function showHidden(text: string): string {
  return text.replaceAll(HIDDEN, (character, at: number) => {
    if (JOINERS.has(character) && JOINED.test(text.slice(Math.max(0, at - 2), at))) return character;
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** The weight of a text as a provider counts it at most: marks are sent behind a backslash. */
function weightOf(text: string): number {
  let weight = 0;
  for (let at = 0; at < text.length; at += 1) weight += weightOfCode(text.charCodeAt(at));
  return weight;
}

function weightOfCode(code: number): number {
  if (code === 0x0a) return LINE_WEIGHT;
  const isLetterOrDigit =
    (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
  return code > 0x20 && code < 0x7f && !isLetterOrDigit ? 2 : 1;
}

function wrap(line: string, limit: number): string[] {
  const lines: string[] = [];
  let current = "";
  let weight = 0;
  for (const character of line) {
    const added = weightOf(character);
    if (weight + added > limit) {
      lines.push(current);
      current = SAME_LINE;
      weight = weightOf(SAME_LINE);
    }
    current += character;
    weight += added;
  }
  return [...lines, current];
}

function pack(lines: readonly string[], limit: number): string[] {
  const pieces: string[] = [];
  let weight = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const added = LINE_WEIGHT + weightOf(line);
    if (weight + added > limit) {
      pieces.push(line);
      weight = added;
    } else {
      pieces.push(`${pieces.pop() ?? ""}\n${line}`);
      weight += added;
    }
  }
  return pieces;
}
