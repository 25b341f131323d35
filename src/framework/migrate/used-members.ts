// Which members a project's classes use, or override, of a base class that has none of the name. A class is looked at where
// its base is imported by name or in a namespace, or is another class of the file; what it declares or assigns itself is its
// own, but not what it asks of `super`. Pure.
import { isObject } from "../../util/json.ts";
import { listOf, memberName, identifierOf, nodesIn, takenNames, textIn, unwrapped, type Node } from "./syntax.ts";

export interface UnknownMember {
  readonly name: string;
  readonly how: "this" | "super" | "override";
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
  /** By local name; a namespace has no name of its own. */
  readonly imported: ReadonlyMap<string, { readonly specifier: string; readonly name: string | undefined }>;
  readonly classes: ReadonlyMap<string, Node>;
  readonly membersOf: MembersOf;
}

interface Known {
  readonly base: string;
  readonly members: ReadonlySet<string>;
}

function unknownIn(node: Node, scope: Scope): UnknownMember[] {
  const inherited = inheritedMembers(node, scope, 0);
  if (inherited === undefined) return [];
  const own = ownMembers(node);
  const uses = [...usesOfThis(node), ...overridesIn(node)];
  return uses
    .filter(({ name, how }) => !inherited.members.has(name) && (how !== "this" || !own.has(name)))
    .map((use) => ({ ...use, base: inherited.base }));
}

/** Classes of one file that extend each other. */
const MAX_DEPTH = 10;

function inheritedMembers(node: Node, scope: Scope, depth: number): Known | undefined {
  const base = identifierOf(node["superClass"]);
  const local = scope.classes.get(base);
  if (!local || depth >= MAX_DEPTH) return importedMembers(node["superClass"], scope);
  const inherited = inheritedMembers(local, scope, depth + 1);
  return inherited && { base: inherited.base, members: new Set([...inherited.members, ...ownMembers(local)]) };
}

function ownMembers(node: Node): ReadonlySet<string> {
  return new Set([...listOf(node["body"], "body").flatMap(memberName), ...assignedIn(node)]);
}

/** Of `Agent`, or of `ag.Agent` where `ag` is a namespace. */
function importedMembers(superClass: unknown, { imported, membersOf }: Scope): Known | undefined {
  const member = isObject(superClass) && superClass["type"] === "MemberExpression" ? superClass : undefined;
  const source = imported.get(identifierOf(member === undefined ? superClass : member["object"]));
  const name = member === undefined ? source?.name : identifierOf(member["property"]);
  if (source === undefined || name === undefined || (source.name === undefined) !== (member !== undefined)) return;
  const members = membersOf(source.specifier, name);
  return members && { base: name, members };
}

function importedNames(nodes: readonly Node[]): Scope["imported"] {
  const names = nodes.flatMap((node) => {
    const specifier = node["type"] === "ImportDeclaration" ? textIn(node["source"]) : undefined;
    if (specifier === undefined) return [];
    return listOf(node, "specifiers").map((one) => {
      const isNamespace = one["type"] === "ImportNamespaceSpecifier";
      const name = isNamespace ? undefined : identifierOf(one["imported"]) || "default";
      return [identifierOf(one["local"]), { specifier, name }] as const;
    });
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
    const uses = one["type"] === "AssignmentExpression" ? useOf(unwrapped(one["left"])) : [];
    return uses.flatMap(({ name, how }) => (how === "this" ? [name] : []));
  });
}

type Use = Omit<UnknownMember, "base">;

function usesOfThis(node: Node): Use[] {
  return [...thisNodes(node)].flatMap((one) => [...useOf(one), ...takenFromThis(one)]);
}

/** Of `this.name`, `this["name"]`, `(this as any).name` and `super.name`. */
function useOf(node: unknown): Use[] {
  if (!isObject(node) || node["type"] !== "MemberExpression" || !isObject(node["property"])) return [];
  const { property, computed } = node;
  const object = unwrapped(node["object"]);
  const type = isObject(object) ? object["type"] : undefined;
  if (type !== "ThisExpression" && type !== "Super") return [];
  // A private name is the class's own.
  const isName = property["type"] === "Identifier" && computed !== true;
  const name = isName ? identifierOf(property) : computed === true ? textIn(property) : undefined;
  const start = Number(property["start"]) + (isName ? 0 : 1);
  return name === undefined ? [] : [{ name, start, how: type === "Super" ? "super" : "this" }];
}

/** Of `const { name } = this`. */
function takenFromThis(node: Node): Use[] {
  const [pattern, value] =
    node["type"] === "VariableDeclarator"
      ? [node["id"], node["init"]]
      : node["type"] === "AssignmentExpression"
        ? [node["left"], node["right"]]
        : [];
  const object = unwrapped(value);
  const isThis = isObject(object) && object["type"] === "ThisExpression";
  return isThis ? takenNames(pattern).map((one) => ({ ...one, how: "this" as const })) : [];
}

/** Members that say that they override one: it is called by the base class, or it is called by nothing. */
function overridesIn(node: Node): Use[] {
  return listOf(node["body"], "body").flatMap((member) => {
    const [name] = member["override"] === true ? memberName(member) : [];
    const { key } = member;
    return name === undefined || !isObject(key)
      ? []
      : [{ name, start: Number(key["start"]), how: "override" as const }];
  });
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
