// Sums over a CPU profile of V8. Pure. Idle time is left out.

export interface Profile {
  nodes: readonly ProfileNode[];
  /** Node ids, one for each moment that was looked at. */
  samples: readonly number[];
  /** Microseconds before each of them. */
  timeDeltas: readonly number[];
}

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
  children?: readonly number[];
}

const IDLE = new Set(["(idle)", "(program)", "(root)"]);
const NATIVE = "(native)";

/** Milliseconds by package of node_modules, or by folder of src. `modules` says which file a line is from. */
export function timeByFolder(profile: Profile, modules: readonly string[]): Map<string, number> {
  return sum(profile, (node) => [folderOf(fileOf(node, modules))]);
}

export function timeByFunction(profile: Profile, modules: readonly string[]): Map<string, number> {
  return sum(profile, (node) => [nameOf(node, modules)]);
}

/** Each function with everything it calls; one that calls itself is counted once. */
export function timeWithin(profile: Profile, modules: readonly string[]): Map<string, number> {
  const callers = new Map(
    profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const))
  );
  return sum(profile, (node) => {
    const names = new Set<string>();
    for (let at: ProfileNode | undefined = node; at !== undefined; at = callers.get(at.id)) {
      if (!IDLE.has(at.callFrame.functionName)) names.add(nameOf(at, modules));
    }
    return names;
  });
}

export function heaviest(times: ReadonlyMap<string, number>, count: number): { what: string; ms: number }[] {
  return [...times]
    .map(([what, ms]) => ({ what, ms }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, count);
}

function sum(profile: Profile, keysOf: (node: ProfileNode) => Iterable<string>): Map<string, number> {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const times = new Map<string, number>();
  profile.samples.forEach((id, index) => {
    const node = nodes.get(id);
    if (node === undefined || IDLE.has(node.callFrame.functionName)) return;
    const ms = (profile.timeDeltas[index] ?? 0) / 1000;
    for (const key of keysOf(node)) times.set(key, (times.get(key) ?? 0) + ms);
  });
  return times;
}

function nameOf(node: ProfileNode, modules: readonly string[]): string {
  return `${node.callFrame.functionName || "(anonymous)"}  ${fileOf(node, modules)}`;
}

function fileOf({ callFrame }: ProfileNode, modules: readonly string[]): string {
  return callFrame.url === "" ? NATIVE : (modules[callFrame.lineNumber] ?? NATIVE);
}

function folderOf(file: string): string {
  const installed = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
  return installed ?? file.split("/").slice(0, 2).join("/");
}
