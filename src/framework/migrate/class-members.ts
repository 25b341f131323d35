// The members of a class of this package with those it inherits, read off the package's declarations: through re-exports and
// the files that a build splits them into.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isObject } from "../../util/json.ts";
import { listOf, memberName, identifierOf, textIn, type Node } from "./syntax.ts";

type ParseModule = (code: string, language: string) => unknown;

/** Of the platform's base class. */
const DURABLE_OBJECT = ["ctx", "env", "fetch", "alarm", "webSocketMessage", "webSocketClose", "webSocketError"];
/** Of every object. */
const OBJECT = ["constructor", "toString", "hasOwnProperty", "valueOf"];

/** Undefined where they cannot all be found: then nothing can be said about a member. */
export function classMembers(file: string, name: string, parse: ParseModule): ReadonlySet<string> | undefined {
  if (!existsSync(file)) return undefined;
  const body = bodyOf(parse(readFileSync(file, "utf8"), "dts"));
  const declared = body.map(declarationOf).find((one) => one !== undefined && identifierOf(one["id"]) === name);
  if (declared?.["type"] === "ClassDeclaration") return withInherited(declared, { file, body, parse });
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

function withInherited(declared: Node, { file, body, parse }: Declarations): ReadonlySet<string> | undefined {
  const own = listOf(declared["body"], "body").flatMap(memberName);
  const base = declared["superClass"];
  if (!isObject(base)) return new Set([...own, ...OBJECT]);
  const name = identifierOf(base);
  if (isPlatform(importOf(body, name))) return new Set([...own, ...DURABLE_OBJECT, ...OBJECT]);
  const inherited = classMembers(file, name, parse);
  return inherited && new Set([...own, ...inherited]);
}

/** The package takes the platform's class from a module that each platform has its own of. */
function isPlatform(source: Source | undefined): boolean {
  return source?.name === "DurableObject" && source.from?.startsWith(".") === false;
}

function bodyOf(tree: unknown): Node[] {
  return isObject(tree) ? listOf(tree, "body") : [];
}

/** What a statement declares, exported or not. */
function declarationOf(statement: Node): Node | undefined {
  const exported = statement["declaration"];
  return isObject(exported) ? exported : statement;
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
