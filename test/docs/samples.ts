// The samples of the documentation, taken apart: the name of the file they stand in, what they import, and the code itself.
import { readdirSync, readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
/** Pages with packages that only the newest clients have are compiled where those are. */
const FOLDERS = ["test/docs/examples/", "test/clients/newest/connect/"];

export interface Sample {
  readonly page: string;
  readonly index: number;
  readonly code: string;
  /** From its first line, if that is a comment with the name of a file. */
  readonly file: string | undefined;
  readonly imports: readonly Import[];
  /** Without the name of the file, the imports, and the types that only the sample's own file declares. */
  readonly body: string;
}

export interface Import {
  readonly from: string;
  readonly names: readonly string[];
}

export interface Example {
  readonly text: string;
  readonly imports: readonly Import[];
}

export const read = (path: string) => readFileSync(new URL(path, root), "utf8");

export const pages: readonly string[] = [
  "README.md",
  ...readdirSync(new URL("docs/", root), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`)
];

export const examples: readonly Example[] = FOLDERS.flatMap((folder) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => read(folder + name))
    .map((text) => ({ text: squeeze(text), imports: importsOf(text) }))
);

export const samples: readonly Sample[] = pages.flatMap((page) =>
  [...read(page).matchAll(/```tsx?\n([\s\S]*?)```/g)].map((match, index) => {
    const code = match[1] ?? "";
    const file = /^\/\/ (\S+\.tsx?)\n/.exec(code)?.[1];
    const unnamed = code.replace(/^\/\/ \S+\.tsx?\n/, "");
    const body = unnamed
      .replace(/^(?:import [^;]*;\s*)+/, "")
      .replace(/^(?:(?:interface [^]*?^\}|type [^;]*;)\n+)+/m, "");
    return { page, index, code, file, imports: importsOf(code), body };
  })
);

/** Line breaks and indentation are the formatter's business. */
export function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Undefined: no example has this sample. */
export function exampleOf({ code, body, imports }: Sample): Example | undefined {
  return (
    examples.find(({ text }) => text.includes(squeeze(code))) ??
    examples.find((example) => example.text.includes(squeeze(body)) && imports.every((one) => isOf(one, example)))
  );
}

/** A sample may import from a file of its own what the example declares itself. */
function isOf({ from, names }: Import, { text, imports }: Example): boolean {
  const isDeclared = (name: string) => new RegExp(`\\b(?:class|function|const) ${name}\\b`).test(text);
  const isImported = (name: string) =>
    imports.some((one) => (one.from === from || from.startsWith(".")) && one.names.includes(name));
  return names.every((name) => isImported(name) || (from.startsWith(".") && isDeclared(name)));
}

/** What the sample uses of its example's imports, and does not import. */
export function missingImports(sample: Sample, example: Example): readonly string[] {
  const plain = sample.body
    .replaceAll(/\/\/.*$/gm, "")
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .replaceAll(/"[^"\n]*"/g, '""');
  const has = new Set(sample.imports.flatMap(({ names }) => names));
  return example.imports
    .flatMap(({ names }) => names)
    .filter((name) => new RegExp(`(?<![.\\w$])${name}\\b`).test(plain) && !has.has(name));
}

function importsOf(code: string): readonly Import[] {
  return [...code.matchAll(/^import (?:type )?(?:(\w+)(?:, )?)?(?:\{([^}]*)\})?(?: from )?"([^"]+)";/gm)].map(
    ([, whole, list = "", from = ""]) => ({
      from,
      names: [...list.split(","), whole ?? ""].map((name) => name.trim().replace(/^type |\w+ as /, "")).filter(Boolean)
    })
  );
}
