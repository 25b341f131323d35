// What a module of this package exports, read off its declarations.
import { existsSync, readFileSync, statSync } from "node:fs";
import { isObject } from "../../util/json.ts";

/** Undefined for a file that is not there: the package is not built. */
export function exportedNames(
  file: string,
  parseModule: (code: string, language: string) => unknown
): ReadonlySet<string> | undefined {
  if (!existsSync(file) || !statSync(file).isFile()) return undefined;
  const tree = parseModule(readFileSync(file, "utf8"), "dts");
  const body: unknown = isObject(tree) ? tree["body"] : undefined;
  return new Set((Array.isArray(body) ? body : []).flatMap(namesOf));
}

function namesOf(statement: unknown): string[] {
  if (!isObject(statement)) return [];
  if (statement["type"] === "ExportDefaultDeclaration") return ["default"];
  if (statement["type"] !== "ExportNamedDeclaration") return [];
  const specifiers: unknown[] = Array.isArray(statement["specifiers"]) ? statement["specifiers"] : [];
  return [...specifiers.map((one) => nameIn(one, "exported")), ...declaredNames(statement["declaration"])];
}

/** Of `export class A` and `export const a, b`. */
function declaredNames(declaration: unknown): string[] {
  if (!isObject(declaration)) return [];
  const several: unknown = declaration["declarations"];
  return (Array.isArray(several) ? several : [declaration]).map((one) => nameIn(one, "id"));
}

function nameIn(node: unknown, field: string): string {
  const identifier = isObject(node) ? node[field] : undefined;
  return isObject(identifier) ? String(identifier["name"] ?? identifier["value"]) : "";
}
