// What an extension says about itself, and what is checked of it before anything is loaded.
import { isObject } from "../util/json.ts";
import { ExtensionError } from "./errors.ts";

/** What an extension may reach. Nothing by default. */
export interface ExtensionPermissions {
  /** Hosts it may send https requests to: a name, or `*.example.com`. */
  readonly network?: readonly string[];
  /** The files of the agent. */
  readonly workspace?: "none" | "read" | "read-write";
}

export interface ExtensionManifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly permissions?: ExtensionPermissions;
  /** "model": it was loaded by `load_extension`. */
  readonly origin?: "model";
}

/** An extension with everything that is checked. */
export interface CheckedManifest extends ExtensionManifest {
  readonly permissions: Required<ExtensionPermissions>;
}

export interface ExtensionInfo {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  /** Full names. */
  readonly tools: readonly string[];
  readonly permissions: Required<ExtensionPermissions>;
  readonly status: "loaded" | "failed";
  /** Why it could not be loaded again. */
  readonly error?: string;
}

const MAX_NAME_CHARS = 64;
const MAX_TEXT_CHARS = 1_000;
const MAX_HOSTS = 50;
const HOST = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/i;

/** `my-cool-ext` becomes `my_cool_ext`. Throws ExtensionError for a name of which nothing is left. */
export function sanitizeName(name: string): string {
  if (typeof name !== "string" || name.trim() === "")
    throw new ExtensionError("The name of an extension must not be empty.");
  const prefix = name
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replace(/^_/, "")
    .replace(/_$/, "");
  if (prefix === "") throw new ExtensionError(`"${name}" cannot be the name of an extension.`);
  return prefix;
}

/** Throws ExtensionError. */
export function checkManifest(manifest: unknown): CheckedManifest {
  if (!isObject(manifest)) throw new ExtensionError("The manifest of an extension must be an object.");
  const { name, version, description, permissions, origin } = manifest;
  if (typeof name !== "string" || name.length > MAX_NAME_CHARS)
    throw new ExtensionError(`The name of an extension has at most ${MAX_NAME_CHARS} characters.`);
  sanitizeName(name);
  if (typeof version !== "string" || version === "" || version.length > MAX_NAME_CHARS)
    throw new ExtensionError(`The extension "${name}" has no version.`);
  const text = typeof description === "string" ? description.slice(0, MAX_TEXT_CHARS) : undefined;
  return {
    name,
    version,
    ...(text !== undefined && { description: text }),
    ...(origin === "model" && { origin }),
    permissions: checkPermissions(name, isObject(permissions) ? permissions : {})
  };
}

function checkPermissions(
  name: string,
  { network, workspace = "none" }: Record<string, unknown>
): Required<ExtensionPermissions> {
  if (workspace !== "none" && workspace !== "read" && workspace !== "read-write")
    throw new ExtensionError(`The extension "${name}" asks for access to files that does not exist.`);
  const hosts: unknown[] = Array.isArray(network) ? network : [];
  if (hosts.length > MAX_HOSTS || !hosts.every((one) => typeof one === "string" && HOST.test(one)))
    throw new ExtensionError(
      `The extension "${name}" may name at most ${MAX_HOSTS} hosts, as names such as api.example.com.`
    );
  return { workspace, network: hosts.map((one) => String(one).toLowerCase()) };
}

/** What `asked` has beyond `ceiling`; undefined: nothing. */
export function beyondCeiling(
  asked: Required<ExtensionPermissions>,
  ceiling: Required<ExtensionPermissions>
): string | undefined {
  const levels = ["none", "read", "read-write"];
  if (levels.indexOf(asked.workspace) > levels.indexOf(ceiling.workspace))
    return `workspace access "${asked.workspace}" (at most "${ceiling.workspace}")`;
  const host = asked.network.find((one) => !ceiling.network.some((allowed) => covers(allowed, one)));
  return host === undefined ? undefined : `the host ${host}`;
}

/** Whether an entry of a list of hosts allows a name. */
export function covers(entry: string, host: string): boolean {
  if (entry === host) return true;
  return entry.startsWith("*.") && host.length > entry.length - 1 && host.endsWith(entry.slice(1));
}
