// Globs over normalised paths: `*`, `?`, `[…]`, `[!…]`, `{a,b}`, `**`. A pattern is anchored at the root like a path.
import { PatternError } from "../errors.ts";
import { checkCharacters, checkLength, resolveDots } from "../paths.ts";
import { Automaton, type PatternNode } from "./automaton.ts";
import { type CharRange, classNode, literalNode } from "./char-class.ts";

export interface Glob {
  /** The pattern with a leading slash. */
  readonly pattern: string;
  /** The one path it can match, for a pattern without wildcards. */
  readonly path?: string;
  /** The directory that holds every match. */
  readonly directory: string;
  /** The end of every match, as far as it has no wildcards; may be empty. */
  readonly suffix: string;
  matches(path: string): boolean;
}

const SLASH: CharRange = [47, 47];

/** Compiles a glob. Throws PatternError for a pattern too large, and as `normalizePath` does. */
export function compileGlob(pattern: string): Glob {
  checkCharacters(pattern);
  const normal = checkLength(normalizePattern(pattern));
  const wild = normal.search(/[*?[{]/);
  const { node, isLiteral } = new GlobParser(normal).parse();
  const directory = normal.slice(0, normal.lastIndexOf("/", wild < 0 ? undefined : wild)) || "/";
  // Inside of brackets and braces the end of the pattern is not the end of the name.
  const suffix = /[^*?[\]{}]*$/.exec(normal)?.[0] ?? "";
  if (isLiteral) return { pattern: normal, path: normal, directory, suffix, matches: (path) => path === normal };
  const automaton = new Automaton(node, { whole: true });
  return { pattern: normal, directory, suffix, matches: (path) => path !== "/" && automaton.test(path) };
}

/** Normalises a pattern as paths are, but slashes inside of `[…]` and `{…}` are the pattern's. */
function normalizePattern(pattern: string): string {
  return /[[{]/.test(pattern) ? `/${pattern.replace(/^(?:\.?\/)+/, "")}` : resolveDots(pattern);
}

const NO_SLASH = classNode([SLASH], true);
const ANY = classNode([], true);
const ANY_PATH: PatternNode = { kind: "repeat", node: ANY, min: 0, max: Infinity };
/** Matches zero or more directories, each with its slash. */
const DIRECTORIES: PatternNode = {
  kind: "choice",
  nodes: [
    { kind: "sequence", nodes: [] },
    { kind: "sequence", nodes: [ANY_PATH, literalNode("/")] }
  ]
};

class GlobParser {
  readonly #text: string;
  /** Positions at which closed braces begin. They are found once: trying each would take 2ⁿ steps for n open ones. */
  readonly #braced: ReadonlySet<number>;
  #at = 0;
  #isLiteral = true;

  constructor(text: string) {
    this.#text = text;
    this.#braced = findClosedBraces(text);
  }

  parse(): { readonly node: PatternNode; readonly isLiteral: boolean } {
    const node = this.#sequence(false);
    return { node, isLiteral: this.#isLiteral };
  }

  /** Parses up to the end, or, inside of braces, up to `,` or `}`. */
  #sequence(inBraces: boolean): PatternNode {
    const nodes: PatternNode[] = [];
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at];
      if (inBraces && (char === "," || char === "}")) break;
      nodes.push(this.#wildcard(char) ?? this.#literal());
    }
    return { kind: "sequence", nodes };
  }

  #wildcard(char: string | undefined): PatternNode | undefined {
    const node =
      char === "*"
        ? this.#star()
        : char === "?"
          ? this.#any()
          : char === "["
            ? this.#class()
            : char === "{"
              ? this.#braces()
              : undefined;
    if (node) this.#isLiteral = false;
    return node;
  }

  #literal(): PatternNode {
    const char = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    this.#at += char.length;
    return literalNode(char);
  }

  #star(): PatternNode {
    const start = this.#at;
    while (this.#text[this.#at] === "*") this.#at += 1;
    if (this.#at - start === 1) return { kind: "repeat", node: NO_SLASH, min: 0, max: Infinity };
    const isSegment = this.#text[start - 1] === "/" && this.#text[this.#at] === "/";
    if (!isSegment) return ANY_PATH;
    this.#at += 1;
    return DIRECTORIES;
  }

  #any(): PatternNode {
    this.#at += 1;
    return NO_SLASH;
  }

  /** Parses a class. Undefined when it is not closed: `[` is then a character. */
  #class(): PatternNode | undefined {
    const isNegated = /^\[[!^]/.test(this.#text.slice(this.#at, this.#at + 2));
    const first = this.#at + (isNegated ? 2 : 1);
    // A bracket that comes first is a member.
    const end = this.#text.indexOf("]", first + 1);
    if (end < 0) return undefined;
    const ranges = readClassRanges(this.#text.slice(first, end));
    this.#at = end + 1;
    // A class is one character of a name: never the slash between names.
    return isNegated ? classNode([...ranges, SLASH], true) : classNode(ranges.flatMap(withoutSlash));
  }

  /** Parses alternatives in braces. Undefined when they are not closed: `{` is then a character. */
  #braces(): PatternNode | undefined {
    if (!this.#braced.has(this.#at)) return undefined;
    const nodes: PatternNode[] = [];
    do {
      this.#at += 1;
      nodes.push(this.#sequence(true));
    } while (this.#text[this.#at] === ",");
    if (this.#text[this.#at] !== "}") throw new PatternError("Invalid pattern: braces and brackets overlap.");
    this.#at += 1;
    return { kind: "choice", nodes };
  }
}

function findClosedBraces(text: string): Set<number> {
  const open: number[] = [];
  const closed = new Set<number>();
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "{") open.push(at);
    const start = text[at] === "}" ? open.pop() : undefined;
    if (start !== undefined) closed.add(start);
  }
  return closed;
}

function readClassRanges(members: string): CharRange[] {
  const codes = Array.from(members, (char) => char.codePointAt(0) ?? 0);
  const ranges: CharRange[] = [];
  for (let index = 0; index < codes.length; index += 1) {
    const from = codes[index] ?? 0;
    const to = codes[index + 2];
    // "-" is 45; first or last in the class it is a member.
    if (codes[index + 1] === 45 && to !== undefined) {
      ranges.push([from, to]);
      index += 2;
    } else ranges.push([from, from]);
  }
  return ranges;
}

function withoutSlash([from, to]: CharRange): CharRange[] {
  if (from > SLASH[0] || to < SLASH[0]) return [[from, to]];
  return [
    [from, SLASH[0] - 1],
    [SLASH[0] + 1, to]
  ];
}
