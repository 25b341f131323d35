// Which members a project's classes use of a base class that has none of the name. A class is looked at where its base is
// imported by name, or is another class of the file; what it declares or assigns itself is its own. Pure.
import { isObject } from "../../util/json.ts";
import { listOf, memberName, identifierOf, textIn, type Node } from "./syntax.ts";

export interface UnknownMember {
  readonly name: string;
  /** The class of this package that does not have it. */
  readonly base: string;
  readonly start: number;
}

/** Of a class that a module exports; undefined where they are not known. */
export type MembersOf = (specifier: string, className: string) => ReadonlySet<string> | undefined;

export function unknownMembers(tree: unknown, membersOf: MembersOf): UnknownMember[] {
  const nodes = [...nodesIn(tree)];
  const scope: Scope = { imported: importedNames(nodes), classes: classesByName(nodes), membersOf };
  // What an interface of the same name adds to a class is not looked for.
  const merged = new Set(
    nodes.flatMap((one) => (one["type"] === "TSInterfaceDeclaration" ? [identifierOf(one["id"])] : []))
  );
  return nodes
    .filter((node) => isClass(node) && !merged.has(identifierOf(node["id"])))
    .flatMap((node) => unknownIn(node, scope))
    .toSorted((one, other) => one.start - other.start);
}

interface Scope {
  readonly imported: ReadonlyMap<string, { readonly specifier: string; readonly name: string }>;
  readonly classes: ReadonlyMap<string, Node>;
  readonly membersOf: MembersOf;
}

interface Known {
  readonly base: string;
  readonly members: ReadonlySet<string>;
}

function unknownIn(node: Node, scope: Scope): UnknownMember[] {
  const known = knownMembers(node, scope, 0);
  if (known === undefined) return [];
  const used = usesOfThis(node);
  return used
    .filter(({ name }) => !known.members.has(name))
    .map(({ name, start }) => ({ name, start, base: known.base }));
}

/** Classes of one file that extend each other. */
const MAX_DEPTH = 10;

function knownMembers(node: Node, scope: Scope, depth: number): Known | undefined {
  const base = identifierOf(node["superClass"]);
  const local = scope.classes.get(base);
  const inherited = local && depth < MAX_DEPTH ? knownMembers(local, scope, depth + 1) : importedMembers(base, scope);
  if (inherited === undefined) return undefined;
  const own = [...listOf(node["body"], "body").flatMap(memberName), ...assignedIn(node)];
  return { base: inherited.base, members: new Set([...inherited.members, ...own]) };
}

function importedMembers(local: string, { imported, membersOf }: Scope): Known | undefined {
  const source = imported.get(local);
  const members = source && membersOf(source.specifier, source.name);
  return source && members && { base: source.name, members };
}

function importedNames(nodes: readonly Node[]): Scope["imported"] {
  const names = nodes.flatMap((node) => {
    const specifier = node["type"] === "ImportDeclaration" ? textIn(node["source"]) : undefined;
    if (specifier === undefined) return [];
    return listOf(node, "specifiers").map(
      (one) => [identifierOf(one["local"]), { specifier, name: identifierOf(one["imported"]) || "default" }] as const
    );
  });
  return new Map(names);
}

function classesByName(nodes: readonly Node[]): ReadonlyMap<string, Node> {
  return new Map(
    nodes.filter(isClass).flatMap((node) => (identifierOf(node["id"]) === "" ? [] : [[identifierOf(node["id"]), node]]))
  );
}

function isClass(node: Node): boolean {
  return node["type"] === "ClassDeclaration" || node["type"] === "ClassExpression";
}

/** `this.name = …` makes a member where there are no types. */
function assignedIn(node: Node): string[] {
  return [...thisNodes(node)].flatMap((one) => {
    const use = one["type"] === "AssignmentExpression" ? useOf(one["left"]) : undefined;
    return use === undefined ? [] : [use.name];
  });
}

function usesOfThis(node: Node): { name: string; start: number }[] {
  return [...thisNodes(node)].flatMap((one) => useOf(one) ?? []);
}

function useOf(node: unknown): { name: string; start: number } | undefined {
  if (!isObject(node) || node["type"] !== "MemberExpression" || node["computed"] === true) return undefined;
  const { object, property } = node;
  if (!isObject(object) || object["type"] !== "ThisExpression" || !isObject(property)) return undefined;
  // A private name is the class's own.
  return property["type"] === "Identifier"
    ? { name: identifierOf(property), start: Number(property["start"]) }
    : undefined;
}

/** Nodes inside of a class for which `this` is its instance. */
function* thisNodes(node: Node): Generator<Node> {
  for (const member of listOf(node["body"], "body")) {
    if (member["static"] === true || member["type"] === "StaticBlock") continue;
    const { value } = member;
    if (!isObject(value)) continue;
    const isFunction = value["type"] === "FunctionExpression" && member["type"] === "MethodDefinition";
    yield* nodesIn(isFunction ? [value["params"], value["body"]] : value, hasOwnThis);
  }
}

function hasOwnThis(node: Node): boolean {
  return isClass(node) || node["type"] === "FunctionExpression" || node["type"] === "FunctionDeclaration";
}

/** All nodes of a tree, without those below one that is left out. */
function* nodesIn(tree: unknown, isLeftOut: (node: Node) => boolean = () => false): Generator<Node> {
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (Array.isArray(node)) waiting.push(...(node as unknown[]));
    if (Array.isArray(node) || !isObject(node) || isLeftOut(node)) continue;
    yield node;
    waiting.push(...Object.values(node));
  }
}
