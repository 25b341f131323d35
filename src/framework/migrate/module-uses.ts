// The names that a module takes from others without naming them in an import: members of a namespace (`import * as fw`), and
// what is taken out of `await import(…)`, `import(…).then(…)` and `require(…)`. Names of variables are followed through the
// file, not through scopes. Pure.
import { isObject } from "../../util/json.ts";
import { identifierOf, listOf, nodesIn, takenNames, unwrapped, type Node } from "./syntax.ts";

export interface ModuleUse {
  /** Where the literal that names the module begins. */
  readonly moduleStart: number;
  readonly name: string;
  readonly start: number;
}

export function moduleUses(tree: unknown): ModuleUse[] {
  const nodes = [...nodesIn(tree)];
  const holders = holdersIn(nodes);
  const moduleOf = (node: unknown): number | undefined => {
    const module = loadedModule(node);
    return module ?? holders.get(identifierOf(unwrapped(node)));
  };
  return nodes.flatMap((node) => usesIn(node, moduleOf)).toSorted((one, other) => one.start - other.start);
}

/** Variables that hold a whole module, with where its literal begins. */
export function holdersIn(nodes: readonly Node[]): ReadonlyMap<string, number> {
  return new Map(
    nodes.flatMap((node): (readonly [string, number])[] => {
      switch (node["type"]) {
        case "ImportDeclaration":
          return listOf(node, "specifiers")
            .filter((one) => one["type"] === "ImportNamespaceSpecifier")
            .map((one) => [identifierOf(one["local"]), startOf(node["source"])]);
        case "TSImportEqualsDeclaration":
          return isObject(node["moduleReference"]) && isObject(node["moduleReference"]["expression"])
            ? [[identifierOf(node["id"]), startOf(node["moduleReference"]["expression"])]]
            : [];
        case "VariableDeclarator":
          return holder(node["id"], loadedModule(node["init"]));
        case "CallExpression":
          return holder(callbackParameter(node), thenModule(node));
        default:
          return [];
      }
    })
  );
}

function holder(variable: unknown, module: number | undefined): [string, number][] {
  const name = identifierOf(variable);
  return name === "" || module === undefined ? [] : [[name, module]];
}

function usesIn(node: Node, moduleOf: (node: unknown) => number | undefined): ModuleUse[] {
  const named = (moduleStart: number | undefined, names: readonly { name: string; start: number }[]): ModuleUse[] =>
    moduleStart === undefined ? [] : names.map((one) => ({ moduleStart, ...one }));
  switch (node["type"]) {
    case "MemberExpression":
      return named(moduleOf(node["object"]), node["computed"] === true ? [] : [nameAt(node["property"])]);
    case "TSQualifiedName":
      return named(moduleOf(node["left"]), [nameAt(node["right"])]);
    case "VariableDeclarator":
      return named(moduleOf(node["init"]), takenNames(node["id"]));
    case "CallExpression":
      return named(thenModule(node), takenNames(callbackParameter(node)));
    default:
      return [];
  }
}

function nameAt(node: unknown): { name: string; start: number } {
  return { name: identifierOf(node), start: startOf(node) };
}

/** Of `await import("…")` and `require("…")`: where the literal begins. */
function loadedModule(node: unknown): number | undefined {
  const loaded = unwrapped(node);
  if (!isObject(loaded)) return undefined;
  if (loaded["type"] === "AwaitExpression") return importedModule(loaded["argument"]);
  const isRequire = loaded["type"] === "CallExpression" && identifierOf(loaded["callee"]) === "require";
  return isRequire ? startOf(listOf(loaded, "arguments")[0]) : undefined;
}

function importedModule(node: unknown): number | undefined {
  const imported = unwrapped(node);
  return isObject(imported) && imported["type"] === "ImportExpression" ? startOf(imported["source"]) : undefined;
}

/** Of `import("…").then(…)`. */
function thenModule({ callee }: Node): number | undefined {
  const isThen =
    isObject(callee) && callee["type"] === "MemberExpression" && identifierOf(callee["property"]) === "then";
  return isThen ? importedModule(callee["object"]) : undefined;
}

function callbackParameter(call: Node): Node | undefined {
  return listOf(listOf(call, "arguments")[0], "params")[0];
}

function startOf(node: unknown): number {
  return isObject(node) ? Number(node["start"]) : -1;
}
