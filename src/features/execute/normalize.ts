// What a model wrote, as one function expression with checks that end a loop which does not yield. Models write fences,
// blocks, arrow functions and default exports; all of them mean "run this and give me the last value".
import type { Program } from "acorn";
import { parseCode, type ParsedCode } from "../../sandbox/parse-code.ts";
import { spinGuardOf, withTextEdits, type TextEdit } from "../../sandbox/spin-guard.ts";
import type { Result } from "../../util/result.ts";

export interface RunnableCode {
  /** An expression whose value is a function of the input. */
  readonly expression: string;
  /** What a module with the expression must begin with. */
  readonly importLine: string;
}

export async function runnableCode(code: string): Promise<Result<RunnableCode, string>> {
  const parsed = await parseCode(withoutFence(code));
  if (!parsed.ok) return parsed;
  const { importLine, edits } = spinGuardOf(parsed.value.text, parsed.value.program);
  return { ok: true, value: { importLine, expression: functionOf(parsed.value, edits) } };
}

/**
 * What a model wrote, as the text of one function: without a fence, without types, returning its last value. Code that
 * cannot be read is wrapped as it is, and fails where it is run.
 *
 * @example
 * await normalizeCode("1 + 1"); // "(async (input) => {{\nreturn (1 + 1);\n}})"
 */
export async function normalizeCode(code: string): Promise<string> {
  const parsed = await parseCode(withoutFence(code));
  return parsed.ok ? functionOf(parsed.value, []) : functionText(`\n${withoutFence(code)}`);
}

function withoutFence(code: string): string {
  const fenced = /^\s*```[\w-]*[ \t]*\r?\n([\s\S]*?)\r?\n?```\s*$/.exec(code);
  return fenced?.[1] ?? code;
}

const FUNCTIONS = ["ArrowFunctionExpression", "FunctionExpression", "FunctionDeclaration"];

function functionOf({ text, program }: ParsedCode, edits: readonly TextEdit[]): string {
  const { body } = program;
  const [only] = body;
  const within = (start: number, end: number) => part(text, edits, { start, end });
  if (body.length === 1 && only?.type === "ExpressionStatement" && FUNCTIONS.includes(only.expression.type)) {
    return `(${within(only.expression.start, only.expression.end)})`;
  }
  if (body.length === 1 && only?.type === "FunctionDeclaration") {
    return `(${within(only.start, only.end)})`;
  }
  const last = body.at(-1);
  if (last?.type === "ExportDefaultDeclaration") {
    const before = within(0, last.start);
    const value = within(last.declaration.start, last.declaration.end);
    const call = FUNCTIONS.includes(last.declaration.type) ? `(${value})(input)` : `(${value})`;
    return functionText(`${before}\nreturn await ${call};`);
  }
  return functionText(blockOf(program, within, text.length));
}

/** The statements are a block of their own: a program may have a constant that is called "input". */
function functionText(statements: string): string {
  return `(async (input) => {{${statements}\n}})`;
}

/** A block whose last statement is an expression returns it. */
function blockOf(program: Program, within: (start: number, end: number) => string, length: number): string {
  const last = program.body.at(-1);
  if (last?.type !== "ExpressionStatement") return within(0, length);
  const { start, end } = last.expression;
  return `${within(0, last.start)}\nreturn (${within(start, end)});${within(last.end, length)}`;
}

function part(text: string, edits: readonly TextEdit[], { start, end }: { start: number; end: number }): string {
  const inside = edits.filter(({ at, isEnd }) => (isEnd ? at > start && at <= end : at >= start && at < end));
  return withTextEdits(
    text.slice(start, end),
    inside.map((edit) => ({ ...edit, at: edit.at - start }))
  );
}
