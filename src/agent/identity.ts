// The identity of an agent. A root is named by its platform id; a facet gets its name from its parent at every start.
// The name of the first start is kept in the boot row, for wakes on runtimes that do not repeat it.
import { createHash } from "node:crypto";
import type { Sql } from "../host/ports.ts";
import { isObject, parseJson } from "../util/json.ts";
import { agentErrors } from "./errors.ts";
import type { FacetIdentity } from "./tree/internal.ts";
import { pathKey, type AgentPath } from "../host/path.ts";

export interface Identity {
  readonly className: string;
  /** Throws when the object was addressed by a raw id. */
  readonly name: string;
  /** Ancestors, root first; empty for a root. */
  readonly parentPath: AgentPath;
  readonly selfPath: AgentPath;
  /** The path below the root; empty for the root itself. */
  readonly pathBelowRoot: AgentPath;
  readonly isFacet: boolean;
}

export interface IdentitySources {
  className: string;
  /** `ctx.id.name` */
  platformName: string | undefined;
  /** `ctx.props.everthink`, present in a facet. */
  facet: FacetIdentity | undefined;
  /** The identity column of the boot row. */
  stored: string | null;
}

export function resolveIdentity(sources: IdentitySources): Identity {
  const stored = readStored(sources.stored);
  const name = sources.facet?.name ?? stored?.name ?? sources.platformName;
  const parentPath = sources.facet?.parentPath ?? stored?.parentPath ?? [];
  return {
    className: sources.className,
    get name() {
      if (name === undefined) throw agentErrors.UnnamedAgentError(sources.className);
      return name;
    },
    parentPath,
    get selfPath() {
      return [...parentPath, { className: sources.className, name: this.name }];
    },
    get pathBelowRoot() {
      return this.selfPath.slice(1);
    },
    isFacet: parentPath.length > 0
  };
}

/** Where the original kept the name, for wakes on runtimes that do not repeat it. */
export function originalName(storage: { readonly kv?: { get(key: string): unknown } }): string | undefined {
  const name = storage.kv?.get("__ps_name");
  return typeof name === "string" ? name : undefined;
}

/** Writes the identity once, at the first start. */
export function storeIdentity(sql: Sql, identity: Identity, stored: string | null): void {
  if (stored !== null) return;
  sql.run(
    "UPDATE cf_meta SET identity = ? WHERE id = 1",
    JSON.stringify({ name: identity.name, parentPath: identity.parentPath })
  );
}

function readStored(stored: string | null): { name: string; parentPath: AgentPath } | undefined {
  const parsed = stored === null ? undefined : parseJson(stored);
  if (!parsed?.ok || !isObject(parsed.value)) return undefined;
  const { name, parentPath } = parsed.value;
  // Written by `storeIdentity` only; a damaged row falls back to what the platform says.
  return typeof name === "string" && Array.isArray(parentPath) ? { name, parentPath } : undefined;
}

/** The platform id; a facet shares its root's, so its own place in the tree is hashed in. */
export function sessionAffinityOf({ isFacet, pathBelowRoot }: Identity, platformId: string): string {
  if (!isFacet) return platformId;
  return createHash("sha256")
    .update(`${platformId}${pathKey(pathBelowRoot)}`)
    .digest("hex");
}
