// What a module exports, read from its text by a real parser. The parser comes from Vite, which every project that is
// built has, and is given as a function: this file imports no bundler and runs in tests without one.
import { posix } from "node:path";

/** As `parseSync` of Vite 8 and Rolldown, as far as it is used. */
export type ModuleParser = (
  filename: string,
  text: string
) => {
  readonly program: { readonly body: readonly object[] };
  readonly module: { readonly staticExports: readonly { readonly entries: readonly ParsedExport[] }[] };
  readonly errors: readonly { readonly message: string; readonly labels?: readonly { readonly start: number }[] }[];
};

interface ParsedExport {
  readonly start: number;
  readonly moduleRequest: { readonly value: string } | null;
  readonly exportName: { readonly kind: string; readonly name: string | null };
  readonly importName: { readonly kind: string; readonly name: string | null };
  readonly localName: { readonly kind: string; readonly name: string | null };
  readonly isType: boolean;
}

/** "value" is anything that may or may not be an agent: the result of a call, a name that is imported. */
export type ExportKind = "class" | "value" | "object" | "other";

export interface ModuleExport {
  readonly name: string;
  readonly kind: ExportKind;
  readonly line: number;
  readonly column: number;
  /** The name of a class that is the default export. */
  readonly declaredName?: string;
  /** The file it is taken from, as written, and its name there. */
  readonly from?: { readonly module: string; readonly name: string };
}

export interface ModuleExports {
  readonly exports: readonly ModuleExport[];
  /** Modules whose exports are all passed on. */
  readonly exportsAllOf: readonly string[];
  /** The value of `export const className = "…"`. */
  readonly className?: string;
  /** Calls `….runWorkflow("BINDING")`, as far as the binding is written out. */
  readonly workflowCalls: readonly { readonly binding: string; readonly line: number; readonly column: number }[];
  /** The file is no valid module; nothing else is known then. */
  readonly syntaxError?: { readonly message: string; readonly line: number; readonly column: number };
}

/** Exports of the project's files, by path. Those of files that were not read are unknown. */
export type SourceExports = ReadonlyMap<string, ModuleExports>;

export function readModuleExports(source: { path: string; text: string }, parse: ModuleParser): ModuleExports {
  const { program, module, errors } = parse(source.path, source.text);
  const [failure] = errors;
  if (failure) {
    const at = position(source.text, failure.labels?.[0]?.start ?? 0);
    return { exports: [], exportsAllOf: [], workflowCalls: [], syntaxError: { message: failure.message, ...at } };
  }
  const declarations = topLevelDeclarations(program.body);
  const imports = importedNames(program.body);
  const entries = module.staticExports.flatMap((statement) => statement.entries).filter(({ isType }) => !isType);
  const pinned = declarations.get("className");
  return {
    exports: entries.flatMap((entry) => exportOf(entry, { declarations, imports, text: source.text })),
    exportsAllOf: entries.flatMap(({ importName, exportName, moduleRequest }) =>
      importName.kind === "AllButDefault" && exportName.kind === "None" && moduleRequest ? [moduleRequest.value] : []
    ),
    workflowCalls: workflowCalls(program.body, source.text),
    ...(entries.some(({ exportName }) => exportName.name === "className") &&
      typeof pinned?.literal === "string" && { className: pinned.literal })
  };
}

interface ModuleScope {
  readonly declarations: ReadonlyMap<string, Declared>;
  readonly imports: ReadonlyMap<string, { module: string; name: string }>;
  readonly text: string;
}

function exportOf(entry: ParsedExport, { declarations, imports, text }: ModuleScope): ModuleExport[] {
  const name = entry.exportName.kind === "Default" ? "default" : entry.exportName.name;
  if (name === null) return [];
  const local = entry.localName.name;
  const at = { name, ...position(text, entry.start) };
  if (entry.moduleRequest) {
    return [
      { ...at, kind: "value", from: { module: entry.moduleRequest.value, name: entry.importName.name ?? "default" } }
    ];
  }
  const imported = local === null ? undefined : imports.get(local);
  if (imported !== undefined) return [{ ...at, kind: "value", from: imported }];
  const declared = declarations.get(local ?? "default") ?? declarations.get("default");
  const isNamed = name === "default" && local !== null && declared?.kind === "class";
  return [{ ...at, kind: declared?.kind ?? "value", declaredName: isNamed ? local : undefined }];
}

interface Declared {
  readonly kind: ExportKind;
  readonly literal?: unknown;
}

/** A syntax tree node, as far as it is looked at. */
interface SyntaxNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** By local name; an expression that is the default export is "default". */
function topLevelDeclarations(body: readonly object[]): Map<string, Declared> {
  const found = new Map<string, Declared>();
  for (const statement of body.map(nodeOf)) {
    const isDefault = statement?.type === "ExportDefaultDeclaration";
    const declaration = nodeOf(statement?.["declaration"]) ?? statement;
    if (declaration === undefined) continue;
    if (isDefault) found.set("default", declaredAs(declaration));
    const list = declaration.type === "VariableDeclaration" ? declaration["declarations"] : [declaration];
    for (const one of (Array.isArray(list) ? list : []).map(nodeOf)) {
      const name = nodeOf(one?.["id"])?.["name"];
      if (one === undefined || typeof name !== "string") continue;
      found.set(name, declaredAs(one.type === "VariableDeclarator" ? nodeOf(one["init"]) : one));
    }
  }
  return found;
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const LITERALS = new Set(["Literal", "TemplateLiteral", "ArrayExpression", "UnaryExpression", "BinaryExpression"]);
/** TypeScript around a value: `x as const`, `x satisfies T`, `(x)`. */
const WRAPPERS = new Set(["TSAsExpression", "TSSatisfiesExpression", "ParenthesizedExpression", "TSNonNullExpression"]);

function declaredAs(node: SyntaxNode | undefined): Declared {
  if (node === undefined) return { kind: "value" };
  if (WRAPPERS.has(node.type)) return declaredAs(nodeOf(node["expression"]));
  if (node.type === "ClassDeclaration" || node.type === "ClassExpression") {
    // A class that extends nothing has no `fetch`.
    return { kind: nodeOf(node["superClass"]) === undefined ? "other" : "class" };
  }
  if (node.type === "ObjectExpression") return { kind: "object" };
  if (LITERALS.has(node.type)) return { kind: "other", literal: node["value"] };
  return { kind: FUNCTIONS.has(node.type) || node.type === "TSEnumDeclaration" ? "other" : "value" };
}

function importedNames(body: readonly object[]): Map<string, { module: string; name: string }> {
  const found = new Map<string, { module: string; name: string }>();
  for (const statement of body.map(nodeOf)) {
    if (statement?.type !== "ImportDeclaration") continue;
    const module = nodeOf(statement["source"])?.["value"];
    const specifiers = Array.isArray(statement["specifiers"]) ? statement["specifiers"].map(nodeOf) : [];
    for (const specifier of specifiers) {
      const local = nodeOf(specifier?.["local"])?.["name"];
      const imported = nodeOf(specifier?.["imported"])?.["name"] ?? "default";
      if (typeof local === "string" && typeof module === "string" && typeof imported === "string") {
        found.set(local, { module, name: imported });
      }
    }
  }
  return found;
}

function nodeOf(value: unknown): SyntaxNode | undefined {
  const isNode = typeof value === "object" && value !== null && typeof Reflect.get(value, "type") === "string";
  // Checked above; the fields are read one by one.
  return isNode ? (value as SyntaxNode) : undefined;
}

function workflowCalls(body: readonly object[], text: string): ModuleExports["workflowCalls"] {
  const found: { binding: string; line: number; column: number }[] = [];
  const open: unknown[] = [body];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    const call = nodeOf(value);
    const [first] = Array.isArray(call?.["arguments"]) ? call["arguments"].map(nodeOf) : [];
    const binding = first?.["value"];
    const callee = nodeOf(nodeOf(call?.["callee"])?.["property"])?.["name"];
    if (callee === "runWorkflow" && typeof binding === "string") {
      found.push({ binding, ...position(text, Number(first?.["start"])) });
    }
    open.push(...Object.values(value));
  }
  return found.toSorted((one, other) => one.line - other.line || one.column - other.column);
}

/** The file and name a class comes from, to tell whether two exports are one class. */
export function classOrigin(path: string, { name, from }: Pick<ModuleExport, "name" | "from">): string {
  if (from === undefined) return `${withoutExtension(path)}#${name}`;
  const target = from.module.startsWith(".") ? posix.join(posix.dirname(path), from.module) : from.module;
  return `${withoutExtension(target)}#${from.name}`;
}

function withoutExtension(path: string): string {
  return path.replace(/\.(?:ts|tsx|js|mjs)$/, "");
}

/** What is said about a file without an agent, at build and when the Worker is loaded. */
export function missingExport(path: string, hasLookAlike: boolean): string {
  return hasLookAlike
    ? `${path} exports an object, and no agent. Wrap it: export default agent({ … }), from "everthink/framework".`
    : `${path} exports no agent. Export a class that extends Think, or agent({ … }); a helper belongs in a folder beside agent.ts, or in a file whose name starts with "_".`;
}

function position(text: string, offset: number): { line: number; column: number } {
  const lines = text.slice(0, offset).split(/\r\n|\n|\r/);
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
