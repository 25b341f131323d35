// What modules of this package export, and the members of its classes with those they inherit, read off the package's
// declarations: through re-exports and the files that a build splits them into.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isObject } from "../../util/json.ts";
import { listOf, memberName, identifierOf, textIn, type Node } from "./syntax.ts";

type ParseModule = (code: string, language: string) => unknown;

/** Of the platform's base class. */
const DURABLE_OBJECT = ["ctx", "env", "fetch", "alarm", "webSocketMessage", "webSocketClose", "webSocketError"];
/** Of every object. */
const OBJECT = ["constructor", "toString", "hasOwnProperty", "valueOf"];

/** Names that a module exports. Undefined for a file that is not there: the package is not built. */
export function exportedNames(file: string, parse: ParseModule): ReadonlySet<string> | undefined {
  if (!existsSync(file) || !statSync(file).isFile()) return undefined;
  return new Set(bodyOf(parse(readFileSync(file, "utf8"), "dts")).flatMap(namesOf));
}

function namesOf(statement: Node): string[] {
  if (statement["type"] === "ExportDefaultDeclaration") return ["default"];
  if (statement["type"] !== "ExportNamedDeclaration") return [];
  const { declaration } = statement;
  const exported = listOf(statement, "specifiers").map((one) => one["exported"]);
  // Of `export class A` and `export const a, b`.
  const several = listOf(declaration, "declarations");
  const declared = several.length > 0 ? several : isObject(declaration) ? [declaration] : [];
  return [...exported, ...declared.map((one) => one["id"])].map((one) => identifierOf(one) || (textIn(one) ?? ""));
}

/** The members of a class. Undefined where they cannot all be found: then nothing can be said about a member. */
export function classMembers(file: string, name: string, parse: ParseModule): ReadonlySet<string> | undefined {
  if (!existsSync(file)) return undefined;
  const body = bodyOf(parse(readFileSync(file, "utf8"), "dts"));
  const declared = body.map((statement) => declarationOf(statement, name)).filter((one) => one !== undefined);
  if (declared.length > 0) return membersOf(declared, { file, body, parse });
  const source = importOf(body, name) ?? exportOf(body, name);
  if (source === undefined) return undefined;
  if (source.from === undefined) return source.name === name ? undefined : classMembers(file, source.name, parse);
  return classMembers(fileOf(file, source.from), source.name, parse);
}

interface Declarations {
  readonly file: string;
  readonly body: readonly Node[];
  readonly parse: ParseModule;
}

/** Of a class and the interfaces that are merged into it, or of an interface. */
function membersOf(declared: readonly Node[], { file, body, parse }: Declarations): ReadonlySet<string> | undefined {
  const members = new Set([...declared.flatMap((one) => listOf(one["body"], "body").flatMap(memberName)), ...OBJECT]);
  for (const base of declared.flatMap(basesOf)) {
    const inherited = isPlatform(importOf(body, base)) ? DURABLE_OBJECT : classMembers(file, base, parse);
    if (!inherited) return undefined;
    for (const member of inherited) members.add(member);
  }
  return members;
}

/** Names of what a class or an interface extends. */
function basesOf(declared: Node): string[] {
  const base = declared["superClass"];
  const extended = listOf(declared, "extends").map((one) => identifierOf(one["expression"]));
  return isObject(base) ? [identifierOf(base), ...extended] : extended;
}

/** The package takes the platform's class from a module that each platform has its own of. */
function isPlatform(source: Source | undefined): boolean {
  return source?.name === "DurableObject" && source.from?.startsWith(".") === false;
}

function bodyOf(tree: unknown): Node[] {
  return isObject(tree) ? listOf(tree, "body") : [];
}

/** The class or interface of this name that a statement declares, exported or not. */
function declarationOf(statement: Node, name: string): Node | undefined {
  const exported = statement["declaration"];
  const declared = isObject(exported) ? exported : statement;
  const isType = declared["type"] === "ClassDeclaration" || declared["type"] === "TSInterfaceDeclaration";
  return isType && identifierOf(declared["id"]) === name ? declared : undefined;
}

interface Source {
  /** Undefined: the same file. */
  readonly from: string | undefined;
  readonly name: string;
}

function importOf(body: readonly Node[], name: string): Source | undefined {
  for (const statement of body) {
    if (statement["type"] !== "ImportDeclaration") continue;
    const found = listOf(statement, "specifiers").find((one) => identifierOf(one["local"]) === name);
    if (found) return { from: textIn(statement["source"]), name: identifierOf(found["imported"]) };
  }
  return undefined;
}

function exportOf(body: readonly Node[], name: string): Source | undefined {
  for (const statement of body) {
    if (statement["type"] !== "ExportNamedDeclaration") continue;
    const found = listOf(statement, "specifiers").find((one) => identifierOf(one["exported"]) === name);
    if (found) return { from: textIn(statement["source"]), name: identifierOf(found["local"]) };
  }
  return undefined;
}

function fileOf(file: string, specifier: string): string {
  return join(dirname(file), specifier.replace(/\.js$/, ".d.ts"));
}
