// The generated entry as one file that stands alone: what the virtual modules hold, with relative imports.
import { posix } from "node:path";
import type { ThinkManifest } from "../manifest/manifest.ts";
import { generateThinkAgentsModule, generateThinkEntry, type GenerateOptions } from "./code.ts";

export interface EjectOptions extends Pick<GenerateOptions, "authorize" | "messengers"> {
  /** Where it will be, relative to the root. */
  readonly file: string;
}

/** The module that may be `main` without the plugin. */
export function ejectThinkEntry(manifest: ThinkManifest, { file, ...options }: EjectOptions): string {
  const importOf = (path: string) => {
    const target = posix.relative(posix.dirname(file), path);
    return target.startsWith(".") ? target : `./${target}`;
  };
  const agents = typed(generateThinkAgentsModule(manifest, { importOf }), file);
  const entry = generateThinkEntry(manifest, { ...options, importOf, agentsModule: "" });
  // Both parts are in one file, so the entry need not import the classes.
  const rest = entry.split("\n").filter((line) => !line.endsWith('from "";'));
  const isImport = (line: string) => line.startsWith("import ");
  const lines = [...agents.split("\n"), ...rest];
  const imports = lines.filter(isImport);
  const body = lines.filter((line) => !isImport(line)).join("\n");
  const names = `import { createThinkWorkerEntry, thinkAgentClass } from "everthink/server-entry";`;
  const others = imports.filter((line) => !line.includes('"everthink/server-entry"'));
  return `${HEADER}\n${[names, ...others].join("\n")}\n${body.replace(/\n{3,}/g, "\n\n").trimEnd()}\n`;
}

/** In TypeScript the kinds of the agents are more than texts. */
function typed(agents: string, file: string): string {
  return /\.[cm]?tsx?$/.test(file)
    ? agents.replace(/(export const thinkAgentRegistry = [^]*\]);\n$/, "$1 as const;\n")
    : agents;
}

const HEADER = `// The Worker's entry, as everthink generates it from agents/. It is yours now: set "main" in the Wrangler file to it, and
// keep it in step with agents/ yourself. Classes need their bindings and migrations (everthink config --write).
`;
