// Writes the declarations of a project. A file at their place that everthink did not write is never touched.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_TYPES_FILE, generateThinkTypes, isThinkGeneratedFile } from "../generate/declarations.ts";
import type { ThinkProject } from "./project.ts";

export interface TypesFileResult {
  /** Relative to the root. */
  readonly path: string;
  /** "foreign": another program's file is there, and stays. "stale": it would change, and nothing was to be written. */
  readonly state: "written" | "current" | "stale" | "foreign";
  readonly text: string;
}

export function writeTypesFile(
  { root, manifest, sources }: Pick<ThinkProject, "root" | "manifest" | "sources">,
  { typesFile = DEFAULT_TYPES_FILE, isDryRun = false }: { typesFile?: string; isDryRun?: boolean }
): TypesFileResult {
  const text = generateThinkTypes(manifest, { sources, typesFile });
  const file = join(root, typesFile);
  const present = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  if (present === text) return { path: typesFile, state: "current", text };
  if (present !== undefined && !isThinkGeneratedFile(present)) return { path: typesFile, state: "foreign", text };
  if (isDryRun) return { path: typesFile, state: "stale", text };
  writeFileSync(file, text);
  return { path: typesFile, state: "written", text };
}
