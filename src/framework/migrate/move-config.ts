// Files of a project that are no modules and name the packages all the same: package.json, Wrangler's configuration and
// TypeScript's. Only those names change; comments, order and every other value stay. Pure.
import { applyEdits, modify, parse, type FormattingOptions, type ModificationOptions } from "jsonc-parser";
import { isObject } from "../../util/json.ts";
import { parseWranglerConfig } from "../config/read-wrangler.ts";
import type { SpecifierVerdict } from "./specifiers.ts";

const REPLACED = ["@cloudflare/think", "agents"];
const DEPENDENCY_FIELDS = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

/** `used`: what the modules below import afterwards. A package leaves when nothing imports it any more. */
export function moveManifest(before: string, used: readonly string[], version: string): string {
  const manifest: unknown = parse(before);
  if (!isObject(manifest)) return before;
  const isUsed = (name: string) => used.some((one) => one === name || one.startsWith(`${name}/`));
  const options = formOf(before);
  let after = before;
  for (const field of DEPENDENCY_FIELDS) {
    const listed = manifest[field];
    if (!isObject(listed)) continue;
    const replaced = REPLACED.filter((name) => name in listed);
    if (replaced.length === 0) continue;
    for (const name of replaced.filter((one) => !isUsed(one))) {
      after = applyEdits(after, modify(after, [field, name], undefined, options));
    }
    if ("everthink" in listed) continue;
    after = applyEdits(after, modify(after, [field, "everthink"], `^${version}`, options));
  }
  return after;
}

/** As the file is written: by its first indented line. A file of one line stays one line. */
function formOf(text: string): ModificationOptions {
  const [, eol, indentation] = /(\r?\n)([ \t]+)/.exec(text) ?? [];
  if (eol === undefined || indentation === undefined) return {};
  const formattingOptions: FormattingOptions = indentation.startsWith("\t")
    ? { insertSpaces: false, eol }
    : { insertSpaces: true, tabSize: indentation.length, eol };
  return { formattingOptions };
}

/** Only the virtual entry: everything else names data. A file that cannot be parsed stays as it is. */
export function moveWrangler(file: string, before: string): string {
  if (file.endsWith(".toml"))
    return before.replaceAll(/^(\s*main\s*=\s*["'])virtual:think\//gm, "$1virtual:everthink/");
  const { parsed: config } = parseWranglerConfig(file, before);
  if (config === undefined) return before;
  const environments = isObject(config.env) ? Object.keys(config.env) : [];
  const places = [["main"], ...environments.map((name) => ["env", name, "main"])];
  return places.reduce((text, path) => {
    const main = valueAt(config, path);
    const entry = typeof main === "string" ? /^virtual:think\/(.+)$/.exec(main)?.[1] : undefined;
    return entry === undefined ? text : applyEdits(text, modify(text, path, `virtual:everthink/${entry}`, {}));
  }, before);
}

/** `extends` and `compilerOptions.types` name modules. */
export function moveTypeScriptConfig(
  before: string,
  judge: (specifier: string) => SpecifierVerdict
): { after: string; imports: string[] } {
  const config: unknown = parse(before);
  const imports: string[] = [];
  let after = before;
  for (const path of [["extends"], ["compilerOptions", "types"]]) {
    const value = valueAt(config, path);
    const places: [(string | number)[], unknown][] = Array.isArray(value)
      ? value.map((one: unknown, index) => [[...path, index], one])
      : [[path, value]];
    for (const [place, specifier] of places) {
      if (typeof specifier !== "string") continue;
      const verdict = judge(specifier);
      imports.push(typeof verdict === "object" ? verdict.to : specifier);
      if (typeof verdict === "object") after = applyEdits(after, modify(after, place, verdict.to, {}));
    }
  }
  return { after, imports };
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), value);
}
