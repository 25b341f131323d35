// The name of the agent whose database a file is, read from the file without the agent. Sub-agents have one, too.
import { pathToFileURL } from "node:url";
import { isObject, parseJson } from "../../util/json.ts";

/**
 * Undefined: the file is no agent's, is being written just now, or has the name in its log only. Read `as it is` nothing is
 * locked, and no log is opened or made: a server that has the file open does not notice.
 */
export function readAgentName(file: string, how: "as it is" | "with its log"): string | undefined {
  const url = pathToFileURL(file);
  if (how === "as it is") url.searchParams.set("immutable", "1");
  // Loaded here: Node says at once that its SQLite may change, which a command has silenced by now.
  const sqlite = process.getBuiltinModule("node:sqlite");
  try {
    const database = new sqlite.DatabaseSync(url, { readOnly: how === "as it is" });
    try {
      const row = database.prepare("SELECT identity FROM cf_meta WHERE id = 1").get();
      const identity = typeof row?.["identity"] === "string" ? parseJson(row["identity"]) : undefined;
      const name: unknown = identity?.ok && isObject(identity.value) ? identity.value["name"] : undefined;
      return typeof name === "string" ? name : undefined;
    } finally {
      database.close();
    }
  } catch {
    // No database of ours, or one in the middle of a write: it has no name that can be read.
    return undefined;
  }
}
