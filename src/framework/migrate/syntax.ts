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

/** Without parentheses and what TypeScript writes around a value: `(this as any)`, `this!`. */
export function unwrapped(node: unknown): unknown {
  let inner = node;
  while (isObject(inner) && WRAPPERS.has(String(inner["type"]))) inner = inner["expression"];
  return inner;
}

const WRAPPERS = new Set([
  ...["ParenthesizedExpression", "TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression", "TSTypeAssertion"],
  "ChainExpression"
]);

/** What a pattern takes out of an object by name: `{ a, b: c, d = 1 }`. */
export function takenNames(pattern: unknown): { name: string; start: number }[] {
  if (!isObject(pattern) || pattern["type"] !== "ObjectPattern") return [];
  return listOf(pattern, "properties").flatMap(({ type, key, computed }) => {
    const name = identifierOf(key) || (textIn(key) ?? "");
    const isNamed = type === "Property" && computed !== true && name !== "";
    return isNamed && isObject(key) ? [{ name, start: Number(key["start"]) }] : [];
  });
}

/** All nodes of a tree, without those below one that is left out. */
export function* nodesIn(tree: unknown, isLeftOut: (node: Node) => boolean = () => false): Generator<Node> {
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (Array.isArray(node)) waiting.push(...(node as unknown[]));
    if (Array.isArray(node) || !isObject(node) || isLeftOut(node)) continue;
    yield node;
    waiting.push(...Object.values(node));
  }
}
