// How a path becomes an id, a class and its aliases. Generated class names are stored in users' migrations, so none of
// these rules may change.

const EXTENSION = /\.(?:ts|tsx|js|mjs)$/;
/** Tests and declarations lie beside agents and are none. */
const NEVER_AN_AGENT = /\.d\.ts$|\.(?:test|spec)\.[^.]+$/;

/** A segment of an id: "codeReviewer" and "Code_Reviewer" are "code-reviewer". Empty when nothing usable is left. */
export function agentIdSegment(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1-$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1-$2")
    .replace(/[^A-Za-z\d]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .toLowerCase();
}

export function pascalCase(segment: string): string {
  return segment
    .split("-")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

export function generatedClassName(id: string): string {
  const segments = id.split("/");
  return [segments.length > 1 ? "ThinkSubAgent" : "ThinkAgent", ...segments.map(pascalCase)].join("_");
}

/** Whether a class name in a migration could be one of ours. */
export function looksGenerated(className: string): boolean {
  return /^ThinkAgent_[A-Za-z\d]+$/.test(className);
}

export function agentAliases(id: string, className: string): string[] {
  const last = id.split("/").at(-1) ?? id;
  return [...new Set([id, last, pascalCase(last), className])];
}

export interface ParsedAgentPath {
  /** Names below `agents/`, as written: ["support", "researcher"]. */
  readonly names: readonly string[];
}

/**
 * Reads `agents/support.ts`, `agents/support/agent.ts` and, below those, `…/agents/researcher.ts`; undefined for every
 * other file, which is a helper, a test, or no module.
 */
export function parseAgentPath(path: string): ParsedAgentPath | undefined {
  if (!isModulePath(path)) return undefined;
  const segments = path.replace(EXTENSION, "").split("/");
  const names: string[] = [];
  while (segments.length > 0) {
    if (segments.shift() !== "agents") return undefined;
    const name = segments.shift();
    if (name === undefined || isIgnoredName(name)) return undefined;
    names.push(name);
    if (segments.length === 1 && segments[0] === "agent") segments.pop();
    else if (segments.length === 0 && name === "index") return undefined;
  }
  return { names };
}

/** The folders on the way to a file that an agent should have: `agents/support`, `agents/support/agents/researcher`. */
export function agentFolders(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  const folders: string[] = [];
  for (let at = 0; segments[at] === "agents"; at += 2) {
    const name = segments[at + 1];
    if (name === undefined || isIgnoredName(name)) break;
    folders.push(segments.slice(0, at + 2).join("/"));
  }
  return folders;
}

/** Whether a file in a folder of modules is one: no helper, test or declaration. */
export function isModuleName(file: string): boolean {
  return isModulePath(file) && !isIgnoredName(file.replace(EXTENSION, ""));
}

function isModulePath(path: string): boolean {
  return EXTENSION.test(path) && !NEVER_AN_AGENT.test(path);
}

/** Names that the user reserves for files that are no agents. */
function isIgnoredName(name: string): boolean {
  return name.startsWith(".") || name.startsWith("_") || name === "index" || name === "";
}
