// What the question of load_extension says about the extension, as the card shows it. It comes over the wire, so its fields
// are looked at, not trusted. Pure.
import type { ToolPart } from "./tool-part.ts";

export interface ReviewLine {
  readonly kind: "same" | "added" | "removed" | "skipped";
  readonly text: string;
}

export interface ExtensionReviewWords {
  readonly tools: readonly string[];
  readonly permissions: readonly string[];
  /** Permissions that the version before did not have, and those that only it had. */
  readonly gained: readonly string[];
  readonly lost: readonly string[];
  /** The version before. */
  readonly replaced: string | undefined;
  /** Of the change, or of the whole source. */
  readonly lines: readonly ReviewLine[];
}

export function extensionReview(part: ToolPart): ExtensionReviewWords | undefined {
  const extension = field(part.approval?.descriptor, "extension");
  if (extension === undefined) return undefined;
  const replaces = field(extension, "replaces");
  const version = field(replaces, "version");
  const source = field(part.input, "source");
  const whole = String(source ?? "").split("\n");
  return {
    tools: texts(field(extension, "tools")),
    permissions: texts(field(extension, "permissions")),
    gained: texts(field(replaces, "addedPermissions")),
    lost: texts(field(replaces, "removedPermissions")),
    replaced: typeof version === "string" ? version : undefined,
    lines: replaces === undefined ? whole.map((text) => ({ kind: "same", text })) : changes(field(replaces, "changes"))
  };
}

function changes(value: unknown): ReviewLine[] {
  const lines: unknown[] = Array.isArray(value) ? value : [];
  return lines.map((line) => {
    const kind = field(line, "kind");
    const known = kind === "added" || kind === "removed" || kind === "skipped" ? kind : "same";
    return { kind: known, text: String(field(line, "text")) };
  });
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
