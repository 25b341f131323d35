// The modules of a script: the script itself and the files of its skill that it imports, each as JavaScript with checks
// that end a loop which does not yield. Imports are resolved here, so a script can import nothing but its skill's files.
import type { Program } from "acorn";
import type { IsolateModule } from "../../../sandbox/isolate.ts";
import { loadTransform } from "../../../sandbox/load-transform.ts";
import { loadSyntaxParser } from "../../../sandbox/parse-code.ts";
import {
  isSyntaxNode,
  SPIN_GUARD_MODULE,
  SPIN_GUARD_SOURCE,
  spinGuardOf,
  visitSyntax,
  withTextEdits,
  type SyntaxNode,
  type TextEdit
} from "../../../sandbox/spin-guard.ts";
import { errorMessage } from "../../../util/errors.ts";
import { SkillScriptError } from "../errors.ts";
import { extensionOf } from "../resource.ts";
import type { SkillResource } from "../skill.ts";
import { languageOf } from "./script.ts";

const MAX_MODULES = 100;

export interface ScriptModules {
  /** The name of the script's own module. */
  readonly entry: string;
  readonly modules: Readonly<Record<string, IsolateModule>>;
}

/** Makes the modules. Throws SkillScriptError with what the author of the skill must change. */
export async function scriptModules(path: string, resources: readonly SkillResource[]): Promise<ScriptModules> {
  const files = new Map(resources.flatMap((one) => (one.encoding === "base64" ? [] : [[one.path, one.content]])));
  const compiled = new Set(resources.flatMap((one) => (one.precompiled ? [one.path] : [])));
  const names = new Map<string, string>();
  const modules: Record<string, IsolateModule> = { [SPIN_GUARD_MODULE]: SPIN_GUARD_SOURCE };
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
    if (extensionOf(file) === ".json") modules[name] = { json: readJson(file, source) };
    else {
      const from = file;
      const resolve = (specifier: string) => `./${mount(resolvePath(files, from, specifier))}`;
      const isTyped = languageOf(extensionOf(file)) === "typescript" && !compiled.has(file);
      modules[name] = await guard(file, source, { resolve, isTyped, needsDefault: file === path });
    }
  }
  return { entry, modules };
}

interface ModuleOptions {
  /** Gives the name of the module that a specifier means. */
  readonly resolve: (specifier: string) => string;
  readonly isTyped: boolean;
  readonly needsDefault: boolean;
}

async function guard(file: string, source: string, options: ModuleOptions): Promise<string> {
  const { resolve, isTyped, needsDefault } = options;
  const text = (isTyped ? await stripTypes(file, source) : source).replace(/^#!/, "//");
  const program = await parse(file, text);
  if (needsDefault && !hasDefaultExport(program))
    throw new SkillScriptError(
      `${file} must have a function as its default export: export default function run(input, ctx) { … }`
    );
  const { importLine, edits } = spinGuardOf(text, program);
  visitSyntax(program, (node) => edits.push(...editSpecifiers(node, resolve)));
  return `${importLine}${withTextEdits(text, edits)}`;
}

/** Compiles TypeScript that was not compiled when the skill was built, such as scripts in R2. */
async function stripTypes(file: string, source: string): Promise<string> {
  const transform = await loadTransform();
  if (!transform)
    throw new SkillScriptError(`${file} must be compiled to a self-contained JavaScript module.`, {
      hint: "Install the package sucrase to run TypeScript as it is, or compile the script with `everthink skills build`."
    });
  try {
    const transforms: ("typescript" | "jsx")[] = file.endsWith(".tsx") ? ["typescript", "jsx"] : ["typescript"];
    return transform(source, { transforms, disableESTransforms: true }).code;
  } catch (error) {
    throw new SkillScriptError(`${file} cannot be read: ${errorMessage(error)}`);
  }
}

async function parse(file: string, text: string): Promise<Program> {
  const parser = await loadSyntaxParser();
  try {
    return parser.parse(text, { ecmaVersion: "latest", sourceType: "module", allowHashBang: true });
  } catch (error) {
    throw new SkillScriptError(`${file} cannot be read: ${errorMessage(error)}`);
  }
}

// ── Imports ──

/** Finds the path that an import of a file means. */
function resolvePath(files: ReadonlyMap<string, string>, from: string, specifier: string): string {
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

function editSpecifiers(node: SyntaxNode, resolve: (specifier: string) => string): TextEdit[] {
  if (!/^(Import|Export)/.test(node.type)) return [];
  const { source } = node;
  if (!isSyntaxNode(source) || source.type !== "Literal" || typeof source["value"] !== "string") return [];
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

function readJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SkillScriptError(`${file} is not JSON: ${errorMessage(error)}`);
  }
}
