// `everthink config`: the Worker configuration the agents need, printed or written into the Wrangler file.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeWorkerConfig } from "../../framework/config/write-config.ts";
import { CommandError, parseCommandLine, type CommandDefinition } from "../cli-context.ts";
import { loadProject, PROJECT_OPTIONS } from "../load-project.ts";

const HELP = `everthink config [--write] [options]

Prints the project's Worker configuration with the bindings and migrations of its agents. With --write it adds what is
missing to wrangler.jsonc (or .json), and keeps comments and everything that is there. "wrangler deploy" without Vite needs
the written form; vite.config.ts with cloudflare({ config: thinkWorkerConfig() }) does not.

  --write                writes the file
  --root <folder>        the project; the current folder without it
  --route-prefix <path>  /agents
`;

export const configCommand: CommandDefinition = {
  name: "config",
  summary: "prints the Worker configuration, or writes it into the Wrangler file",
  help: HELP,
  async run(args, context) {
    const options = { ...PROJECT_OPTIONS, write: { type: "boolean" } } as const;
    const parsed = parseCommandLine(args, { options, positionals: 0, name: "config" });
    const { root, workerConfig, wranglerConfig } = await loadProject(parsed, context);
    if (!parsed.flag("write")) {
      context.print(JSON.stringify(workerConfig, null, 2));
      return 0;
    }
    const { path = "wrangler.jsonc", text = "", parsed: user = {}, error } = wranglerConfig;
    if (error !== undefined) throw new CommandError(`${path} cannot be read: ${error}`);
    if (path.endsWith(".toml")) {
      const hint = "Move the configuration to wrangler.jsonc, or copy what this prints: everthink config";
      throw new CommandError("TOML files are read, and not written.", hint);
    }
    const written = writeWorkerConfig(text, user, workerConfig);
    if (written === text) {
      context.print(`${path} has everything.`);
      return 0;
    }
    writeFileSync(join(root, path), written);
    context.print(`${path} written.`);
    return 0;
  }
};
