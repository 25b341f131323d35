// `everthink doctor`: everything that can be wrong with a project, each with its mend. It changes nothing.
import type { CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { findingsOf, type Finding } from "../doctor/findings.ts";
import { readFacts } from "../doctor/read-facts.ts";

export async function runDoctor(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const findings = findingsOf(await readFacts(parsed, context, { isOffline: parsed.flag("offline") ?? false }));
  if (parsed.flag("json")) context.print(JSON.stringify(findings, null, 2));
  else for (const finding of findings) context.print(describeFinding(finding));
  return findings.some(({ level }) => level === "error") ? 1 : 0;
}

const WIDTH = "warning  ".length;

export function describeFinding({ level, text, mend }: Finding): string {
  const line = `${level.padEnd(WIDTH)}${text}`;
  return mend === undefined ? line : `${line}\n${" ".repeat(WIDTH)}${mend}`;
}
