// Changes the import specifiers of one module by its syntax tree: what looks like one in a text or a comment stays as it
// is, and so does everything else of the file. Parsing is the caller's.
import { isObject } from "../../util/json.ts";
import type { SpecifierVerdict } from "./specifiers.ts";

export interface MissingImport {
  readonly specifier: string;
  /** From 1. */
  readonly line: number;
}

export interface RewrittenModule {
  readonly code: string;
  readonly missing: readonly MissingImport[];
  /** Specifiers as they are afterwards. */
  readonly imports: ReadonlySet<string>;
}

interface Specifier {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export function rewriteModule(
  code: string,
  tree: unknown,
  judge: (specifier: string) => SpecifierVerdict
): RewrittenModule {
  let rewritten = code;
  const missing: MissingImport[] = [];
  const imports = new Set<string>();
  // From the end, so that the places of the others stay what they are.
  for (const { text, start, end } of specifiersOf(tree).toSorted((one, other) => other.start - one.start)) {
    const verdict = judge(text);
    imports.add(typeof verdict === "object" ? verdict.to : text);
    if (verdict === "missing") missing.unshift({ specifier: text, line: code.slice(0, start).split("\n").length });
    if (typeof verdict !== "object") continue;
    const quote = code.slice(start, start + 1);
    rewritten = `${rewritten.slice(0, start)}${quote}${verdict.to}${quote}${rewritten.slice(end)}`;
  }
  return { code: rewritten, missing, imports };
}

/** Where a syntax tree of JavaScript or TypeScript names another module. */
const NAMED_BY: Readonly<Record<string, string>> = {
  ImportDeclaration: "source",
  ExportNamedDeclaration: "source",
  ExportAllDeclaration: "source",
  ImportExpression: "source",
  TSImportType: "source",
  TSExternalModuleReference: "expression",
  TSModuleDeclaration: "id"
};

function specifiersOf(tree: unknown): Specifier[] {
  const found: Specifier[] = [];
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (Array.isArray(node)) waiting.push(...(node as unknown[]));
    if (Array.isArray(node) || !isObject(node)) continue;
    const field = NAMED_BY[String(node["type"])];
    const named = field === undefined ? undefined : literalOf(node[field]);
    if (named) found.push(named);
    waiting.push(...Object.values(node));
  }
  return found;
}

function literalOf(node: unknown): Specifier | undefined {
  if (!isObject(node) || typeof node["value"] !== "string") return undefined;
  return { text: node["value"], start: Number(node["start"]), end: Number(node["end"]) };
}
