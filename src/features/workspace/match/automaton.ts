// Matches in linear time. A pattern is a small syntax tree; it becomes an automaton whose states are made as the text
// needs them and kept for the next text. Nothing backtracks, so a pattern made to explode costs what any other costs.
// glob.ts and regex.ts parse globs and regular expressions into trees.
import { PatternError } from "../errors.ts";

/** A set of UTF-16 units. */
export interface CharSet {
  readonly negated?: boolean;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

export type PatternNode =
  | { readonly kind: "chars"; readonly set: CharSet }
  | { readonly kind: "sequence"; readonly nodes: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly nodes: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly node: PatternNode; readonly min: number; readonly max: number }
  | { readonly kind: "assert"; readonly what: Assertion };

export type Assertion = "start" | "end" | "word" | "not-word";

export interface AutomatonOptions {
  readonly ignoreCase?: boolean;
  /** The whole text must match. Otherwise it is enough that a part of it does. */
  readonly whole?: boolean;
  /** Nodes visited to make states, over all texts; past it `test` throws WorkLimitError. */
  readonly maxWork?: number;
}

/** The pattern needs new states all the time: searching on would take long. */
export class WorkLimitError extends PatternError {
  constructor() {
    super("The pattern is too complex for so much text.");
  }
}

/** Nodes of one pattern. Counted repetitions multiply: `(a{100}){100}` is refused. */
const MAX_NODES = 4_000;
/** States kept between texts. Past this number they are made anew, which costs time and no correctness. */
const MAX_STATES = 1_000;
/** Units below this one have a table of their own in each state. */
const ASCII = 128;

interface Node {
  readonly set?: CharSet;
  readonly assertion?: Assertion;
  /** Nodes reached without reading, or after the one unit of `set`. */
  next: number[];
}

interface State {
  readonly nodes: readonly number[];
  readonly before: Before;
  readonly ascii: (State | undefined)[];
  readonly others: Map<number, State>;
  /** The end of the pattern is reached, whatever follows. */
  readonly isAccepting: boolean;
  isAcceptingAtEnd: boolean | undefined;
}

/** What stands before a position: assertions look at it. */
type Before = "nothing" | "word" | "other";
type After = "nothing" | "word" | "other";

export class Automaton {
  readonly #nodes: Node[] = [];
  readonly #options: AutomatonOptions;
  readonly #accept: number;
  readonly #first: number;
  #states = new Map<string, State>();
  #start: State;
  #work = 0;

  constructor(pattern: PatternNode, options: AutomatonOptions = {}) {
    this.#options = options;
    this.#accept = this.#add({ next: [] });
    this.#first = this.#build(pattern, this.#accept);
    this.#start = this.#state([this.#first], "nothing");
  }

  /** Nodes visited to make states so far. */
  get work(): number {
    return this.#work;
  }

  test(text: string): boolean {
    return this.testRange(text, 0, text.length);
  }

  /** Tests a part of the text, without copying it. */
  testRange(text: string, from: number, to: number): boolean {
    let state = this.#start;
    for (let index = from; index < to; index += 1) {
      if (state.isAccepting && !this.#options.whole) return true;
      const unit = text.charCodeAt(index);
      const known = unit < ASCII ? state.ascii[unit] : state.others.get(unit);
      state = known ?? this.#step(state, unit);
      // Only a whole match can run dry: a search may begin at every position.
      if (state.nodes.length === 0) return false;
    }
    state.isAcceptingAtEnd ??= this.#closure(state.nodes, state.before, "nothing").includes(this.#accept);
    return state.isAcceptingAtEnd;
  }

  #step(state: State, unit: number): State {
    const kind = isWord(unit) ? "word" : "other";
    const reached = new Set<number>();
    const closure = this.#closure(state.nodes, state.before, kind);
    // An assertion that needed to see this unit may have completed the match before it.
    const isFound = !this.#options.whole && closure.includes(this.#accept);
    for (const id of closure) {
      const node = this.#node(id);
      if (node.set && this.#has(node.set, unit)) for (const next of node.next) reached.add(next);
    }
    if (isFound) reached.add(this.#accept);
    if (!this.#options.whole) reached.add(this.#first);
    const next = this.#state(
      [...reached].sort((a, b) => a - b),
      kind
    );
    if (unit < ASCII) state.ascii[unit] = next;
    else {
      if (state.others.size >= MAX_STATES) state.others.clear();
      state.others.set(unit, next);
    }
    return next;
  }

  #state(nodes: readonly number[], before: Before): State {
    const key = `${before[0]}${nodes.join(",")}`;
    const known = this.#states.get(key);
    if (known) return known;
    if (this.#states.size >= MAX_STATES) {
      // States refer to each other: all go together.
      this.#states = new Map();
      this.#start = this.#fresh([this.#first], "nothing");
    }
    const state = this.#fresh(nodes, before);
    this.#states.set(key, state);
    return state;
  }

  #fresh(nodes: readonly number[], before: Before): State {
    return {
      nodes,
      before,
      ascii: Array.from({ length: ASCII }),
      others: new Map(),
      isAccepting: nodes.includes(this.#accept),
      isAcceptingAtEnd: undefined
    };
  }

  /** Lists the nodes that are reached without reading. */
  #closure(nodes: readonly number[], before: Before, after: After): number[] {
    const seen = new Set<number>(nodes);
    const open = [...nodes];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const node = this.#node(id);
      if (node.set || (node.assertion && !holds(node.assertion, before, after))) continue;
      for (const next of node.next) {
        if (seen.has(next)) continue;
        seen.add(next);
        open.push(next);
      }
    }
    this.#work += seen.size;
    if (this.#work > (this.#options.maxWork ?? Infinity)) throw new WorkLimitError();
    return [...seen];
  }

  #has({ negated = false, ranges }: CharSet, unit: number): boolean {
    const isNamed =
      inRanges(ranges, unit) ||
      (this.#options.ignoreCase === true && otherCases(unit).some((other) => inRanges(ranges, other)));
    return isNamed !== negated;
  }

  #node(id: number): Node {
    const node = this.#nodes[id];
    if (!node) throw new Error(`The pattern has no node ${id}.`);
    return node;
  }

  #add(node: Node): number {
    if (this.#nodes.length >= MAX_NODES)
      throw new PatternError(`The pattern is too large: more than ${MAX_NODES} steps.`);
    return this.#nodes.push(node) - 1;
  }

  /** Builds from the end: each node knows what comes after it. */
  #build(pattern: PatternNode, next: number): number {
    switch (pattern.kind) {
      case "chars":
        return this.#add({ set: pattern.set, next: [next] });
      case "assert":
        return this.#add({ assertion: pattern.what, next: [next] });
      case "sequence":
        return pattern.nodes.reduceRight((after, node) => this.#build(node, after), next);
      case "choice":
        return this.#add({ next: pattern.nodes.map((node) => this.#build(node, next)) });
      case "repeat":
        return this.#repeat(pattern, next);
    }
  }

  #repeat({ node, min, max }: Extract<PatternNode, { kind: "repeat" }>, next: number): number {
    let entry = next;
    if (max === Infinity) {
      const loop: Node = { next: [next] };
      entry = this.#add(loop);
      loop.next.unshift(this.#build(node, entry));
    } else {
      for (let count = min; count < max; count += 1) entry = this.#add({ next: [this.#build(node, entry), next] });
    }
    for (let count = 0; count < min; count += 1) entry = this.#build(node, entry);
    return entry;
  }
}

function holds(assertion: Assertion, before: Before, after: After): boolean {
  switch (assertion) {
    case "start":
      return before === "nothing";
    case "end":
      return after === "nothing";
    case "word":
      return (before === "word") !== (after === "word");
    case "not-word":
      return (before === "word") === (after === "word");
  }
}

function isWord(unit: number): boolean {
  return (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || unit === 95 || (unit >= 97 && unit <= 122);
}

function inRanges(ranges: CharSet["ranges"], unit: number): boolean {
  return ranges.some(([from, to]) => unit >= from && unit <= to);
}

function otherCases(unit: number): number[] {
  const char = String.fromCharCode(unit);
  return [char.toLowerCase(), char.toUpperCase()]
    .filter((other) => other.length === 1 && other !== char)
    .map((other) => other.charCodeAt(0));
}
