// Variables of a project by name: .dev.vars.example lists those it knows, .dev.vars has their values on this machine. A
// development server takes a declared one from the shell too, and no other: what else is in the shell stays out of the Worker.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseVariables } from "../serve/variables.ts";

export const VARIABLES_FILE = ".dev.vars";
export const DECLARATIONS_FILE = ".dev.vars.example";

/** Empty where there is no such file. */
export function readVariables(root: string, file: string): Map<string, string> {
  const path = join(root, file);
  return existsSync(path) ? parseVariables(readFileSync(path, "utf8")) : new Map<string, string>();
}

/** Declared variables that the shell has and .dev.vars has not: the file is the project's own, and wins. */
export function shellVariables(
  root: string,
  environment: Readonly<Record<string, string | undefined>>
): Record<string, string> {
  const own = readVariables(root, VARIABLES_FILE);
  const declared = [...readVariables(root, DECLARATIONS_FILE).keys()].filter((name) => !own.has(name));
  const values = declared.map((name): [string, string] => [name, environment[name] ?? ""]);
  return Object.fromEntries(values.filter(([, value]) => value !== ""));
}
