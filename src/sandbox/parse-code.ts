// Code as text to code that can be loaded: types taken out, parsed with positions, imports refused. The parser and what
// takes types out are loaded with the first code.
import type { Options, Program } from "acorn";
import { lazyModule } from "../host/lazy-module.ts";
import { errorMessage } from "../util/errors.ts";
import type { Result } from "../util/result.ts";
import { loadTransform } from "./load-transform.ts";
import { visitSyntax } from "./spin-guard.ts";

/** The parser of JavaScript. */
export const loadSyntaxParser = lazyModule(() => import("acorn"));

export interface ParsedCode {
  /** Without types. */
  readonly text: string;
  readonly program: Program;
}

const OPTIONS: Options = {
  ecmaVersion: "latest",
  sourceType: "module",
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  locations: true
};

/** The error is a text for the author of the code, with line and column. */
export async function parseCode(code: string): Promise<Result<ParsedCode, string>> {
  const { parse } = await loadSyntaxParser();
  const read = (text: string): Result<ParsedCode, string> => {
    try {
      return { ok: true, value: { text, program: parse(text, OPTIONS) } };
    } catch (error) {
      return { ok: false, error: syntaxError(text, error) };
    }
  };
  const plain = read(code);
  const parsed = plain.ok ? plain : await readTyped(code, plain, read);
  if (!parsed.ok) return parsed;
  const refused = refusedImport(parsed.value);
  return refused === undefined ? parsed : { ok: false, error: refused };
}

async function readTyped(
  code: string,
  plain: Result<ParsedCode, string>,
  read: (text: string) => Result<ParsedCode, string>
): Promise<Result<ParsedCode, string>> {
  const transform = await loadTransform();
  if (!transform) return plain;
  try {
    const typed = read(transform(code, { transforms: ["typescript"], disableESTransforms: true }).code);
    return typed.ok ? typed : plain;
  } catch {
    // It is not TypeScript either; the first error has the position.
    return plain;
  }
}

/** Nothing can be imported into an isolate but what it was loaded with. */
function refusedImport({ text, program }: ParsedCode): string | undefined {
  let refused: string | undefined;
  visitSyntax(program, (node) => {
    const isImport = node.type === "ImportDeclaration" || node.type === "ImportExpression";
    const isReexport = /^Export(Named|All)Declaration$/.test(node.type) && node["source"] !== null;
    if ((isImport || isReexport) && refused === undefined) {
      const line = text.slice(0, node.start).split("\n").length;
      refused = `Nothing can be imported here (line ${line}): ${text.slice(node.start, node.end).slice(0, 100)}`;
    }
  });
  return refused;
}

function syntaxError(text: string, error: unknown): string {
  const message = errorMessage(error).replace(/ \(\d+:\d+\)$/, "");
  const place: unknown = error instanceof Error ? Reflect.get(error, "loc") : undefined;
  const { line, column } = (place ?? {}) as { line?: number; column?: number };
  if (line === undefined || column === undefined) return `SyntaxError: ${message}`;
  const shown = text.split("\n")[line - 1]?.slice(0, 200) ?? "";
  return `SyntaxError: ${message} at line ${line}, column ${column + 1}: ${shown.trim()}`;
}
