// Regular expressions for `grep`, matched in linear time. The common syntax is understood; what needs backtracking
// (back-references, look-around) is refused by name, so that a model can rewrite its pattern.
import { PatternError } from "../errors.ts";
import { Automaton, type AutomatonOptions, type PatternNode } from "./automaton.ts";
import { type CharRange, classNode, complement, literalNode } from "./char-class.ts";

/** The largest number of repetitions in `{n,m}`. */
const MAX_REPEAT = 1_000;
const MAX_PATTERN_CHARS = 2_000;
/** The depth of groups inside of groups. */
const MAX_DEPTH = 100;

/** Compiles an expression. Throws PatternError. */
export function compileRegex(pattern: string, options: AutomatonOptions = {}): Automaton {
  return new Automaton(parseRegex(pattern), options);
}

/** Compiles a text that is matched as it stands. Throws PatternError when it is too long. */
export function compileText(text: string, options: AutomatonOptions = {}): Automaton {
  return new Automaton(literalNode(text), options);
}

export function parseRegex(pattern: string): PatternNode {
  if (pattern.length > MAX_PATTERN_CHARS)
    throw new PatternError(`A pattern has at most ${MAX_PATTERN_CHARS} characters.`);
  return new RegexParser(pattern).parse();
}

const DIGIT: CharRange[] = [[48, 57]];
const WORD: CharRange[] = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122]
];
const SPACE: CharRange[] = [
  [9, 13],
  [32, 32],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff]
];
const CLASSES: Readonly<Record<string, readonly [ranges: CharRange[], negated: boolean]>> = {
  d: [DIGIT, false],
  D: [DIGIT, true],
  w: [WORD, false],
  W: [WORD, true],
  s: [SPACE, false],
  S: [SPACE, true]
};
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };
const POSIX: Readonly<Record<string, CharRange[]>> = {
  alpha: [
    [65, 90],
    [97, 122]
  ],
  digit: DIGIT,
  alnum: WORD.filter(([from]) => from !== 95),
  space: SPACE,
  upper: [[65, 90]],
  lower: [[97, 122]],
  word: WORD,
  punct: [
    [33, 47],
    [58, 64],
    [91, 96],
    [123, 126]
  ],
  xdigit: [...DIGIT, [65, 70], [97, 102]]
};

class RegexParser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): PatternNode {
    const node = this.#choice();
    if (this.#at < this.#text.length) throw this.#fault(`")" without "("`);
    return node;
  }

  #choice(): PatternNode {
    const nodes = [this.#sequence()];
    while (this.#take("|")) nodes.push(this.#sequence());
    return nodes.length === 1 && nodes[0] ? nodes[0] : { kind: "choice", nodes };
  }

  #sequence(): PatternNode {
    const nodes: PatternNode[] = [];
    while (this.#at < this.#text.length && !/[|)]/.test(this.#peek())) nodes.push(this.#quantified());
    return { kind: "sequence", nodes };
  }

  #quantified(): PatternNode {
    const node = this.#atom();
    const bounds = this.#quantifier();
    if (!bounds) return node;
    const [min, max] = bounds;
    if (min > max) throw this.#fault("the numbers of a repetition are out of order");
    if (min > MAX_REPEAT || (max !== Infinity && max > MAX_REPEAT))
      throw this.#fault(`a repetition goes to ${MAX_REPEAT} at most`);
    // Lazy or greedy makes no difference to whether a line matches.
    this.#take("?");
    if (this.#quantifier()) throw this.#fault("nothing to repeat");
    return { kind: "repeat", node, min, max };
  }

  #quantifier(): [min: number, max: number] | undefined {
    if (this.#take("*")) return [0, Infinity];
    if (this.#take("+")) return [1, Infinity];
    if (this.#take("?")) return [0, 1];
    const counted = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(this.#text.slice(this.#at, this.#at + 24));
    // A brace that counts nothing is a character.
    if (!counted) return undefined;
    this.#at += counted[0].length;
    const min = Number(counted[1]);
    return [min, counted[2] === undefined ? min : counted[3] ? Number(counted[3]) : Infinity];
  }

  #atom(): PatternNode {
    const char = this.#next();
    switch (char) {
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case ".":
        return classNode([], true);
      case "^":
        return { kind: "assert", what: "start" };
      case "$":
        return { kind: "assert", what: "end" };
      case "\\":
        return this.#escape();
      case "*":
      case "+":
      case "?":
        throw this.#fault("nothing to repeat");
      default:
        return literalNode(char);
    }
  }

  #group(): PatternNode {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw this.#fault("groups are nested too deeply");
    if (/^\?<?[=!]/.test(this.#text.slice(this.#at, this.#at + 3)))
      throw this.#fault("look-around is not supported; match the text itself and filter the result");
    const kind = /^\?(?::|<\w+>|P<\w+>)/.exec(this.#text.slice(this.#at, this.#at + 80));
    if (kind) this.#at += kind[0].length;
    else if (this.#peek() === "?") throw this.#fault("an unknown kind of group");
    const node = this.#choice();
    if (!this.#take(")")) throw this.#fault(`")" is missing`);
    this.#depth -= 1;
    return node;
  }

  #escape(): PatternNode {
    const char = this.#next();
    if (char === "b") return { kind: "assert", what: "word" };
    if (char === "B") return { kind: "assert", what: "not-word" };
    if (/[1-9k]/.test(char)) throw this.#fault("back-references are not supported");
    const known = CLASSES[char];
    if (known) return classNode(...known);
    const code = this.#escapedCode(char);
    return classNode([[code, code]]);
  }

  #escapedCode(char: string): number {
    const control = CONTROLS[char];
    if (control !== undefined) return control;
    const digits = char === "x" ? /^[\da-f]{2}/i : char === "u" ? /^(?:[\da-f]{4}|\{[\da-f]{1,6}\})/i : undefined;
    if (!digits) {
      if (/[a-zA-Z]/.test(char)) throw this.#fault(`"\\${char}" is not supported`);
      return char.codePointAt(0) ?? 0;
    }
    const found = digits.exec(this.#text.slice(this.#at, this.#at + 10))?.[0];
    if (found === undefined) throw this.#fault(`"\\${char}" needs hexadecimal digits`);
    this.#at += found.length;
    const code = Number.parseInt(found.replace(/[{}]/g, ""), 16);
    if (code > 0x10ffff) throw this.#fault("there is no such character");
    return code;
  }

  #class(): PatternNode {
    const isNegated = this.#take("^");
    const ranges: CharRange[] = [];
    // A bracket that comes first is a member.
    for (let isFirst = true; isFirst || this.#peek() !== "]"; isFirst = false) {
      if (this.#at >= this.#text.length) throw this.#fault(`"]" is missing`);
      ranges.push(...this.#member());
    }
    this.#at += 1;
    return classNode(ranges, isNegated);
  }

  #member(): CharRange[] {
    const posix = /^\[:(\w+):\]/.exec(this.#text.slice(this.#at, this.#at + 12));
    if (posix) {
      const known = POSIX[posix[1] ?? ""];
      if (!known) throw this.#fault(`there is no class "${posix[0]}"`);
      this.#at += posix[0].length;
      return known;
    }
    const from = this.#memberCode();
    if (typeof from !== "number") return from;
    const isRange = this.#peek() === "-" && this.#text[this.#at + 1] !== "]" && this.#at + 1 < this.#text.length;
    if (!isRange) return [[from, from]];
    this.#at += 1;
    const to = this.#memberCode();
    if (typeof to !== "number" || to < from) throw this.#fault("a range of characters is out of order");
    return [[from, to]];
  }

  #memberCode(): number | CharRange[] {
    const char = this.#next();
    if (char !== "\\") return char.codePointAt(0) ?? 0;
    const escaped = this.#next();
    if (escaped === "b") return 8;
    const known = CLASSES[escaped];
    if (!known) return this.#escapedCode(escaped);
    const [ranges, isNegated] = known;
    return isNegated ? complement(ranges, 0) : ranges;
  }

  #peek(): string {
    return this.#text[this.#at] ?? "";
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#at += 1;
    return true;
  }

  /** Reads the next whole character. */
  #next(): string {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) throw this.#fault("the pattern ends too early");
    const char = String.fromCodePoint(code);
    this.#at += char.length;
    return char;
  }

  #fault(reason: string): PatternError {
    return new PatternError(`Invalid regex: ${reason}.`);
  }
}
