// Finds tools by words: BM25 over their names, titles, descriptions, parameters and groups, each field with a weight of its
// own. A word of the question counts once, with the best of what it may mean: itself, another word for the same, a longer
// form, or itself without a typing error. Pure, and the same answer for the same tools and words.
import { synonymsOf, wordsOf } from "./words.ts";

export interface IndexedTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  /** Of the server or extension that it belongs to. */
  readonly group: string;
  /** Names of the fields of its input, and what is said about them. */
  readonly parameters: readonly { readonly name: string; readonly description: string }[];
}

const NAME_WEIGHT = 3;
const GROUP_WEIGHT = 1.5;
const DESCRIPTION_WEIGHT = 1;
const PARAMETER_WEIGHT = 0.5;
const PARAMETER_TEXT_WEIGHT = 0.25;

/** What a match counts that is not the word itself. */
const SYNONYM = 0.5;
const LONGER_FORM = 0.5;
const TYPING_ERROR = 0.4;
/** Words that are shorter stand for themselves only. */
const SHORTEST_FORM = 4;
const SHORTEST_ERROR = 5;

/** Of BM25: how soon repeating a word stops to count, and how much long texts lose. */
const SATURATION = 1.2;
const LENGTH_LOSS = 0.5;

/** Words of a question that are looked at, and characters of a description. */
const MAX_QUERY_WORDS = 32;
const MAX_TEXT_CHARS = 4_000;
const MAX_PARAMETERS = 64;

interface Posting {
  readonly tool: number;
  readonly weight: number;
}

export class ToolIndex {
  readonly #names: readonly string[];
  readonly #lengths: number[] = [];
  readonly #postings = new Map<string, Posting[]>();
  readonly #averageLength: number;

  constructor(tools: readonly IndexedTool[]) {
    this.#names = tools.map(({ name }) => name);
    for (const [tool, indexed] of tools.entries()) {
      const weights = weightsOf(indexed);
      let length = 0;
      for (const [word, weight] of weights) {
        length += weight;
        const postings = this.#postings.get(word);
        if (postings) postings.push({ tool, weight });
        else this.#postings.set(word, [{ tool, weight }]);
      }
      this.#lengths.push(length);
    }
    this.#averageLength = this.#lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, tools.length);
  }

  /** Names of the tools that match, the best first. Tools that match alike keep their order. */
  search(query: string, limit: number): string[] {
    const scores = new Map<number, number>();
    for (const word of new Set(wordsOf(query).slice(0, MAX_QUERY_WORDS))) {
      for (const [tool, score] of this.#scoresOf(word)) scores.set(tool, (scores.get(tool) ?? 0) + score);
    }
    const ranked = [...scores].sort(([one, score], [other, otherScore]) => otherScore - score || one - other);
    return ranked.slice(0, Math.max(0, limit)).flatMap(([tool]) => this.#names[tool] ?? []);
  }

  /** What one word of a question adds to each tool. */
  #scoresOf(word: string): Map<number, number> {
    const best = new Map<number, number>();
    for (const [meant, factor] of this.#meaningsOf(word)) {
      const postings = this.#postings.get(meant) ?? [];
      const rarity = Math.log(1 + (this.#names.length - postings.length + 0.5) / (postings.length + 0.5));
      for (const { tool, weight } of postings) {
        const length = (this.#lengths[tool] ?? 0) / this.#averageLength;
        const frequency = weight / (weight + SATURATION * (1 - LENGTH_LOSS + LENGTH_LOSS * length));
        best.set(tool, Math.max(best.get(tool) ?? 0, factor * rarity * frequency));
      }
    }
    return best;
  }

  #meaningsOf(word: string): Map<string, number> {
    const meanings = new Map<string, number>();
    const add = (meant: string, factor: number) => {
      if (this.#postings.has(meant)) meanings.set(meant, Math.max(meanings.get(meant) ?? 0, factor));
    };
    add(word, 1);
    for (const synonym of synonymsOf(word)) add(synonym, SYNONYM);
    const isKnown = this.#postings.has(word);
    for (const known of word.length < SHORTEST_FORM ? [] : this.#postings.keys()) {
      if (isLongerForm(known, word) || isLongerForm(word, known)) add(known, LONGER_FORM);
      // A word that occurs is not a typing error.
      else if (!isKnown && word.length >= SHORTEST_ERROR && isTypingError(word, known)) add(known, TYPING_ERROR);
    }
    return meanings;
  }
}

function isLongerForm(longer: string, word: string): boolean {
  return word.length >= SHORTEST_FORM && longer.length > word.length && longer.startsWith(word);
}

/** One letter is missing, too many or wrong, or two are swapped. */
export function isTypingError(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1 || one === other) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  const [restOne, restOther] = [one.slice(start), other.slice(start)];
  const isSwapped =
    restOne[0] === restOther[1] && restOne[1] === restOther[0] && restOne.slice(2) === restOther.slice(2);
  return (
    (isSwapped && restOne.length > 1) ||
    restOne.slice(1) === restOther.slice(1) ||
    restOne.slice(1) === restOther ||
    restOne === restOther.slice(1)
  );
}

function weightsOf({ name, title = "", description, group, parameters }: IndexedTool): Map<string, number> {
  const weights = new Map<string, number>();
  const add = (text: string, weight: number) => {
    for (const word of wordsOf(text.slice(0, MAX_TEXT_CHARS))) weights.set(word, (weights.get(word) ?? 0) + weight);
  };
  add(name, NAME_WEIGHT);
  // Most titles repeat the name.
  add(title, DESCRIPTION_WEIGHT);
  add(description, DESCRIPTION_WEIGHT);
  add(group, GROUP_WEIGHT);
  for (const parameter of parameters.slice(0, MAX_PARAMETERS)) {
    add(parameter.name, PARAMETER_WEIGHT);
    add(parameter.description, PARAMETER_TEXT_WEIGHT);
  }
  return weights;
}
