// What a human is shown who decides over an extension that the model wrote: what it may do, and what is new against the
// version that is loaded. It travels with the question, as the description of an action does.
import type { UIMessageChunk } from "ai";
import type { ExtensionManager } from "../manager.ts";
import type { CheckedManifest, ExtensionInfo } from "../manifest.ts";
import { describePermissions } from "../permissions.ts";
import type { Feature, TurnPart } from "../../../feature/feature.ts";
import type { TurnView } from "../../../turn/turn.ts";
import { isObject } from "../../../util/json.ts";
import { sourceDiff, type DiffLine } from "./source-diff.ts";

/** What a load would add. */
export interface ReviewedExtension {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly string[];
  readonly hooks: readonly string[];
  /** In words. */
  readonly permissions: readonly string[];
  /** The loaded version that it takes the place of. */
  readonly replaces?: {
    readonly version: string;
    readonly addedPermissions: readonly string[];
    readonly removedPermissions: readonly string[];
    readonly addedTools: readonly string[];
    readonly removedTools: readonly string[];
    readonly changes: readonly DiffLine[];
  };
}

/** The `approvalDescriptor` of a question of `load_extension`. The source is the call's input. */
export interface LoadExtensionApproval {
  readonly requestId: string;
  readonly toolCallId: string;
  readonly action: string;
  readonly summary: string;
  readonly input: object;
  readonly permissions: readonly string[];
  readonly kind: "approval-gated";
  readonly extension: ReviewedExtension;
}

export function reviewOf(
  manager: ExtensionManager,
  { manifest, source, info }: { manifest: CheckedManifest; source: string; info: ExtensionInfo }
): ReviewedExtension {
  const { name, version } = manifest;
  const permissions = describePermissions(manifest.permissions);
  const { tools, hooks } = info;
  const old = manager.list().find((one) => one.name === name && one.status === "loaded");
  if (!old) return { name, version, tools, hooks, permissions };
  const before = describePermissions(old.permissions);
  const replaces = {
    version: old.version,
    addedPermissions: without(permissions, before),
    removedPermissions: without(before, permissions),
    addedTools: without(tools, old.tools),
    removedTools: without(old.tools, tools),
    changes: sourceDiff(manager.getSource(name) ?? "", source)
  };
  return { name, version, tools, hooks, permissions, replaces };
}

/** Reviews of calls that were just asked about. */
export const REVIEWS: unique symbol = Symbol("everthink.extension-reviews");
export type Reviews = Map<string, ReviewedExtension>;

/** Joins with the first `load_extension` of a class: its questions carry what was reviewed. */
export function openLoadApprovals(): Feature {
  return { name: "extension-approvals", inTurn: (turn) => partIn(turn) };
}

function partIn({ requestId }: TurnView): TurnPart {
  let reviewed: Reviews[] = [];
  return {
    begin(_context, { tools }) {
      reviewed = Object.values(tools).flatMap((tool) => reviewsOf(tool) ?? []);
    },
    annotate(chunk) {
      if (chunk.type !== "tool-approval-request") return chunk;
      const reviews = reviewed.find((one) => one.has(chunk.toolCallId));
      const extension = reviews?.get(chunk.toolCallId);
      reviews?.delete(chunk.toolCallId);
      return extension ? described(chunk, extension, requestId) : chunk;
    }
  };
}

function described(
  chunk: Extract<UIMessageChunk, { type: "tool-approval-request" }>,
  extension: ReviewedExtension,
  requestId: string
): UIMessageChunk {
  const { name, version, permissions, replaces } = extension;
  const approvalDescriptor: LoadExtensionApproval = {
    requestId,
    toolCallId: chunk.toolCallId,
    action: "load_extension",
    summary: replaces
      ? `Replace the extension "${name}" ${replaces.version} by ${version}`
      : `Load the extension "${name}" ${version}`,
    input: { name, version },
    permissions,
    kind: "approval-gated",
    extension
  };
  return { ...chunk, ...{ approvalDescriptor } };
}

function reviewsOf(tool: unknown): Reviews | undefined {
  const reviews: unknown = isObject(tool) && REVIEWS in tool ? tool[REVIEWS] : undefined;
  // Only createExtensionTools puts something under this name.
  return reviews instanceof Map ? (reviews as Reviews) : undefined;
}

function without(list: readonly string[], others: readonly string[]): string[] {
  return list.filter((one) => !others.includes(one));
}
