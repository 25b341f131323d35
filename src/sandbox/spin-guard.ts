// Ends code that does not yield: a timer cannot fire meanwhile, and locally nothing else does it. A check is put at the
// start of each round of a loop and of each function. What loops inside the engine itself (a regular expression, a sort of
// a huge array) is not reached by it.
import type { Program } from "acorn";
import { isObject } from "../util/json.ts";

/** Code that does not yield for so long is stopped: nothing else of the process runs meanwhile. */
export const SPIN_LIMIT_MS = 2_000;
/** The same in rounds, for where the clock stands still, as it does while a module is evaluated. */
const SPIN_LIMIT_ROUNDS = 500_000_000;

export const SPIN_GUARD_MODULE = "guard.js";

export const SPIN_GUARD_SOURCE = `
const now = Date.now, every = setInterval, stop = clearInterval;
let rounds = 0, last = 0, isOver = false, limit = ${SPIN_LIMIT_MS}, timer;
export function start(limitMs = ${SPIN_LIMIT_MS}) {
  if (timer !== undefined) return;
  limit = limitMs;
  last = now();
  timer = every(() => { last = now(); rounds = 0; }, 50);
}
export function end() {
  stop(timer);
  timer = undefined;
}
export function tick() {
  if (isOver) throw new Error("The code ran for " + limit + " ms without a break and was timed out.");
  rounds += 1;
  if ((rounds & 1023) === 0 && (now() - last > limit || rounds > ${SPIN_LIMIT_ROUNDS})) {
    isOver = true;
    tick();
  }
}
`;

/** A change of a text. */
export interface TextEdit {
  readonly at: number;
  /** Characters that are taken out. */
  readonly length: number;
  readonly text: string;
  /** It belongs to what ends at its place, not to what begins there. */
  readonly isEnd?: boolean;
}

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface SpinGuard {
  /** What the module must begin with. */
  readonly importLine: string;
  readonly edits: TextEdit[];
}

/** What puts the checks into a text. The name of the check is one that the text does not use. */
export function spinGuardOf(text: string, program: Program): SpinGuard {
  let tick = "tick";
  while (text.includes(tick)) tick += "_";
  const edits: TextEdit[] = [];
  visitSyntax(program, (node) => edits.push(...editsOf(node, tick)));
  return { importLine: `import { tick as ${tick} } from "./${SPIN_GUARD_MODULE}";`, edits };
}

export function withTextEdits(text: string, edits: readonly TextEdit[]): string {
  const pieces: string[] = [];
  let at = 0;
  // Sorting keeps the order of those at one place: what closes comes from the inside out, as `visitSyntax` goes.
  for (const one of edits.toSorted((a, b) => a.at - b.at)) {
    pieces.push(text.slice(at, one.at), one.text);
    at = one.at + one.length;
  }
  return [...pieces, text.slice(at)].join("");
}

/** Children first. */
export function visitSyntax(value: unknown, found: (node: SyntaxNode) => void): void {
  if (Array.isArray(value)) for (const one of value) visitSyntax(one, found);
  if (!isSyntaxNode(value)) return;
  for (const [key, child] of Object.entries(value)) if (key !== "type") visitSyntax(child, found);
  found(value);
}

const LOOPS = ["ForStatement", "ForInStatement", "ForOfStatement", "WhileStatement", "DoWhileStatement"];

function editsOf(node: SyntaxNode, tick: string): TextEdit[] {
  const { body } = node;
  const isLoop = LOOPS.includes(node.type);
  const isFunction = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
  if ((!isLoop && !isFunction) || !isSyntaxNode(body)) return [];
  if (body.type === "BlockStatement") return [{ at: body.start + 1, length: 0, text: `${tick}();` }];
  const [open, close] = isLoop ? [`{${tick}();`, "}"] : [`(${tick}(),`, ")"];
  return [
    { at: body.start, length: 0, text: open },
    { at: body.end, length: 0, text: close, isEnd: true }
  ];
}

export function isSyntaxNode(value: unknown): value is SyntaxNode {
  return isObject(value) && typeof value["type"] === "string" && typeof value["start"] === "number";
}
