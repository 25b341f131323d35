// The public surface, by name.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";

const repository = fileURLToPath(new URL("../..", import.meta.url));

type Statement = ReturnType<typeof parseAst>["body"][number];
type Declaration = NonNullable<Extract<Statement, { type: "ExportNamedDeclaration" }>["declaration"]>;

interface Surface {
  values: string[];
  types: string[];
}

/** A change in this file is a change users see: it needs a line in CHANGELOG.md. */
const PINNED = JSON.parse(readFileSync(new URL("surface.json", import.meta.url), "utf8")) as Record<string, Surface>;

interface Manifest {
  exports: Record<string, string | { types: string; default: string }>;
}

const { exports } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as Manifest;
const subpaths = Object.entries(exports).flatMap(([subpath, target]) =>
  typeof target === "string" ? [] : [{ subpath, ...target }]
);

function exportedNames(file: string): string[] {
  const lang = file.endsWith(".d.ts") ? "dts" : "js";
  const { body } = parseAst(readFileSync(join(repository, file), "utf8"), { lang });
  return body.flatMap((statement) => {
    if (statement.type === "ExportAllDeclaration")
      throw new Error(`${file} has an export *: its names cannot be pinned`);
    if (statement.type !== "ExportNamedDeclaration") return [];
    const listed = statement.specifiers.map(({ exported }) => ("name" in exported ? exported.name : exported.value));
    return [...listed, ...declaredNames(statement.declaration)];
  });
}

/** The names of `export class A`, `export const a, b` and the like. */
function declaredNames(declaration: Declaration | null): string[] {
  if (!declaration) return [];
  const declared = declaration.type === "VariableDeclaration" ? declaration.declarations : [declaration];
  return declared.map((one) => {
    if ("id" in one && one.id && "name" in one.id && typeof one.id.name === "string") return one.id.name;
    throw new Error(`an exported ${one.type} has no plain name`);
  });
}

test("every subpath is pinned, and every pin has its subpath", () => {
  expect(subpaths.map(({ subpath }) => subpath)).toEqual(Object.keys(PINNED));
});

test.each(subpaths)("everthink $subpath exports exactly the pinned names", ({ subpath, types, default: code }) => {
  const values = exportedNames(code).sort();
  // An overloaded function is declared more than once.
  const all = [...new Set(exportedNames(types))].sort();
  expect({ values, types: all.filter((name) => !values.includes(name)) }).toEqual(PINNED[subpath]);
  // A value without a type could not be imported from TypeScript.
  expect(values.filter((name) => !all.includes(name))).toEqual([]);
});

interface Capability {
  readonly members: { readonly name: string } | undefined;
  readonly requires: readonly Capability[];
}

const isCapability = (value: unknown): value is Capability =>
  typeof value === "object" && value !== null && "requires" in value;

/** Its own, and those of what it is built on. */
const membersOf = ({ members, requires }: Capability): string[] => [
  ...(members ? [members.name] : []),
  ...requires.flatMap(membersOf)
];

// The compiler writes these types into the declarations of a class that has the capability.
test.each(subpaths.filter(({ subpath }) => subpath.startsWith("./core/")))(
  "everthink $subpath exports the types of all public names that its capabilities bring",
  async ({ types, default: code }) => {
    const values = Object.values((await import(join(repository, code))) as object);
    const brought = values.filter(isCapability).flatMap(membersOf);
    const exported = exportedNames(types);
    expect(values.some(isCapability)).toBe(true);
    expect(brought.filter((name) => !exported.includes(name))).toEqual([]);
  }
);

/** The packages that declarations import, with those of every file that they import. */
function packagesOf(file: string, found = new Map<string, string[]>()): Map<string, string[]> {
  if (found.has(file)) return found;
  const specifiers = [
    ...readFileSync(join(repository, file), "utf8").matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g)
  ].map(([, specifier]) => specifier!);
  found.set(
    file,
    specifiers.filter((specifier) => !/^[.#]/.test(specifier))
  );
  for (const specifier of specifiers.filter((one) => one.startsWith("."))) {
    packagesOf(join(dirname(file), specifier.replace(/\.js$/, ".d.ts")), found);
  }
  return found;
}

test("declarations of everthink/agent import no package: a plain Agent is type-checked without the AI SDK", () => {
  const found = packagesOf("dist/agent.d.ts");
  expect(found.size).toBeGreaterThan(5);
  expect([...found].filter(([, packages]) => packages.length > 0)).toEqual([]);
});
