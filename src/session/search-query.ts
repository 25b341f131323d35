// Turns what a person typed into an FTS5 match expression. Every word is quoted, so that no character of the text is an
// operator: words are looked for together, wherever they stand, and "quoted words" next to each other. Pure; other
// full-text tables use it too.

/** Words and phrases of a query that are looked for; the rest is ignored. */
export const MAX_QUERY_TERMS = 32;
/** Of a longer text only the start is read. */
export const MAX_QUERY_CHARS = 2_000;

/** What keyboards make of a quotation mark. */
const QUOTES = /["“”„‟«»]/g;
/** What the tokenizer takes for part of a word. A term without any would match nothing and hide what the others find. */
const WORD = /[\p{L}\p{N}\p{Co}]/u;

/**
 * Every word, in any order. Where FTS5 ranks by bm25, messages that hold the words as one phrase gain by it. Undefined
 * when there is no word in the text.
 *
 * @example
 * matchQuery('deploy "on friday" OR'); // ("deploy on friday OR") OR ("deploy" AND "on friday" AND "OR")
 */
export function matchQuery(text: string): string | undefined {
  const terms = termsOf(text);
  if (terms.length === 0) return undefined;
  const all = terms.map(quote).join(" AND ");
  return terms.length === 1 ? all : `(${quote(terms.join(" "))}) OR (${all})`;
}

/** The words next to each other and in their order. Undefined for less than two, which `matchQuery` finds that way. */
export function phraseQuery(text: string): string | undefined {
  const terms = termsOf(text);
  return terms.length < 2 ? undefined : quote(terms.join(" "));
}

/** Text between two quotation marks is one term; outside of them, every word is. */
function termsOf(text: string): string[] {
  const pieces = text.slice(0, MAX_QUERY_CHARS).replaceAll("\0", " ").replace(QUOTES, '"').split('"');
  // A mark without a partner is none: the text behind it is words.
  const isPaired = (index: number) => index % 2 === 1 && index < pieces.length - 1;
  return pieces
    .flatMap((piece, index) => (isPaired(index) ? [piece.trim()] : piece.split(/\s+/)))
    .filter((term) => WORD.test(term))
    .slice(0, MAX_QUERY_TERMS);
}

/** Terms hold no quotation marks any more. */
function quote(term: string): string {
  return `"${term}"`;
}
