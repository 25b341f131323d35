// Which agent a database is of, read from the file without the agent.
import type { AgentPath } from "../../host/path.ts";
import { isObject, parseJson } from "../../util/json.ts";
import { readObject, type ObjectDatabase } from "./object-files.ts";

export interface StoredIdentity {
  readonly name: string;
  /** Ancestors, root first; empty for a root. */
  readonly parentPath: AgentPath;
}

/** Undefined: the file is no agent's, is being written just now, or has the name in its log only. */
export function readAgentName(file: string): string | undefined {
  return readObject(file, "as it is", identityIn)?.name;
}

/** Undefined: it is no agent's, or one that is being destroyed. */
export function identityIn(database: ObjectDatabase): StoredIdentity | undefined {
  const row = database.prepare("SELECT * FROM cf_meta WHERE id = 1").get();
  const identity = typeof row?.["identity"] === "string" ? parseJson(row["identity"]) : undefined;
  if (!identity?.ok || !isObject(identity.value) || row?.["condemned"] === 1) return undefined;
  const { name, parentPath } = identity.value;
  if (typeof name !== "string") return undefined;
  // Written by the agent itself; a path that cannot be read is that of a root.
  return { name, parentPath: isPath(parentPath) ? parentPath : [] };
}

function isPath(value: unknown): value is AgentPath {
  const isStep = (step: unknown) =>
    isObject(step) && typeof step["className"] === "string" && typeof step["name"] === "string";
  return Array.isArray(value) && value.every(isStep);
}
