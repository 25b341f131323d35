// `everthink types`: writes the declarations of a project, or says whether they are stale.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeTypesFile } from "../../framework/project/types-file.ts";
import { CommandError, parseCommandLine, type CommandDefinition, type CliContext } from "../cli-context.ts";
import { loadProject, PROJECT_OPTIONS, rootOf } from "../load-project.ts";

const HELP = `everthink types [options] [-- flags for wrangler types]

Writes everthink.d.ts: the virtual modules, and the project's objects in Cloudflare.Env.

  --check                    writes nothing; exits with 1 if a file would change
  --dry-run                  writes nothing; says what would be written
  --types-file <file>        everthink.d.ts
  --all                      first runs "wrangler types" for the other bindings
  --wrangler-env-file <file> env.d.ts; where that goes
  --root <folder>            the project; the current folder without it
  --route-prefix <path>      /agents
`;

const OPTIONS = {
  ...PROJECT_OPTIONS,
  "types-file": { type: "string" },
  "wrangler-env-file": { type: "string" },
  all: { type: "boolean" },
  check: { type: "boolean" },
  "dry-run": { type: "boolean" }
} as const;

export const typesCommand: CommandDefinition = {
  name: "types",
  summary: "writes everthink.d.ts, or checks whether it is current",
  help: HELP,
  async run(args, context) {
    const end = args.indexOf("--");
    const own = end === -1 ? args : args.slice(0, end);
    const flags = end === -1 ? [] : args.slice(end + 1);
    const parsed = parseCommandLine(own, { options: OPTIONS, positionals: 0, name: "types" });
    const root = rootOf(parsed, context);
    const isDryRun = (parsed.flag("check") ?? false) || (parsed.flag("dry-run") ?? false);
    if (parsed.flag("all") && !isDryRun) {
      runWranglerTypes(root, wranglerTypesArguments(parsed.text("wrangler-env-file") ?? "env.d.ts", flags), context);
    }
    const typesFile = parsed.text("types-file");
    const project = await loadProject(parsed, context);
    const result = writeTypesFile(project, { isDryRun, ...(typesFile !== undefined && { typesFile }) });
    if (result.state === "foreign") {
      throw new CommandError(
        `${result.path} was not written by everthink, so it is left as it is.`,
        "Move it away, or choose another file with --types-file."
      );
    }
    if (result.state === "stale") {
      context.print(`${result.path} ${parsed.flag("check") ? "is stale. Run: everthink types" : "would be written"}`);
      return parsed.flag("check") ? 1 : 0;
    }
    context.print(`${result.path} ${result.state === "written" ? "written" : "is current"}`);
    return 0;
  }
};

/** The runtime's own types come from a package, unless the user asks for them. */
export function wranglerTypesArguments(file: string, flags: readonly string[]): string[] {
  const isGiven = flags.some((flag) => /^--(?:no-)?include-runtime(?:=|$)/.test(flag));
  return ["types", file, ...(isGiven ? [] : ["--include-runtime", "false"]), ...flags];
}

function runWranglerTypes(root: string, args: readonly string[], { note }: CliContext): void {
  const local = join(root, "node_modules", ".bin", "wrangler");
  const program = existsSync(local) ? local : "wrangler";
  note(`wrangler ${args.join(" ")} …`);
  const { status, error, stderr } = spawnSync(program, args, { cwd: root, encoding: "utf8" });
  if (error) throw new CommandError("wrangler cannot be run.", "Install it: npm install --save-dev wrangler");
  if (status !== 0) throw new CommandError(`wrangler types failed:\n${stderr.trim()}`);
}
