// `everthink eject`: the generated entry as a file of the user's own.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { ejectThinkEntry } from "../../framework/generate/eject.ts";
import { CommandError, parseCommandLine, type CommandDefinition } from "../cli-context.ts";
import { loadProject, PROJECT_OPTIONS } from "../load-project.ts";

const HELP = `everthink eject [file] [options]

Prints the code that everthink generates from agents/. With a file it is written there, to be the Worker's main module
without the plugin: set "main" in the Wrangler file to it, and run everthink config --write.

  --authorize <file>     as the plugin's option
  --root <folder>        the project; the current folder without it
  --route-prefix <path>  /agents
`;

const DEFAULT_FILE = "src/worker.ts";

export const ejectCommand: CommandDefinition = {
  name: "eject",
  summary: "prints the generated code, or writes it to a file",
  help: HELP,
  async run(args, context) {
    const options = { ...PROJECT_OPTIONS, authorize: { type: "string" } } as const;
    const parsed = parseCommandLine(args, { options, positionals: 1, name: "eject" });
    const project = await loadProject(parsed, context);
    const [target] = parsed.positionals;
    const file = relative(project.root, resolve(project.root, target ?? DEFAULT_FILE))
      .split(sep)
      .join("/");
    if (file.startsWith("..")) throw new CommandError(`${target} is outside of the project.`);
    const authorize = parsed.text("authorize");
    const code = ejectThinkEntry(project.manifest, { file, ...(authorize !== undefined && { authorize }) });
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
};
