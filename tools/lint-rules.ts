// The rules of this repository that no stock linter has, as one pure function from a file's path and text to findings.
// Which folder may import which is decided in lint-imports.ts; here are the rules about names, casts and shapes.
import { parseAst } from "rolldown/parseAst";
import { checkImport, type ImportUse, isTest } from "./lint-imports.ts";

export interface Finding {
  line: number;
  rule: string;
  message: string;
}

/** Above this many parameters, one object says at the call site what each value means. */
const PARAMETER_LIMIT = 3;

/** Signatures we do not choose: the platform's callbacks and the documented methods of the agent class. */
const FIXED_SIGNATURES = new Set(["webSocketClose", "onClose", "schedule", "scheduleEvery"]);

/** Names under which unrelated things pile up. */
const DUMPING_GROUNDS = /^(utils?|helpers?|common|types?|misc)\.tsx?$/;

/** Names that exist in one major of the AI SDK only. */
const SDK_MAJOR_NAME = /(Model|Provider|Shared|Middleware)V\d/;
const SDK_FOLDERS = ["src/model/", "src/features/clients/ai-sdk/", "src/testing/model/"];

/** Where casts through `unknown` may live, each with its reason. */
const CAST_FOLDERS = ["src/host/", "src/model/", "src/features/clients/ai-sdk/"];

/** Records that one file writes, so that what must happen with them happens once: an outcome is settled in one place. */
const ONE_WRITER: ReadonlyMap<string, string> = new Map([["turn-settled", "src/turn/settle.ts"]]);

/** A syntax tree node. The parser's own types name two hundred kinds; the rules look at a dozen fields. */
interface Node {
  type: string;
  start: number;
  [field: string]: unknown;
}

type Report = (node: Node, rule: string, message: string) => void;

/** `path` is relative to the repository, with forward slashes. */
export function lintSource(path: string, text: string): Finding[] {
  const findings: Finding[] = [];
  const report = reportTo(findings, text);
  const program = parse(path, text);
  // The columns of a table test arrive as parameters.
  const hasTableRows = isTest(path);
  checkFileName(path, program, report);
  if (path.endsWith("/index.ts") || path === "src/index.ts") checkIndex(program, report);
  visit(program, undefined, (node, parent) => {
    const use = importUse(node);
    const breach = use && checkImport(path, use);
    if (breach) report(node, breach.rule, breach.message);
    checkCast(path, node, report);
    checkSdkName(path, node, report);
    checkMemberName(node, report);
    checkEffect(node, report);
    if (!isTest(path)) checkWriter(path, node, report);
    if (!hasTableRows) checkParameters(node, parent, report);
  });
  return findings.sort((a, b) => a.line - b.line);
}

/** For pages outside of src/, where only the rule about effects holds. */
export function lintPage(path: string, text: string): Finding[] {
  const findings: Finding[] = [];
  visit(parse(path, text), undefined, (node) => checkEffect(node, reportTo(findings, text)));
  return findings;
}

function reportTo(findings: Finding[], text: string): Report {
  return (node, rule, message) => void findings.push({ line: lineAt(text, node.start), rule, message });
}

function parse(path: string, text: string): Node {
  const program: unknown = parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }, path);
  if (!isNode(program)) throw new Error(`The parser gave no tree for ${path}`);
  return program;
}

function visit(node: Node, parent: Node | undefined, look: (node: Node, parent: Node | undefined) => void): void {
  look(node, parent);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, node, look);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** What a node imports, if it does: static, re-exported, dynamic, or as `import("x").Type`. */
function importUse(node: Node): ImportUse | undefined {
  const specifier = textOf(node.source);
  if (specifier === undefined) return undefined;
  switch (node.type) {
    case "ImportDeclaration":
      return { specifier, typeOnly: node.importKind === "type" || everyNameIsType(node) };
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
      return { specifier, typeOnly: node.exportKind === "type" || everyNameIsType(node) };
    case "ImportExpression":
      return { specifier, typeOnly: false };
    case "TSImportType":
      return { specifier, typeOnly: true };
    default:
      return undefined;
  }
}

function everyNameIsType(node: Node): boolean {
  const names = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : [];
  return names.length > 0 && names.every((name) => name.importKind === "type" || name.exportKind === "type");
}

function textOf(node: unknown): string | undefined {
  return isNode(node) && typeof node.value === "string" ? node.value : undefined;
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && typeof node.name === "string" ? node.name : undefined;
}

function checkFileName(path: string, program: Node, report: Report): void {
  const file = path.slice(path.lastIndexOf("/") + 1);
  if (DUMPING_GROUNDS.test(file)) {
    report(program, "file-name", `"${file}" names no concept; name the file for the one thing it holds`);
  }
}

/** `type: "turn-settled"` in an object, wherever a record could be written. A comparison is none. */
function checkWriter(path: string, node: Node, report: Report): void {
  if (node.type !== "Property" || nameOf(node.key) !== "type") return;
  const value = isNode(node.value) && node.value.type === "TSAsExpression" ? node.value.expression : node.value;
  const record = textOf(value);
  const writer = record === undefined ? undefined : ONE_WRITER.get(record);
  if (writer !== undefined && path !== writer) {
    report(node, "one-writer", `only ${writer} writes "${record}"; call it`);
  }
}

function checkIndex(program: Node, report: Report): void {
  const statements = Array.isArray(program.body) ? program.body.filter(isNode) : [];
  const other = statements.find((statement) => !statement.type.startsWith("Export") || !isNode(statement.source));
  if (other) report(other, "index-reexports", "an index.ts holds `export … from` lines and nothing else");
}

function checkCast(path: string, node: Node, report: Report): void {
  if (
    node.type !== "TSAsExpression" ||
    !isNode(node.expression) ||
    CAST_FOLDERS.some((folder) => path.startsWith(folder))
  ) {
    return;
  }
  const inner = withoutParentheses(node.expression);
  if (
    inner.type === "TSAsExpression" &&
    isNode(inner.typeAnnotation) &&
    inner.typeAnnotation.type === "TSUnknownKeyword"
  ) {
    report(node, "cast-through-unknown", "`as unknown as` belongs to src/host and src/model; parse or narrow instead");
  }
}

function withoutParentheses(node: Node): Node {
  return node.type === "ParenthesizedExpression" && isNode(node.expression)
    ? withoutParentheses(node.expression)
    : node;
}

function checkSdkName(path: string, node: Node, report: Report): void {
  if (node.type !== "Identifier" || SDK_FOLDERS.some((folder) => path.startsWith(folder))) return;
  const name = nameOf(node) ?? "";
  if (SDK_MAJOR_NAME.test(name))
    report(node, "sdk-major", `"${name}" exists in one major of the AI SDK; only src/model knows majors`);
}

const EFFECTS = new Set(["useEffect", "useLayoutEffect", "useInsertionEffect"]);

/** What an effect returns is called by React as its clean-up: a browser that begins to return a Promise takes the page down. */
function checkEffect(node: Node, report: Report): void {
  if (node.type !== "CallExpression" || !Array.isArray(node.arguments)) return;
  const callee = isNode(node.callee) && node.callee.type === "MemberExpression" ? node.callee.property : node.callee;
  const effect: unknown = node.arguments[0];
  if (!EFFECTS.has(nameOf(callee) ?? "") || !isNode(effect)) return;
  if (effect.type === "ArrowFunctionExpression" && isNode(effect.body) && effect.body.type !== "BlockStatement") {
    report(effect, "effect-body", "an effect has braces, and returns its clean-up or nothing");
  }
}

const MEMBERS = new Set([
  "MethodDefinition",
  "PropertyDefinition",
  "AccessorProperty",
  "TSAbstractMethodDefinition",
  "TSAbstractPropertyDefinition",
  "TSMethodSignature",
  "TSPropertySignature"
]);

function checkMemberName(node: Node, report: Report): void {
  const key = MEMBERS.has(node.type) ? node.key : node.type === "TSParameterProperty" ? node.parameter : undefined;
  const name = nameOf(key) ?? textOf(key);
  if (name?.startsWith("_"))
    report(node, "underscore-member", `"${name}": use #private or a module, not an underscore`);
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

function checkParameters(node: Node, parent: Node | undefined, report: Report): void {
  if (!FUNCTIONS.has(node.type) || !Array.isArray(node.params)) return;
  const parameters = node.params.filter((parameter) => nameOf(parameter) !== "this");
  if (parameters.length <= PARAMETER_LIMIT || parent?.kind === "constructor") return;
  const name = nameOf(node.id) ?? nameOf(parent?.key) ?? nameOf(parent?.id);
  if (name !== undefined && FIXED_SIGNATURES.has(name)) return;
  const message = `${name ?? "this function"} takes ${parameters.length} parameters; above ${PARAMETER_LIMIT}, pass one object`;
  report(node, "max-params", message);
}
