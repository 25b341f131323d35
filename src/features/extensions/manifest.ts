// What an extension says about itself, and what is checked of it before anything is loaded.
import { isObject } from "../../util/json.ts";
import { ExtensionError } from "./errors.ts";
import { checkPermissions, type ExtensionPermissions, type GrantedPermissions } from "./permissions.ts";

/** Moments of a turn that an extension can subscribe to. */
export const EXTENSION_HOOKS = [
  "beforeTurn",
  "beforeToolCall",
  "afterToolCall",
  "onStepFinish",
  /** The same moment under the name of AI SDK 7. */
  "onStepEnd",
  "onChunk"
] as const;

export type ExtensionHook = (typeof EXTENSION_HOOKS)[number];

/** A block of the system prompt that belongs to an extension; its label gets the extension's prefix. */
export interface ExtensionContext {
  readonly label: string;
  readonly description?: string;
  /**
   * `readonly`: the extension writes it. `writable`: the model too. `skill`, `searchable`: a collection that the source
   * serves with `context: { <label>: { get, load?, search?, set? } }`.
   */
  readonly type: "readonly" | "writable" | "skill" | "searchable";
  readonly maxTokens?: number;
}

export interface ExtensionManifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly permissions?: ExtensionPermissions;
  readonly context?: readonly ExtensionContext[];
  /** Those of the source's hooks that are called. Default: all. */
  readonly hooks?: readonly ExtensionHook[];
  /** "model": it was loaded by `load_extension`. */
  readonly origin?: "model";
}

/** An extension with everything that is checked. */
export interface CheckedManifest extends ExtensionManifest {
  readonly permissions: GrantedPermissions;
  readonly context: readonly ExtensionContext[];
}

export interface ExtensionInfo {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  /** Full names. */
  readonly tools: readonly string[];
  /** Full labels. */
  readonly contextLabels: readonly string[];
  readonly hooks: readonly ExtensionHook[];
  readonly permissions: GrantedPermissions;
  readonly status: "loaded" | "failed";
  /** Why it could not be loaded. */
  readonly error?: string;
}

const MAX_NAME_CHARS = 64;
const MAX_TEXT_CHARS = 1_000;
const MAX_BLOCKS = 20;
const LABEL = /^[A-Za-z0-9][\w-]{0,59}$/;
const BLOCK_TYPES: readonly unknown[] = ["readonly", "writable", "skill", "searchable"];

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
  const { name, version, description, permissions, origin, context, hooks } = manifest;
  if (typeof name !== "string" || name.length > MAX_NAME_CHARS)
    throw new ExtensionError(`The name of an extension has at most ${MAX_NAME_CHARS} characters.`);
  sanitizeName(name);
  if (typeof version !== "string" || version === "" || version.length > MAX_NAME_CHARS)
    throw new ExtensionError(`The extension "${name}" has no version.`);
  const text = typeof description === "string" ? description.slice(0, MAX_TEXT_CHARS) : undefined;
  return {
    name,
    version,
    description: text,
    origin: origin === "model" ? origin : undefined,
    permissions: checkPermissions(name, isObject(permissions) ? permissions : {}),
    context: checkBlocks(name, context),
    hooks: hooks !== undefined ? checkHooks(name, hooks) : undefined
  };
}

/** Labels as the session and the permissions know them. */
export function contextLabelsOf({ name, context }: CheckedManifest): string[] {
  const prefix = sanitizeName(name);
  return context.map(({ label }) => `${prefix}_${label}`);
}

function checkBlocks(name: string, given: unknown): ExtensionContext[] {
  const blocks: unknown[] = Array.isArray(given) ? given : [];
  if (blocks.length > MAX_BLOCKS)
    throw new ExtensionError(`The extension "${name}" has more than ${MAX_BLOCKS} context blocks.`);
  const checked = blocks.map((one): ExtensionContext => {
    const { label, description, type = "readonly", maxTokens } = isObject(one) ? one : {};
    if (typeof label !== "string" || !LABEL.test(label))
      throw new ExtensionError(`"${name}" has a context block without a label of letters, digits and underscores.`);
    if (!BLOCK_TYPES.includes(type))
      throw new ExtensionError(
        `The context block "${label}" of "${name}" must have a type: ${BLOCK_TYPES.join(", ")}.`
      );
    if (maxTokens !== undefined && !(typeof maxTokens === "number" && maxTokens > 0))
      throw new ExtensionError(`maxTokens of the context block "${label}" of "${name}" must be more than zero.`);
    return {
      label,
      // One of the list above.
      type: type as ExtensionContext["type"],
      description: typeof description === "string" ? description.slice(0, MAX_TEXT_CHARS) : undefined,
      maxTokens
    };
  });
  const labels = new Set(checked.map(({ label }) => label));
  if (labels.size < checked.length) throw new ExtensionError(`"${name}" has two context blocks of one label.`);
  return checked;
}

function checkHooks(name: string, given: unknown): ExtensionHook[] {
  const hooks: unknown[] = Array.isArray(given) ? given : [];
  const unknown = hooks.find((one) => !EXTENSION_HOOKS.some((known) => known === one));
  if (unknown !== undefined)
    throw new ExtensionError(`"${name}" subscribes to "${String(unknown)}"; there are ${EXTENSION_HOOKS.join(", ")}.`);
  return EXTENSION_HOOKS.filter((known) => hooks.includes(known));
}
