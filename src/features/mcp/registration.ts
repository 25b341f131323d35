// Which row a server belongs to that is registered or added. A registration of the class replaces what the class registered
// under its id before. While the agent starts, the class has the last word about ids: what has one that it needs, or one too
// much like it, gets another and keeps its login. A call while the agent runs replaces nothing. Pure.
import type { ThinkError } from "../../util/errors.ts";
import { mcpErrors } from "./errors.ts";
import type { McpServerRecord } from "./server-record.ts";
import { canShareToolKeys } from "./tool-names.ts";

/** The class in its `onStart`, the class later on, or a call such as `addMcpServer`. */
export type RegisteredBy = "start" | "class" | "call";

export interface Registration {
  /** The id it asks for; undefined: any. */
  readonly id: string | undefined;
  /** The stored server of the same name and address. */
  readonly found: McpServerRecord | undefined;
  readonly by: RegisteredBy;
}

export interface Stored {
  readonly servers: readonly McpServerRecord[];
  /** Ids that the class has registered during this start. */
  readonly registered: ReadonlySet<string>;
}

export interface ServerPlace {
  /** The row that is used; undefined: a new one. */
  readonly row: McpServerRecord | undefined;
  /** The row was another server so far, or the same one by another name. */
  readonly isReplaced: boolean;
  /** Servers that get an id of their own instead of the one they have. */
  readonly moved: readonly McpServerRecord[];
}

/** Throws McpOptionsError where the id cannot be had. */
export function placeServer({ id, found, by }: Registration, { servers, registered }: Stored): ServerPlace {
  const keep: ServerPlace = { row: found, isReplaced: false, moved: [] };
  if (id === undefined) return keep;
  const others = servers.filter((server) => server.id !== found?.id);
  const mayMove = (server: McpServerRecord) => by === "start" && !registered.has(server.id);
  const rivals = others.filter((server) => server.id !== id && canShareToolKeys(server.id, id));
  const holder = others.find((server) => server.id === id);
  const isReplaced = holder !== undefined && !holder.options.isAdded && (by === "class" || mayMove(holder));
  if (holder !== undefined && !isReplaced && !mayMove(holder)) throw taken(id, by);
  const fixed = rivals.find((rival) => !mayMove(rival));
  if (fixed !== undefined) throw tooAlike(id, fixed.id);
  if (isReplaced) return { row: holder, isReplaced, moved: rivals };
  return { ...keep, moved: holder === undefined ? rivals : [holder, ...rivals] };
}

function taken(id: string, by: RegisteredBy): ThinkError {
  if (by === "start") return mcpErrors.McpOptionsError(`Two MCP servers are registered under the id "${id}".`);
  return mcpErrors.McpOptionsError(
    `The id "${id}" belongs to another MCP server.`,
    "Remove that one first, or choose another id. What onStart registers has the first right to its id."
  );
}

/** A server could otherwise list a tool under the name that the model has for another server's. */
function tooAlike(id: string, other: string): ThinkError {
  return mcpErrors.McpOptionsError(
    `The id "${id}" is too much like "${other}": their tools could have the same names.`
  );
}
