// A member put into the class of an agent, in the user's own file: nothing else of the file changes. The parser is the
// project's own. Pure.
import { listOf, memberName, type Node } from "../../framework/migrate/syntax.ts";
import type { ModuleParser } from "../../framework/manifest/module-exports.ts";
import { isObject } from "../../util/json.ts";

export interface AgentSource {
  readonly path: string;
  readonly text: string;
}

export interface AddedMember {
  /** A line without its end. */
  readonly import: string;
  readonly name: string;
  /** Lines of the whole member, not indented. */
  readonly member: readonly string[];
  /** Where the member is there already: a statement at its beginning. Absent: it is not touched then. */
  readonly statement?: string;
}

export type SourceChange =
  | { readonly state: "changed"; readonly text: string }
  /** The import is there: it was added before. */
  | { readonly state: "current" }
  /** In a sentence. */
  | { readonly state: "impossible"; readonly why: string };

export function addMember({ path, text }: AgentSource, added: AddedMember, parse: ModuleParser): SourceChange {
  if (text.includes(added.import)) return { state: "current" };
  const { program, errors } = parse(path, text);
  if (errors.length > 0) return { state: "impossible", why: `${path} cannot be read: ${errors[0]?.message}` };
  const body = classBodyOf(program.body);
  if (body === undefined) return { state: "impossible", why: `${path} has no class as its default export.` };
  const present = listOf(body, "body").find((member) => memberName(member).includes(added.name));
  const edit = present === undefined ? newMember(text, body, added) : atBeginning(text, present, added);
  if (edit === undefined) return { state: "impossible", why: `The class in ${path} has its own ${added.name}().` };
  const lastImport = program.body.findLast((node) => Reflect.get(node, "type") === "ImportDeclaration");
  const at = lastImport === undefined ? 0 : endOf(lastImport);
  const line = lastImport === undefined ? `${added.import}\n` : `\n${added.import}`;
  return {
    state: "changed",
    text: text.slice(0, at) + line + text.slice(at, edit.at) + edit.text + text.slice(edit.at)
  };
}

interface Edit {
  readonly at: number;
  readonly text: string;
}

function newMember(text: string, body: Node, { member }: AddedMember): Edit {
  const end = endOf(body) - 1;
  const isEmpty = listOf(body, "body").length === 0;
  const before = text.slice(0, end).trimEnd().length;
  const lines = member.map((line) => (line === "" ? "" : `  ${line}`)).join("\n");
  const isOnNewLine = text.slice(before, end).includes("\n");
  return { at: before, text: `${isEmpty ? "\n" : "\n\n"}${lines}${isOnNewLine ? "" : "\n"}` };
}

function atBeginning(text: string, member: Node, { statement }: AddedMember): Edit | undefined {
  const value = member["value"];
  const block = isObject(value) ? value["body"] : undefined;
  if (statement === undefined || !isObject(block)) return undefined;
  const at = startOf(block) + 1;
  return { at, text: `\n    ${statement}${text[at] === "\n" ? "" : "\n   "}` };
}

function classBodyOf(program: readonly object[]): Node | undefined {
  const nodes = program.filter(isObject);
  const exported = nodes.find(({ type }) => type === "ExportDefaultDeclaration");
  const declared = exported?.["declaration"];
  const classes = [
    ...(isObject(declared) ? [declared] : []),
    // Named, where the file has one class: `export class Support extends Think`.
    ...nodes.map((node) => (node["type"] === "ExportNamedDeclaration" ? node["declaration"] : node)).filter(isObject)
  ].filter(({ type }) => type === "ClassDeclaration" || type === "ClassExpression");
  const body = classes[0]?.["body"];
  return isObject(body) ? body : undefined;
}

const startOf = (node: object) => Number(Reflect.get(node, "start"));
const endOf = (node: object) => Number(Reflect.get(node, "end"));

/** Import paths of a module, for a relative one between two files of a project. */
export function importPath(from: string, to: string): string {
  const [start, end] = [from.split("/").slice(0, -1), to.split("/")];
  let shared = 0;
  while (shared < start.length && start[shared] === end[shared]) shared += 1;
  const up = "../".repeat(start.length - shared);
  return `${up === "" ? "./" : up}${end.slice(shared).join("/")}`;
}
