// `everthink migrate`: what moving a project to everthink changes in its files, and what becomes of its local data.
import { resolve } from "node:path";
import { parseCommandLine, type CommandDefinition } from "../cli-context.ts";

const HELP = `everthink migrate [folder] [options]

Moves a project from @cloudflare/think and agents to everthink. Without --write nothing is changed: it shows the difference,
what has no counterpart, and what would become of local data.

  folder            the project; without it this folder
  --write           makes the changes
  --dry-run         shows them only; the default
  --data <folder>   local data to try the take-over on, on copies; may be repeated. Without it .wrangler/state and .data
                    of the project, if they exist

Ends with 1 if something has no counterpart, or if an object would be refused.
`;

export const migrateCommand: CommandDefinition = {
  name: "migrate",
  summary: "moves a project and its data from @cloudflare/think and agents",
  help: HELP,
  async run(args, { cwd, print }) {
    const options = {
      write: { type: "boolean" },
      "dry-run": { type: "boolean" },
      data: { type: "string", multiple: true }
    } as const;
    const parsed = parseCommandLine(args, { options, positionals: 1, name: "migrate" });
    // Loaded when it is asked for: it brings what the take-over needs of every part of the package.
    const { migrate } = await import("../../framework/migrate/migrate.ts");
    const data = parsed.list("data").map((path) => resolve(cwd, path));
    const isWhole = await migrate({
      folder: resolve(cwd, parsed.positionals[0] ?? "."),
      isWritten: parsed.flag("write") === true && parsed.flag("dry-run") !== true,
      data: data.length === 0 ? undefined : data,
      print
    });
    return isWhole ? 0 : 1;
  }
};
