// Which tools a conversation has found, and which of them it has used last: a fold over the messages that the model is
// shown. Nothing else is kept, so a restart, another tab, another branch and another attempt come to the same set. Where
// messages are replaced by a summary, the summary carries what the fold would have said of them. Pure.
import { isToolPart, toolNameOf } from "../../model/index.ts";
import { isObject, parseJson } from "../../util/json.ts";
import { isCompactionMessage } from "../../session/session-message.ts";

/** As the model calls it; with a number behind it where the class has a tool of that name. */
export const SEARCH_TOOLS = "search_tools";
const SEARCH_NAME = /^search_tools(?:_\d+)?$/;

/** Whether a tool of this name may be what finds others. */
export function isSearchName(toolName: string): boolean {
  return SEARCH_NAME.test(toolName);
}

/** Names that a summary keeps: those that were used last. */
const MAX_KEPT_NAMES = 256;

export interface UsedTools {
  /** In the order in which they were found or first called. */
  readonly names: readonly string[];
  /** The same names; the one that was found or called last is the last. */
  readonly byLastUse: readonly string[];
}

export const NO_TOOLS: UsedTools = { names: [], byLastUse: [] };

/** Something that was done with tools. */
export type ToolUse =
  | { readonly kind: "called"; readonly name: string }
  | { readonly kind: "found"; readonly names: readonly string[] }
  /** What a summary says of the messages that it stands for. */
  | { readonly kind: "kept"; readonly tools: UsedTools };

/** A call, wherever it is read from. */
export interface ReadCall {
  readonly toolName: string;
  readonly output?: unknown;
}

type Message = { readonly id: string; readonly parts: readonly { readonly type: string }[] };

/** In the order of the messages. */
export function usesIn(messages: readonly Message[]): ToolUse[] {
  return messages.flatMap((message) => {
    const kept = isCompactionMessage(message) ? keptIn(message) : undefined;
    if (kept !== undefined) return [{ kind: "kept" as const, tools: kept }];
    return message.parts.flatMap((part) =>
      isToolPart(part) ? usesOfCall({ toolName: toolNameOf(part), output: part.output }) : []
    );
  });
}

/** A search that has not ended has found nothing. */
export function usesOfCall({ toolName, output }: ReadCall): ToolUse[] {
  if (!isSearchName(toolName)) return [{ kind: "called", name: toolName }, ...usesOfSkill(output)];
  const tools = isObject(output) && Array.isArray(output["tools"]) ? output["tools"] : [];
  const names = tools.flatMap((tool: unknown) =>
    isObject(tool) && typeof tool["name"] === "string" ? tool["name"] : []
  );
  return [{ kind: "found", names }];
}

/** Instructions of a skill begin with the tools that they are for: with them these are found. */
const SKILL = /^<skill_content [^\n]*>\n<skill_tools>([\w -]*)<\/skill_tools>\n/;

function usesOfSkill(output: unknown): ToolUse[] {
  const names = typeof output === "string" ? SKILL.exec(output)?.[1] : undefined;
  return names === undefined ? [] : [{ kind: "found", names: names.split(" ") }];
}

export function foldUses(before: UsedTools, uses: Iterable<ToolUse>): UsedTools {
  const names = new Set(before.names);
  const byLastUse = new Set(before.byLastUse);
  const use = (name: string) => {
    names.add(name);
    byLastUse.delete(name);
    byLastUse.add(name);
  };
  for (const one of uses) {
    if (one.kind === "called") use(one.name);
    else if (one.kind === "found") one.names.forEach(use);
    else {
      for (const name of one.tools.names) names.add(name);
      one.tools.byLastUse.forEach(use);
    }
  }
  return { names: [...names], byLastUse: [...byLastUse] };
}

/** The deferred tools that are offered, in the order in which they were found: the `maxActive` that were used last. */
export function activeTools(
  { names, byLastUse }: UsedTools,
  { isDeferred, maxActive }: { readonly isDeferred: (name: string) => boolean; readonly maxActive: number }
): string[] {
  const used = byLastUse.filter(isDeferred);
  const kept = new Set(used.slice(Math.max(0, used.length - maxActive)));
  return names.filter((name) => kept.has(name));
}

// ── In summaries ──

const NOTE = "Tools found so far: ";

/**
 * The last line of a summary that ends where `past` does; undefined: no search was made in the whole history, or no tool was
 * called. It says what all of the past comes to: to read some of that twice changes nothing.
 */
export function noteFor(past: readonly Message[], history: readonly Message[]): string | undefined {
  if (!usesIn(history).some(({ kind }) => kind !== "called")) return undefined;
  const { names: all, byLastUse } = foldUses(NO_TOOLS, usesIn(past));
  if (all.length === 0) return undefined;
  const kept = new Set(byLastUse.slice(-MAX_KEPT_NAMES));
  const names = all.filter((name) => kept.has(name));
  const lastUsed = byLastUse.filter((name) => kept.has(name)).map((name) => names.indexOf(name));
  return `${NOTE}${JSON.stringify({ names, lastUsed })}`;
}

/** The last one that it has: a model that wrote a summary may have copied the one of an earlier summary into it. */
function keptIn({ parts }: Message): UsedTools | undefined {
  const lines = parts.flatMap((part) => ("text" in part && typeof part.text === "string" ? part.text.split("\n") : []));
  const line = lines.findLast((one) => one.startsWith(NOTE));
  const read = line === undefined ? undefined : parseJson(line.slice(NOTE.length));
  const { names, lastUsed } = read?.ok && isObject(read.value) ? read.value : {};
  if (!isTexts(names) || !Array.isArray(lastUsed)) return undefined;
  const used = new Set(lastUsed.flatMap((index: unknown) => names[Number(index)] ?? []));
  const unused = names.filter((name) => !used.has(name));
  return { names: [...new Set(names)], byLastUse: [...new Set(unused), ...used] };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
