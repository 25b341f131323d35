// Reading a syntax tree of ESTree with TypeScript, whose parser is the project's own: nothing about a node is taken for
// granted.
import { isObject } from "../../util/json.ts";

export type Node = Record<string, unknown>;

/** The nodes in a field of a node. */
export function listOf(node: unknown, field: string): Node[] {
  const value = isObject(node) ? node[field] : undefined;
  return Array.isArray(value) ? (value as unknown[]).filter(isObject) : [];
}

/** Of an identifier; empty for anything else. */
export function identifierOf(node: unknown): string {
  return isObject(node) && typeof node["name"] === "string" ? node["name"] : "";
}

/** Of a literal. */
export function textIn(node: unknown): string | undefined {
  return isObject(node) && typeof node["value"] === "string" ? node["value"] : undefined;
}

/** The name of a class's member, none for a static or a computed one; of a constructor also the fields it declares. */
export function memberName(member: Node): string[] {
  if (member["static"] === true || member["computed"] === true) return [];
  const name = identifierOf(member["key"]) || (textIn(member["key"]) ?? "");
  const parameters = member["kind"] === "constructor" ? listOf(member["value"], "params") : [];
  const fields = parameters.flatMap(({ type, parameter }) =>
    type === "TSParameterProperty" && isObject(parameter)
      ? [identifierOf(parameter["type"] === "AssignmentPattern" ? parameter["left"] : parameter)]
      : []
  );
  return [name, ...fields].filter((one) => one !== "");
}
