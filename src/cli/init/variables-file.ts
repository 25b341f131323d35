// .dev.vars: NAME=value lines for the Worker on this machine, for no other user of it. Lines that are there stay.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VARIABLES_FILE } from "../../framework/project/declared-variables.ts";
import { parseVariables } from "../../framework/serve/variables.ts";

/** A line that readers of such files read back as the value. The value has no line end and no apostrophe. */
export function variableLine(name: string, value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? `${name}=${value}` : `${name}='${value}'`;
}

/** The text with these values: a variable that it has gets its value there, others follow at the end. */
export function withVariableLines(text: string, values: ReadonlyMap<string, string>): string {
  const known = parseVariables(text);
  let result = text;
  const added: string[] = [];
  for (const [name, value] of values) {
    const line = variableLine(name, value);
    // Of two lines the last one counts: a value over several lines is left as it is.
    if (known.get(name)?.includes("\n") ?? true) added.push(line);
    // With a function: a value may have "$" in it.
    else result = result.replace(new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, "m"), () => line);
  }
  const start = result === "" || result.endsWith("\n") ? result : `${result}\n`;
  return added.length === 0 ? start : `${start}${added.join("\n")}\n`;
}

export function writeVariables(folder: string, values: ReadonlyMap<string, string>): void {
  if (values.size === 0) return;
  const path = join(folder, VARIABLES_FILE);
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  writeFileSync(path, withVariableLines(text, values), { mode: 0o600 });
}
