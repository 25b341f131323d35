// Sets of characters as pattern nodes. Texts are read in UTF-16 units; a character beyond the first plane is two of
// them, and a class must take both or neither.
import type { PatternNode } from "./automaton.ts";

export type CharRange = readonly [from: number, to: number];

const SURROGATES: CharRange = [0xd800, 0xdfff];
const ASTRAL = 0x10000;
const LAST = 0x10ffff;

/** Matches one character out of the ranges of code points, or, negated, one that is in none of them. */
export function classNode(ranges: readonly CharRange[], negated = false): PatternNode {
  const plain = ranges
    .filter(([from]) => from < ASTRAL)
    .map(([from, to]): CharRange => [from, Math.min(to, ASTRAL - 1)]);
  const units: PatternNode = {
    kind: "chars",
    set: negated ? { negated, ranges: [...plain, SURROGATES] } : { ranges: plain }
  };
  const astral = ranges.filter(([, to]) => to >= ASTRAL).map(([from, to]): CharRange => [Math.max(from, ASTRAL), to]);
  const pairs = (negated ? complement(astral, ASTRAL) : astral).flatMap(pairNodes);
  return pairs.length === 0 ? units : { kind: "choice", nodes: [units, ...pairs] };
}

/** Matches a text as it stands. */
export function literalNode(text: string): PatternNode {
  const nodes = Array.from(text, (char): PatternNode => {
    const code = char.codePointAt(0) ?? 0;
    return classNode([[code, code]]);
  });
  return { kind: "sequence", nodes };
}

/** Lists the ranges from `first` to the last code point that are in none of these. */
export function complement(ranges: readonly CharRange[], first: number): CharRange[] {
  const gaps: CharRange[] = [];
  let next = first;
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (from > next) gaps.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= LAST) gaps.push([next, LAST]);
  return gaps;
}

/** Matches a range of characters as pairs of units: the rest of the first row, whole rows, the beginning of the last. */
function pairNodes([from, to]: CharRange): PatternNode[] {
  const [firstHigh, firstLow] = unitsOf(from);
  const [lastHigh, lastLow] = unitsOf(to);
  if (firstHigh === lastHigh) return [pair([firstHigh, firstHigh], [firstLow, lastLow])];
  const nodes = [pair([firstHigh, firstHigh], [firstLow, 0xdfff]), pair([lastHigh, lastHigh], [0xdc00, lastLow])];
  if (lastHigh - firstHigh > 1) nodes.push(pair([firstHigh + 1, lastHigh - 1], [0xdc00, 0xdfff]));
  return nodes;
}

function unitsOf(code: number): [high: number, low: number] {
  const text = String.fromCodePoint(code);
  return [text.charCodeAt(0), text.charCodeAt(1)];
}

function pair(high: CharRange, low: CharRange): PatternNode {
  const nodes = [high, low].map((range): PatternNode => ({ kind: "chars", set: { ranges: [range] } }));
  return { kind: "sequence", nodes };
}
