// The public surface, by name.
import { readFileSync } from "node:fs";
import { join } from "node:path";
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
