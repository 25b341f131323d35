// `npm run sizes`: writes the sizes of today into docs/core.md. Budgets are raised by hand, with a reason in the commit.
import { readFileSync, writeFileSync } from "node:fs";
import { bundleOf, CHAT_AGENTS, coreAgentWith, PLAIN_AGENT } from "./bundles.ts";

const page = new URL("../../docs/core.md", import.meta.url);
const KIB = 1024;
const core = (await bundleOf(CHAT_AGENTS.core)).sizeBytes;
const agents: Readonly<Record<string, string>> = { ...CHAT_AGENTS, agent: PLAIN_AGENT };

const lines: string[] = [];
for (const line of readFileSync(page, "utf8").split("\n")) {
  const [, agent] = /^\| `(\w+)` +\| +[\d,]+ KiB/.exec(line) ?? [];
  const [, subpath, name] = /^\| `everthink\/(core\/[\w-]+)` +\| `(\w+)` +\| +[\d,]+ KiB/.exec(line) ?? [];
  const code = agent === undefined ? undefined : agents[agent];
  if (code !== undefined) lines.push(withSize(line, (await bundleOf(code)).sizeBytes));
  else if (subpath !== undefined && name !== undefined) {
    lines.push(withSize(line, (await bundleOf(coreAgentWith(subpath, name))).sizeBytes - core));
  } else lines.push(line);
}
writeFileSync(page, lines.join("\n"));

function withSize(line: string, bytes: number): string {
  return line.replace(/[\d,]+ KiB/, `${Math.round(bytes / KIB).toLocaleString("en")} KiB`);
}
