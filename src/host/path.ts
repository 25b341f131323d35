// Where an agent stands in its tree, and how that is written in a URL: /sub/{class}/{name}, repeated.
// Names are data: they are encoded once, decoded once, and never read as a path or a pattern.
import { decodePercent } from "../util/decode-percent.ts";
import { kebabCase } from "../util/kebab.ts";

export interface AgentPathStep {
  className: string;
  name: string;
}

/** Steps from the root down. */
export type AgentPath = AgentPathStep[];

/** The URL segment that introduces a child. */
export const SUB_PREFIX = "sub";

/** A text unique to the path; equal paths give equal keys. */
export function pathKey(path: AgentPath): string {
  return JSON.stringify(path.map(({ className, name }) => [className, name]));
}

export function parsePathKey(key: string): AgentPath {
  // Written by `pathKey` only.
  return (JSON.parse(key) as [string, string][]).map(([className, name]) => ({ className, name }));
}

/** The key prefix shared by every descendant of a path, itself excluded. */
export function descendantPrefix(path: AgentPath): string {
  return `${pathKey(path).slice(0, -1)},`;
}

export interface SubAgentMatch {
  className: string;
  name: string;
  /** What the child sees as its path; starts with "/". */
  remainingPath: string;
}

/**
 * Finds the first child addressed by a URL or path; undefined when there is none. `knownClasses` are the Worker's
 * exported class names.
 *
 * @example
 * parseSubAgentPath("/agents/team/a/sub/member/bob/files", { knownClasses: ["Member"] });
 * // { className: "Member", name: "bob", remainingPath: "/files" }
 */
export function parseSubAgentPath(
  url: string,
  options: { knownClasses: readonly string[] }
): SubAgentMatch | undefined {
  const bySegment = new Map(options.knownClasses.map((className) => [kebabCase(className), className]));
  const segments = pathSegments(url);
  for (let index = 0; index + 2 < segments.length; index++) {
    const className = bySegment.get(segments[index + 1] ?? "");
    const encodedName = segments[index + 2] ?? "";
    if (segments[index] !== SUB_PREFIX || className === undefined || encodedName === "") continue;
    const name = decodePercent(encodedName);
    if (name === undefined) continue;
    return { className, name, remainingPath: `/${segments.slice(index + 3).join("/")}` };
  }
  return undefined;
}

/** True when a path reads `/sub/{class}/{name}` where a child could be meant. A root that is itself named "sub" is not one. */
export function looksLikeSubAgentPath(url: string, ownName: string): boolean {
  const segments = pathSegments(url);
  const from = ownName === SUB_PREFIX ? segments.indexOf(SUB_PREFIX) + 1 : 0;
  return segments.some(
    (segment, index) => index >= from && segment === SUB_PREFIX && (segments[index + 2] ?? "") !== ""
  );
}

function pathSegments(url: string): string[] {
  const path = url.startsWith("/") ? (url.split(/[?#]/, 1)[0] ?? "/") : new URL(url).pathname;
  return path.slice(1).split("/");
}
