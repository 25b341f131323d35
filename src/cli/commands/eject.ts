// `everthink eject`: the generated entry as a file of the user's own.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { ejectThinkEntry } from "../../framework/generate/eject.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { entryOptionsOf, loadProject, viteConfigOf } from "../load-project.ts";

const DEFAULT_FILE = "src/worker.ts";

export async function runEject(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const project = await loadProject(parsed, context);
  const [target] = parsed.positionals;
  const file = relative(project.root, resolve(project.root, target ?? DEFAULT_FILE))
    .split(sep)
    .join("/");
  if (file.startsWith(".."))
    throw new CommandError(`${target} is outside of the project.`, `Name a file below it, such as ${DEFAULT_FILE}.`);
  const { unread, ...configured } = entryOptionsOf(project.root);
  const given = parsed.text("authorize");
  const missing = unread.filter((option) => option !== "authorize" || given === undefined);
  if (missing.includes("authorize")) {
    // Without it the ejected Worker would let everyone in.
    throw new CommandError(
      `Which file authorizes requests cannot be read off ${viteConfigOf(project.root)}.`,
      "Name it: everthink eject --authorize <file>"
    );
  }
  if (missing.includes("messengers")) {
    context.note(
      `The messengers of ${viteConfigOf(project.root)} cannot be read off it: add them to createThinkWorkerEntry.`
    );
  }
  const authorize = (given ?? configured.authorize)?.replace(/^\.?\//, "");
  const code = ejectThinkEntry(project.manifest, {
    ...configured,
    file,
    authorize
  });
  if (target === undefined) {
    context.stream(code);
    return 0;
  }
  const path = join(project.root, file);
  if (existsSync(path)) throw new CommandError(`${file} exists, and is left as it is.`, "Name another file.");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, code);
  context.print(`${file} written. Set "main" in the Wrangler file to it, and run: everthink config --write`);
  return 0;
}
