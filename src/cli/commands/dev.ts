// `everthink dev`: the project's development server, which is Vite.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { CommandError, parseCommandLine, type CommandDefinition } from "../cli-context.ts";
import { PROJECT_OPTIONS, rootOf, viteConfigOf } from "../load-project.ts";

const HELP = `everthink dev [options] [-- flags for vite dev]

Runs the project with Vite: agents, Worker and page, reloaded as you edit. A new file below agents/ is taken up at once.
Press s and Enter for Studio, which looks inside the running agents.

  --port <number>   5173
  --host <address>  localhost
  --root <folder>   the project; the current folder without it
`;

export const devCommand: CommandDefinition = {
  name: "dev",
  summary: "runs the project with Vite, reloaded as you edit",
  help: HELP,
  async run(args, context) {
    const end = args.indexOf("--");
    const options = { ...PROJECT_OPTIONS, port: { type: "string" }, host: { type: "string" } } as const;
    const own = end === -1 ? args : args.slice(0, end);
    const parsed = parseCommandLine(own, { options, positionals: 0, name: "dev" });
    const root = rootOf(parsed, context);
    if (viteConfigOf(root) === undefined) {
      throw new CommandError("There is no vite.config.ts here.", "Make a project: everthink init");
    }
    const flags = ["port", "host"].flatMap((name) => {
      const value = parsed.text(name);
      return value === undefined ? [] : [`--${name}`, value];
    });
    const more = end === -1 ? [] : args.slice(end + 1);
    const child = spawn(process.execPath, [viteProgram(root), "dev", ...flags, ...more], {
      cwd: root,
      stdio: "inherit"
    });
    const stop = () => void child.kill("SIGTERM");
    context.signal.addEventListener("abort", stop, { once: true });
    const [code] = (await once(child, "close")) as [number | null];
    return context.signal.aborted ? 0 : (code ?? 1);
  }
};

function viteProgram(root: string): string {
  try {
    const manifest = createRequire(join(root, "package.json")).resolve("vite/package.json");
    return join(dirname(manifest), "bin", "vite.js");
  } catch {
    throw new CommandError("Vite is not installed in this project.", "Install it: npm install");
  }
}
