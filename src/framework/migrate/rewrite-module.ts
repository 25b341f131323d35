// Changes the import specifiers of one module by its syntax tree: what looks like one in a text or a comment stays as it
// is, and so does everything else of the file. Parsing is the caller's.
import { isObject } from "../../util/json.ts";
import { moduleUses } from "./module-uses.ts";
import { isOriginal, isOurs, type SpecifierVerdict } from "./specifiers.ts";

export interface MissingImport {
  readonly specifier: string;
  /** Of what is imported from a module that has a counterpart; absent: the module has none. */
  readonly name?: string;
  /** From 1. */
  readonly line: number;
}

/** A name that is imported from a module of ours now. */
export interface MovedName {
  readonly specifier: string;
  readonly to: string;
  readonly name: string;
  readonly line: number;
}

export interface RewrittenModule {
  readonly code: string;
  readonly missing: readonly MissingImport[];
  readonly moved: readonly MovedName[];
  /** Modules of other packages, which stay. */
  readonly kept: readonly { readonly specifier: string; readonly line: number }[];
  /** Lines with an import whose name is only known when it runs. */
  readonly computed: readonly number[];
  /** Specifiers as they are afterwards. */
  readonly imports: ReadonlySet<string>;
}

export interface ImportRules {
  judge(specifier: string): SpecifierVerdict;
  /** Whether a module of ours exports a name. */
  hasName(specifier: string, name: string): boolean;
}

interface Specifier {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** What is taken from the module by its name, and where. */
  readonly names: readonly TakenName[];
}

interface TakenName {
  readonly name: string;
  readonly start: number;
}

export function rewriteModule(code: string, tree: unknown, { judge, hasName }: ImportRules): RewrittenModule {
  let rewritten = code;
  const missing: MissingImport[] = [];
  const moved: MovedName[] = [];
  const kept: { specifier: string; line: number }[] = [];
  const imports = new Set<string>();
  const { named, computed } = specifiersOf(code, tree);
  // From the end, so that the places of the others stay what they are.
  for (const { text, start, end, names } of named.toSorted((one, other) => other.start - one.start)) {
    const verdict = judge(text);
    const line = lineAt(code, start);
    imports.add(typeof verdict === "object" ? verdict.to : text);
    if (verdict === "keep") kept.unshift({ specifier: text, line });
    if (verdict === "missing") missing.unshift({ specifier: text, line });
    const to = typeof verdict === "object" ? verdict.to : text;
    // Also of an import that has moved already: a name that is not there stays on the list until it is mended.
    const unknown = isOurs(to) ? names.filter(({ name }) => !hasName(to, name)) : [];
    missing.unshift(...unknown.map((one) => ({ specifier: text, name: one.name, line: lineAt(code, one.start) })));
    if (typeof verdict !== "object") continue;
    moved.unshift(...names.map((one) => ({ specifier: text, to, name: one.name, line: lineAt(code, one.start) })));
    const quote = code.slice(start, start + 1);
    rewritten = `${rewritten.slice(0, start)}${quote}${verdict.to}${quote}${rewritten.slice(end)}`;
  }
  return { code: rewritten, missing, moved, kept, imports, computed: computed.map((start) => lineAt(code, start)) };
}

export function lineAt(code: string, offset: number): number {
  return code.slice(0, offset).split("\n").length;
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
/** Functions whose first argument is the name of a module. */
const LOADERS = new Set([
  ...["require", "require.resolve", "import.meta.resolve"],
  ...["vi.mock", "vi.doMock", "vi.unmock", "vi.importActual", "vi.importMock"],
  ...["jest.mock", "jest.doMock", "jest.unmock", "jest.requireActual"]
]);

function specifiersOf(code: string, tree: unknown): { named: Specifier[]; computed: number[] } {
  const named = referencesOf(code, tree);
  const computed: number[] = [];
  const uses = Map.groupBy(moduleUses(tree), ({ moduleStart }) => moduleStart);
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (Array.isArray(node)) waiting.push(...(node as unknown[]));
    if (Array.isArray(node) || !isObject(node)) continue;
    waiting.push(...Object.values(node));
    const source = sourceOf(code, node);
    const literal = literalOf(source);
    if (literal) {
      const listed = namesOf(node).map((name) => ({ name, start: literal.start }));
      named.push({ ...literal, names: [...listed, ...oncePerName(uses.get(literal.start) ?? [])] });
    } else if (isObject(source) && mentionsOriginal(textOf(code, source))) computed.push(Number(source["start"]));
  }
  return { named, computed: computed.toSorted((one, other) => one - other) };
}

/** Each name where it is used first. */
function oncePerName(uses: readonly TakenName[]): TakenName[] {
  return uses.filter(({ name }, index) => uses.findIndex((one) => one.name === name) === index);
}

function sourceOf(code: string, node: Record<string, unknown>): unknown {
  const field = NAMED_BY[String(node["type"])];
  if (field !== undefined) return node[field];
  const { callee, arguments: given } = node;
  if (node["type"] !== "CallExpression" || !isObject(callee) || !Array.isArray(given)) return undefined;
  return LOADERS.has(textOf(code, callee)) ? given[0] : undefined;
}

function textOf(code: string, node: Record<string, unknown>): string {
  return code.slice(Number(node["start"]), Number(node["end"]));
}

/** A text that is put together, and begins like one of the packages. */
function mentionsOriginal(text: string): boolean {
  return [...text.matchAll(/["'`]([^"'`$]+)/g)].some(([, part = ""]) => isOriginal(part));
}

function literalOf(node: unknown): Omit<Specifier, "names"> | undefined {
  if (!isObject(node)) return undefined;
  const text = node["type"] === "TemplateLiteral" ? plainTemplate(node) : node["value"];
  return typeof text === "string" ? { text, start: Number(node["start"]), end: Number(node["end"]) } : undefined;
}

function plainTemplate({ quasis, expressions }: Record<string, unknown>): unknown {
  if (!Array.isArray(quasis) || quasis.length !== 1 || !Array.isArray(expressions) || expressions.length > 0) return;
  const [{ value } = {}] = quasis as { value?: { cooked?: unknown } }[];
  return value?.cooked;
}

/** Of `import { a, b as c }`, `export { a } from` and `import("…").A`. */
function namesOf(node: Record<string, unknown>): string[] {
  if (node["type"] === "TSImportType") return [leftmostName(node["qualifier"])].filter((name) => name !== "");
  const field = node["type"] === "ImportDeclaration" ? "imported" : "local";
  const specifiers: unknown[] = Array.isArray(node["specifiers"]) ? node["specifiers"] : [];
  return specifiers.flatMap((one) => {
    if (!isObject(one)) return [];
    if (one["type"] === "ImportDefaultSpecifier") return ["default"];
    const name = isObject(one[field]) && one["type"] !== "ImportNamespaceSpecifier" ? one[field]["name"] : undefined;
    return typeof name === "string" ? [name] : [];
  });
}

function leftmostName(qualifier: unknown): string {
  if (!isObject(qualifier)) return "";
  return typeof qualifier["name"] === "string" ? qualifier["name"] : leftmostName(qualifier["left"]);
}

/** `/// <reference types="…" />` names a module, too; such lines count above the first statement only. */
function referencesOf(code: string, tree: unknown): Specifier[] {
  const body: unknown = isObject(tree) ? tree["body"] : undefined;
  const [first]: unknown[] = Array.isArray(body) ? body : [];
  const head = code.slice(0, isObject(first) ? Number(first["start"]) : code.length);
  return [...head.matchAll(/^\/\/\/\s*<reference\s+types=("[^"\n]*"|'[^'\n]*')/gm)].map(
    ({ 0: line, 1: quoted = "", index }) => {
      const end = index + line.length;
      return { text: quoted.slice(1, -1), start: end - quoted.length, end, names: [] };
    }
  );
}
