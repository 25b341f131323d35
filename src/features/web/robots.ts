// robots.txt as RFC 9309 reads it: of the groups for a robot, or else of those for all, the rule with the longest path that
// matches decides, and `allow` wins a tie. Pure.

interface Rule {
  readonly isAllowed: boolean;
  readonly path: string;
}

/** Rules that are read of one group; the RFC asks for what fits into 500 KiB. */
const MAX_RULES = 2_000;
const MAX_PATTERN_CHARS = 1_000;

/** Whether a robot may fetch a path with its query. */
export function isAllowedBy(robotsTxt: string, robot: string, path: string): boolean {
  let [isAllowed, length] = [true, -1];
  for (const rule of rulesFor(robotsTxt, robot.toLowerCase())) {
    if (rule.path.length < length || !matches(rule.path, path)) continue;
    if (rule.path.length > length || rule.isAllowed) [isAllowed, length] = [rule.isAllowed, rule.path.length];
  }
  return isAllowed;
}

function rulesFor(text: string, robot: string): Rule[] {
  const [own, others]: [Rule[], Rule[]] = [[], []];
  let [isOwnNamed, readsAgents] = [false, false];
  let groups: Rule[][] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, name = "", value = ""] = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line) ?? [];
    const field = name.toLowerCase();
    if (field === "user-agent") {
      // A line of agents behind rules begins the next group.
      if (!readsAgents) groups = [];
      readsAgents = true;
      const agent = value.trim().toLowerCase();
      if (agent === robot) [isOwnNamed, groups] = [true, [...groups, own]];
      if (agent === "*") groups = [...groups, others];
    } else if (field === "allow" || field === "disallow") {
      readsAgents = false;
      const path = value.trim().slice(0, MAX_PATTERN_CHARS);
      // What is left of a rule that is too long means more than the rule: a refusal may, a permission may not.
      if (path === "" || (field === "allow" && path.length === MAX_PATTERN_CHARS)) continue;
      for (const group of groups) if (group.length < MAX_RULES) group.push({ isAllowed: field === "allow", path });
    }
  }
  return isOwnNamed ? own : others;
}

/** `*` stands for any characters, and `$` at the end for the end. Linear: no pattern makes it slow. */
function matches(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith("$");
  const parts = (isWhole ? pattern.slice(0, -1) : pattern).split("*");
  const [head = "", ...rest] = parts;
  if (!path.startsWith(head)) return false;
  let at = head.length;
  for (const [index, part] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const found = isLast && isWhole ? path.length - part.length : path.indexOf(part, at);
    if (found < at || !path.startsWith(part, found)) return false;
    at = found + part.length;
  }
  return !isWhole || at === path.length;
}
