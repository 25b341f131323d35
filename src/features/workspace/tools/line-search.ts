// Finds the lines of a text that a query matches: plain words by the engine's own search, expressions by the automaton.
// Either takes time in proportion to the text.
import { PatternError } from "../errors.ts";
import { type Automaton, type AutomatonOptions } from "../match/automaton.ts";
import { compileRegex, compileText } from "../match/regex.ts";

/** The positions at which a line begins, and at which its break is. */
export interface FoundLine {
  readonly start: number;
  readonly end: number;
}

/** Finds the first line that matches, at or after a position, which is the beginning of a line. */
export type LineSearch = (text: string, from: number) => FoundLine | undefined;

export interface LineQuery {
  readonly query: string;
  readonly fixedString?: boolean;
  readonly caseSensitive?: boolean;
}

/** Steps of the automaton that make states; a search that needs more is stopped and says so. */
const MAX_WORK = 2_000_000;

/** Compiles a query. Undefined for a text that is no expression. Throws PatternError, with the reason, for one that is not supported. */
export function compileSearch({
  query,
  fixedString = false,
  caseSensitive = false
}: LineQuery): LineSearch | undefined {
  const options = { ignoreCase: !caseSensitive, maxWork: MAX_WORK };
  const words = fixedString ? query : readWords(query);
  if (words !== undefined) return searchForWords(words, options);
  try {
    return searchByAutomaton(compileRegex(query, options));
  } catch (error) {
    if (error instanceof PatternError && /not supported|too large|at most/.test(error.message)) throw error;
    return undefined;
  }
}

/** Reads the text that an expression without any operator stands for. */
function readWords(expression: string): string | undefined {
  const isPlain = /^(?:[^\\^$.*+?()[\]{}|]|\\[^\w\s])+$/.test(expression);
  return isPlain ? expression.replace(/\\(.)/g, "$1") : undefined;
}

function searchForWords(words: string, options: AutomatonOptions): LineSearch {
  if (options.ignoreCase !== true) return (text, from) => findLineAt(text, text.indexOf(words, from));
  // Beyond ASCII a letter has more than two cases.
  if (!/^[\x20-\x7e]*$/.test(words)) return searchByAutomaton(compileText(words, options));
  const lowered = words.toLowerCase();
  let searched = "";
  let inLowerCase = "";
  return (text, from) => {
    if (text !== searched) [searched, inLowerCase] = [text, text.toLowerCase()];
    // A few letters are longer in lower case: then positions would not be the text's.
    if (inLowerCase.length !== text.length) return searchByAutomaton(compileText(words, options))(text, from);
    return findLineAt(text, inLowerCase.indexOf(lowered, from));
  };
}

function findLineAt(text: string, index: number): FoundLine | undefined {
  if (index < 0) return undefined;
  const end = text.indexOf("\n", index);
  return { start: index === 0 ? 0 : text.lastIndexOf("\n", index - 1) + 1, end: end < 0 ? text.length : end };
}

function searchByAutomaton(automaton: Automaton): LineSearch {
  return (text, from) => {
    for (let start = from; start <= text.length;) {
      const newline = text.indexOf("\n", start);
      const end = newline < 0 ? text.length : newline;
      if (automaton.testRange(text, start, withoutReturn(text, start, end))) return { start, end };
      start = end + 1;
    }
    return undefined;
  };
}

/** Leaves out the carriage return before a newline: `$` means the end of what a person sees. */
function withoutReturn(text: string, start: number, end: number): number {
  return end > start && text.charCodeAt(end - 1) === 13 ? end - 1 : end;
}

/** Cuts a line's text out of the whole, as a person sees it. */
export function textOfLine(text: string, { start, end }: FoundLine): string {
  return text.slice(start, withoutReturn(text, start, end));
}

/** Finds up to so many lines before and after a line. `first` is how many of them come before it. */
export function findLinesAround(
  text: string,
  line: FoundLine,
  around: number
): { readonly lines: readonly FoundLine[]; readonly first: number } {
  const before: FoundLine[] = [];
  const after: FoundLine[] = [];
  for (let { start } = line; before.length < around && start > 0;) {
    const previous = { start: start === 1 ? 0 : text.lastIndexOf("\n", start - 2) + 1, end: start - 1 };
    before.unshift(previous);
    start = previous.start;
  }
  for (let { end } = line; after.length < around && end < text.length;) {
    const newline = text.indexOf("\n", end + 1);
    const next = { start: end + 1, end: newline < 0 ? text.length : newline };
    after.push(next);
    end = next.end;
  }
  return { lines: [...before, line, ...after], first: before.length };
}
