// The section of the prompt that says which tools can be found: one line per group, with words of the names of its tools. It
// says nothing of what was found, so it stays the same from turn to turn. Pure.
import type { SkillTools, ToolGroup } from "../../feature/tool-discovery.ts";

export interface CatalogueTool {
  /** As its server or extension calls it, as far as that is known. */
  readonly name: string;
  readonly group: ToolGroup;
}

export interface CatalogueGroup extends ToolGroup {
  readonly tools: number;
  /** What its tools are about, by their names. */
  readonly topics: readonly string[];
}

/** Groups that have a line of their own; what is behind them is counted in one more line. */
const MAX_GROUPS = 100;
const MAX_TOPICS = 8;
const MAX_NAME_CHARS = 64;

/** Say what is done, not what it is done with. */
const VERBS = new Set(
  (
    "add all and append apply assign batch bulk by cancel check clear close complete copy count create current default " +
    "delete describe disable download edit enable export fetch find for from get import in info insert item items list " +
    "mark mcp me merge move my name new of off on open or order post put query read recent remove rename replace reset " +
    "resolve restore retry run save search send set show start status stop submit sync test the to toggle tool tools " +
    "track type unassign undo update upload upsert use validate verify view with write"
  ).split(" ")
);

/** In the order of their first tools. */
export function groupsOf(tools: readonly CatalogueTool[]): CatalogueGroup[] {
  const groups = new Map<string, { readonly group: ToolGroup; readonly names: string[] }>();
  for (const { name, group } of tools) {
    const key = `${group.kind} ${group.name}`;
    const known = groups.get(key);
    if (known) known.names.push(name);
    else groups.set(key, { group, names: [name] });
  }
  return [...groups.values()].map(({ group, names }) => ({
    kind: group.kind,
    name: group.name,
    tools: names.length,
    topics: topicsOf(names, group.name)
  }));
}

/** The most frequent first. Letters only: what stands here is a server's own word. */
function topicsOf(names: readonly string[], groupName: string): string[] {
  const own = new Set(wordsIn(groupName));
  const counts = new Map<string, number>();
  // What all names begin with, as the id of a server, says nothing of one of them.
  const [prefix = 0] = names.length > 1 ? [commonPrefix(names)] : [];
  for (const name of names) {
    for (const word of new Set(wordsIn(name.slice(prefix)))) {
      if (!VERBS.has(word) && !own.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  const ranked = [...counts].sort(([one, count], [other, otherCount]) => otherCount - count || (one < other ? -1 : 1));
  return ranked.slice(0, MAX_TOPICS).map(([word]) => word);
}

/** Up to the last sign between two words that all names share. */
function commonPrefix(names: readonly string[]): number {
  const [first = ""] = names;
  let length = 0;
  while (length < first.length && names.every((name) => name[length] === first[length])) length += 1;
  return Math.max(first.lastIndexOf("_", length - 1), first.lastIndexOf("-", length - 1)) + 1;
}

function wordsIn(name: string): string[] {
  return name
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word.length > 2 && word.length <= 20);
}

export interface Catalogue {
  readonly groups: readonly CatalogueGroup[];
  /** Those whose tools are deferred. */
  readonly skills: readonly SkillTools[];
}

/** `searchName`: what the tool is called that finds them. */
export function cataloguePrompt({ groups, skills }: Catalogue, searchName: string): string {
  const shown = groups.slice(0, MAX_GROUPS);
  const left = groups.slice(MAX_GROUPS);
  const lines = shown.map((group) => {
    const topics = group.topics.length > 0 ? ` (${group.topics.join(", ")})` : "";
    return `- ${titleOf(group)}: ${group.tools}${topics}`;
  });
  if (left.length > 0) lines.push(`- ${left.length} more: ${left.reduce((sum, { tools }) => sum + tools, 0)}`);
  for (const { name, tools } of skills.slice(0, MAX_GROUPS)) {
    lines.push(`- skill "${shownName(name)}": ${tools.length} of them, described once it is activated`);
  }
  return [
    `You have more tools than are described to you. Find them with ${searchName}, by what you want to do; what it finds you can call from your next step on.`,
    "Search before you say that you cannot do something. Where they come from, and how many there are:",
    ...lines
  ].join("\n");
}

export function titleOf({ kind, name }: ToolGroup): string {
  if (kind === "tools") return "this agent";
  if (kind === "actions") return "actions of this agent";
  return kind === "server" ? `MCP server "${shownName(name)}"` : `extension "${shownName(name)}"`;
}

function shownName(name: string): string {
  return name.replaceAll(/\s+/g, " ").slice(0, MAX_NAME_CHARS);
}
