// The licences of the packages whose code a bundle contains, as one text.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** `modules`: the absolute paths of what is bundled. Throws for a package that has no licence file. */
export function licencesOf(modules: readonly string[]): string {
  const folders = new Set(
    modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? [])
  );
  return [...folders]
    .map(licenceOf)
    .toSorted((one, other) => one.localeCompare(other, "en"))
    .join(`\n${"-".repeat(80)}\n\n`);
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} is bundled, and has no licence file.`);
  return `${name} ${version} (${license ?? "licence below"})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}
