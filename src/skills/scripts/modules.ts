// The modules of a script: the script itself and the files of its skill that it imports, each as JavaScript with checks
// that end a loop which does not yield. Imports are resolved here, so a script can import nothing but its skill's files.
import { parse, type Program } from "acorn";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { SkillScriptError } from "../errors.ts";
import { extensionOf } from "../resource.ts";
import type { SkillResource } from "../skill.ts";
import { languageOf } from "./script.ts";
import { stripTypes } from "./strip-types.ts";

export const GUARD_MODULE = "guard.js";
const MAX_MODULES = 100;

export interface ScriptModules {
  /** Of the script itself. */
  readonly entry: string;
  readonly modules: Readonly<Record<string, { js: string } | { json: unknown }>>;
}

interface Insertion {
  readonly at: number;
  /** Characters that are taken out. */
  readonly length: number;
  readonly text: string;
}

/** Throws SkillScriptError with what the author of the skill must change. */
export async function scriptModules(path: string, resources: readonly SkillResource[]): Promise<ScriptModules> {
  const files = new Map(resources.flatMap((one) => (one.encoding === "base64" ? [] : [[one.path, one.content]])));
  const compiled = new Set(resources.flatMap((one) => (one.precompiled ? [one.path] : [])));
  const names = new Map<string, string>();
  const modules: Record<string, { js: string } | { json: unknown }> = {};
  const pending: string[] = [];
  const mount = (file: string): string => {
    const known = names.get(file);
    if (known !== undefined) return known;
    if (names.size >= MAX_MODULES) throw new SkillScriptError(`A script may have at most ${MAX_MODULES} modules.`);
    const name = `${names.size}-${file.replaceAll(/[^\w.-]/g, "_")}.js`;
    names.set(file, name);
    pending.push(file);
    return name;
  };
  const entry = mount(path);
  for (let file = pending.shift(); file !== undefined; file = pending.shift()) {
    const source = files.get(file) ?? "";
    const name = mount(file);
    if (extensionOf(file) === ".json") modules[name] = { json: parsedJson(file, source) };
    else {
      const from = file;
      const resolve = (specifier: string) => `./${mount(resolved(files, from, specifier))}`;
      const isTyped = languageOf(extensionOf(file)) === "typescript" && !compiled.has(file);
      modules[name] = { js: await guardedModule(file, source, { resolve, isTyped, needsDefault: file === path }) };
    }
  }
  return { entry, modules };
}

interface ModuleOptions {
  /** What a specifier becomes. */
  readonly resolve: (specifier: string) => string;
  readonly isTyped: boolean;
  readonly needsDefault: boolean;
}

async function guardedModule(file: string, source: string, options: ModuleOptions): Promise<string> {
  const { resolve, isTyped, needsDefault } = options;
  const text = (isTyped ? await stripTypes(file, source) : source).replace(/^#!/, "//");
  const program = parsed(file, text);
  if (needsDefault && !hasDefaultExport(program))
    throw new SkillScriptError(
      `${file} must have a function as its default export: export default function run(input, ctx) { … }`
    );
  let tick = "tick";
  while (text.includes(tick)) tick += "_";
  const insertions: Insertion[] = [];
  visit(program, (node) => {
    insertions.push(...specifierInsertions(node, resolve), ...guardInsertions(node, tick));
  });
  return `import { tick as ${tick} } from "./${GUARD_MODULE}";${withInsertions(text, insertions)}`;
}

function parsed(file: string, text: string): Program {
  try {
    return parse(text, { ecmaVersion: "latest", sourceType: "module", allowHashBang: true });
  } catch (error) {
    throw new SkillScriptError(`${file} cannot be read: ${errorMessage(error)}`);
  }
}

// ── Imports ──

/** The path that an import of a file means. */
function resolved(files: ReadonlyMap<string, string>, from: string, specifier: string): string {
  if (!specifier.startsWith("./") && !specifier.startsWith("../"))
    throw new SkillScriptError(`${from} imports "${specifier}", which is not a file of the skill.`, {
      hint: "Bundle the package into the script: the import everthink:skills and `everthink skills build` do."
    });
  const segments: string[] = from.split("/").slice(0, -1);
  for (const segment of specifier.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== ".") segments.push(segment);
  }
  const path = segments.join("/");
  const untyped = path.replace(/\.m?js$/, "");
  const candidates = [path, `${path}.ts`, `${path}.js`, `${path}.mjs`, `${path}/index.ts`, `${path}/index.js`];
  const found = [...candidates, `${untyped}.ts`, `${untyped}.tsx`].find((one) => files.has(one));
  if (found === undefined) throw new SkillScriptError(`${from} imports "${specifier}", which the skill does not have.`);
  return found;
}

function specifierInsertions(node: Node, resolve: (specifier: string) => string): Insertion[] {
  if (!/^(Import|Export)/.test(node.type)) return [];
  const { source } = node;
  if (!isNode(source) || source.type !== "Literal" || typeof source["value"] !== "string") return [];
  const { start, end, value } = source;
  return [{ at: start, length: end - start, text: JSON.stringify(resolve(value)) }];
}

function hasDefaultExport({ body }: Program): boolean {
  return body.some(
    (node) =>
      node.type === "ExportDefaultDeclaration" ||
      (node.type === "ExportNamedDeclaration" &&
        node.specifiers.some(({ exported }) => exported.type === "Identifier" && exported.name === "default"))
  );
}

// ── Checks ──

const LOOPS = ["ForStatement", "ForInStatement", "ForOfStatement", "WhileStatement", "DoWhileStatement"];

/** A check at the start of each round of a loop and of each function. */
function guardInsertions(node: Node, tick: string): Insertion[] {
  const { body } = node;
  const isLoop = LOOPS.includes(node.type);
  const isFunction = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
  if ((!isLoop && !isFunction) || !isNode(body)) return [];
  if (body.type === "BlockStatement") return [{ at: body.start + 1, length: 0, text: `${tick}();` }];
  const [open, close] = isLoop ? [`{${tick}();`, "}"] : [`(${tick}(),`, ")"];
  return [
    { at: body.start, length: 0, text: open },
    { at: body.end, length: 0, text: close }
  ];
}

function withInsertions(text: string, insertions: readonly Insertion[]): string {
  const pieces: string[] = [];
  let at = 0;
  // Sorting keeps the order of those at one place: what closes comes from the inside out, as `visit` goes.
  for (const one of insertions.toSorted((a, b) => a.at - b.at)) {
    pieces.push(text.slice(at, one.at), one.text);
    at = one.at + one.length;
  }
  return [...pieces, text.slice(at)].join("");
}

// ── The syntax tree ──

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return isObject(value) && typeof value["type"] === "string" && typeof value["start"] === "number";
}

/** Children first. */
function visit(value: unknown, found: (node: Node) => void): void {
  if (Array.isArray(value)) for (const one of value) visit(one, found);
  if (!isNode(value)) return;
  for (const [key, child] of Object.entries(value)) if (key !== "type") visit(child, found);
  found(value);
}

function parsedJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SkillScriptError(`${file} is not JSON: ${errorMessage(error)}`);
  }
}
