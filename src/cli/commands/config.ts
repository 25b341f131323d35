// `everthink config`: the Worker configuration the agents need, printed or written into the Wrangler file.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeWorkerConfig } from "../../framework/config/write-config.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { loadProject } from "../load-project.ts";

export async function runConfig(parsed: ParsedArguments, context: CliContext): Promise<number> {
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
