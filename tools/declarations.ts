// What can be imported from the package, as declarations without comments, in an order that does not change by itself.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "rolldown/utils";

/** Where a name of a file of declarations leads. */
type Binding =
  | { readonly kind: "declared"; readonly file: string; readonly name: string }
  | { readonly kind: "imported"; readonly from: string; readonly name: string };

interface Declarations {
  /** By the name inside the file; an overloaded function has several statements. */
  readonly declared: ReadonlyMap<string, readonly Declaration[]>;
  readonly bound: ReadonlyMap<string, Binding>;
  /** By the name that others import. */
  readonly exported: ReadonlyMap<string, string>;
}

interface Declaration {
  readonly text: string;
  /** The names that it uses. */
  readonly names: readonly string[];
}

// The parser's own tree; only what is read here is named.
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** The text of each file of the report, by its name. */
export function apiReport(repository: string): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
    exports: Record<string, string | { types: string }>;
  };
  const entries = Object.entries(exports).flatMap(([subpath, target]) =>
    typeof target === "string" ? [] : [{ subpath, file: join(repository, target.types) }]
  );
  const files = new Files();
  const homes = new Map<string, string>();
  const report = new Map<string, string>();
  for (const { subpath, file } of entries) {
    const specifier = subpath.replace(".", "everthink");
    const parts = [...files.read(file).exported].toSorted(byName).map(([name, local]) => {
      const found = files.resolve(file, local);
      const id = found ? `${found.file}\0${found.name}` : undefined;
      const home = id === undefined ? undefined : homes.get(id);
      if (home !== undefined) return `export ${name}: see ${home}`;
      if (id !== undefined) homes.set(id, specifier);
      return found ? files.textOf(found) : `export ${name}: of another package`;
    });
    report.set(fileOf(specifier), `// ${specifier}\n\n${parts.join("\n\n")}\n`);
  }
  report.set("not-exported.api.txt", notExported(files, homes));
  return report;
}

const fileOf = (specifier: string): string => `${specifier.replaceAll("/", "-")}.api.txt`;

/** What exported declarations are made of, and cannot be imported by its name: a change of it is a change all the same. */
function notExported(files: Files, homes: ReadonlyMap<string, string>): string {
  const seen = new Set(homes.keys());
  const waiting = [...homes.keys()];
  const texts: [name: string, text: string][] = [];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const [file, name] = id.split("\0") as [string, string];
    for (const used of files.namesIn(file, name)) {
      const found = files.resolve(file, used);
      if (!found || seen.has(`${found.file}\0${found.name}`)) continue;
      seen.add(`${found.file}\0${found.name}`);
      waiting.push(`${found.file}\0${found.name}`);
      texts.push([found.name, files.textOf(found)]);
    }
  }
  const parts = texts.toSorted((one, other) => byName(one, other) || byName([one[1]], [other[1]]));
  return `// Used by what is exported, and not exported by name.\n\n${parts.map(([, text]) => text).join("\n\n")}\n`;
}

const byName = (one: readonly [string, ...unknown[]], other: readonly [string, ...unknown[]]): number =>
  one[0] < other[0] ? -1 : Number(one[0] > other[0]);

class Files {
  readonly #read = new Map<string, Declarations>();

  read(file: string): Declarations {
    const known = this.#read.get(file);
    if (known) return known;
    const declarations = declarationsOf(file);
    this.#read.set(file, declarations);
    return declarations;
  }

  /** Undefined: a name of another package or of the language. */
  resolve(file: string, name: string): { file: string; name: string } | undefined {
    const binding = this.read(file).bound.get(name);
    if (!binding) return undefined;
    if (binding.kind === "declared") return { file: binding.file, name: binding.name };
    if (!binding.from.startsWith(".")) return undefined;
    const source = join(dirname(file), binding.from.replace(/\.js$/, ".d.ts"));
    const local = this.read(source).exported.get(binding.name);
    return local === undefined ? undefined : this.resolve(source, local);
  }

  textOf({ file, name }: { file: string; name: string }): string {
    return (this.read(file).declared.get(name) ?? []).map(({ text }) => text).join("\n");
  }

  namesIn(file: string, name: string): string[] {
    return (this.read(file).declared.get(name) ?? []).flatMap(({ names }) => names);
  }
}

function declarationsOf(file: string): Declarations {
  const source = readFileSync(file, "utf8");
  const { program, comments, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message ?? "cannot be read"}`);
  const declared = new Map<string, Declaration[]>();
  const bound = new Map<string, Binding>();
  const exported = new Map<string, string>();
  const declare = (statement: Node): void => {
    for (const name of namesDeclared(statement)) {
      const declaration = { text: textOf(statement, source, comments), names: namesUsed(statement) };
      declared.set(name, [...(declared.get(name) ?? []), declaration]);
      bound.set(name, { kind: "declared", file, name });
    }
  };
  for (const statement of program.body as unknown as Node[]) {
    if (statement.type === "ImportDeclaration")
      for (const { imported, local } of statement["specifiers"] as { imported?: Named; local: Named }[])
        bound.set(nameOf(local), {
          kind: "imported",
          from: (statement["source"] as { value: string }).value,
          name: imported ? nameOf(imported) : "default"
        });
    else if (statement.type === "ExportNamedDeclaration") {
      for (const { exported: outside, local } of statement["specifiers"] as { exported: Named; local: Named }[])
        exported.set(nameOf(outside), nameOf(local));
      if (!statement["declaration"]) continue;
      const declaration = statement["declaration"] as Node;
      declare(declaration);
      for (const name of namesDeclared(declaration)) exported.set(name, name);
    } else declare(statement);
  }
  return { declared, bound, exported };
}

type Named = { readonly name: string } | { readonly value: string };
const nameOf = (named: Named): string => ("name" in named ? named.name : named.value);

function namesDeclared(statement: Node): string[] {
  const declared =
    statement.type === "VariableDeclaration" ? (statement["declarations"] as { id: Named }[]) : [statement];
  return (declared as { id?: Named }[]).flatMap(({ id }) => (id ? [nameOf(id)] : []));
}

/** Without comments and empty lines. Two files of the bundle can have one name twice, and then number it. */
function textOf({ start, end }: Node, source: string, comments: readonly { start: number; end: number }[]): string {
  let text = "";
  let at = start;
  for (const comment of comments) {
    if (comment.start < start || comment.end > end) continue;
    text += source.slice(at, comment.start);
    at = comment.end;
  }
  return (text + source.slice(at, end))
    .replaceAll(/\b(\w+)\$\d+\b/g, "$1")
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "")
    .join("\n");
}

/** All identifiers, names of members too: one that has the name of a type only makes the report longer. */
function namesUsed(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(namesUsed);
  if (typeof node !== "object" || node === null) return [];
  const { type, name } = node as { type?: unknown; name?: unknown };
  if (type === "Identifier" && typeof name === "string") return [name];
  return Object.entries(node).flatMap(([key, value]) => (key === "key" ? [] : namesUsed(value)));
}
