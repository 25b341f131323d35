// Which folder of src/ may import which, as data and one pure function. Imports point downward: a folder sees the
// folders of lower layers and itself, never a neighbour in its layer. That keeps features removable and the platform in
// one place.
import { posix } from "node:path";

export interface ImportUse {
  specifier: string;
  /** Erased at build time, so it binds nothing at run time. */
  typeOnly: boolean;
}

export interface Breach {
  rule: string;
  message: string;
}

/**
 * What one capability is built on. All others know nothing of each other. `!` at the end: only its types, for what a class
 * that has both is asked by name.
 */
const BUILT_ON: Readonly<Record<string, readonly string[]>> = {
  "features/actions": ["features/approvals"],
  "features/browser": ["features/web", "features/execute!"],
  "features/budgets": ["features/approvals"],
  // The facets of its state may have been written by the packages that everthink replaces.
  "features/chat-sdk": ["features/schedules", "takeover"],
  "features/channels": ["features/approvals", "features/workspace"],
  "features/execute": ["features/approvals", "features/workspace", "features/mcp"],
  "features/extensions": ["features/actions!", "features/workspace!"],
  "features/inspection": [
    "features/agent-tools",
    "features/approvals",
    "features/budgets",
    "features/fibers",
    "features/mcp",
    "features/queue",
    "features/schedules",
    "features/steering",
    "features/submissions",
    "features/tasks",
    "features/workspace"
  ],
  "features/messengers": ["features/approvals", "features/channels", "features/chat-sdk"],
  "features/skills": ["features/workspace"],
  "features/tasks": ["features/schedules", "features/submissions"],
  // What is too long to show becomes a file, where the agent has files.
  "features/web": ["features/workspace!"],
  // A workflow's prompts are submissions, of whose ends it is notified.
  "features/workflows": ["features/approvals", "features/submissions", "features/actions!"]
};

/** Lowest first; modules in one row are neighbours. Every folder below features/ is a module of its own. */
export const LAYERS: readonly (readonly string[])[] = [
  ["util"],
  ["observe"],
  ["host"],
  ["sandbox"],
  ["journal", "work"],
  ["model"],
  ["session"],
  ["turn"],
  ["wire"],
  ["feature"],
  ["agent"],
  ["features"],
  ["takeover"],
  ["agent-class"],
  ["think"],
  ["core"],
  ["framework", "client", "testing"],
  ["cli"]
];

/** The only file of `think/` that sees capabilities. */
const LIST_OF_THINK = "src/think/capabilities.ts";

/** Files that name the class of users in their types, as the code of users does. */
const NAMES_THE_CLASS: readonly string[] = [
  "src/features/actions/descriptor.ts",
  "src/features/actions/descriptor.test.ts",
  "src/features/workflows/think-workflow.ts"
];

/** Modules only some folders may import. The first row that matches decides. */
const RESERVED: readonly { pattern: RegExp; folders: readonly string[]; rule: string; why: string }[] = [
  {
    pattern: /^cloudflare:/,
    folders: ["src/host/", "src/testing/inprocess/"],
    rule: "platform",
    why: "only src/host and the in-process host know the platform; take a port"
  },
  {
    pattern: /^node:sqlite$/,
    folders: ["src/testing/", "src/framework/migrate/", "src/framework/serve/", "src/framework/local-data/"],
    rule: "node-only",
    why: "only the test kit, its in-process host and commands that read local data run in Node"
  },
  {
    pattern: /^node:(child_process|cluster|fs|fs\/promises|worker_threads)$/,
    folders: ["src/testing/", "src/framework/", "src/cli/"],
    rule: "node-only",
    why: "the package runs in workerd, which has no such thing to offer"
  },
  {
    pattern: /^(ai6|@ai-sdk\/provider|@ai-sdk\/provider-utils)(\/|$)/,
    folders: ["src/model/", "src/features/clients/ai-sdk/", "src/testing/model/"],
    rule: "sdk-major",
    why: "only src/model knows which major of the AI SDK it is"
  },
  {
    pattern: /^(agents|@cloudflare\/think|@cloudflare\/ai-chat)(\/|$)/,
    folders: [],
    rule: "independent",
    why: "this package is an independent work; these are opponents in tests only"
  }
];

/** What is wrong with one import in the file at `path` (relative to the repository), if anything. */
export function checkImport(path: string, use: ImportUse): Breach | undefined {
  const reserved = RESERVED.find((row) => row.pattern.test(use.specifier));
  if (reserved) return checkReserved(path, use, reserved);
  if (!use.specifier.startsWith(".")) return undefined;
  const target = posix.normalize(posix.join(posix.dirname(path), use.specifier));
  if (!target.startsWith("src/")) {
    return { rule: "inside-src", message: `"${use.specifier}" leaves src/, which is all that is published` };
  }
  return checkDirection(path, target, use);
}

function checkReserved(path: string, use: ImportUse, row: (typeof RESERVED)[number]): Breach | undefined {
  // A test runs in Node whatever folder it belongs to.
  if (row.rule === "node-only" && isTest(path)) return undefined;
  if (row.folders.some((folder) => path.startsWith(folder))) return undefined;
  return { rule: row.rule, message: `"${use.specifier}": ${row.why}` };
}

function checkDirection(path: string, target: string, use: ImportUse): Breach | undefined {
  const from = folderOf(path);
  const to = folderOf(target);
  if (isTest(target) && !isTest(path)) return breach("only tests import what was written for tests");
  if (isMembers(target) && !use.typeOnly && path !== posix.join(posix.dirname(target), "capability.ts")) {
    return breach("members.ts is evaluated with its capability.ts only; import its types");
  }
  if (from === to) return undefined;
  if (to === undefined) return breach(`the root of src/ is for users; import the folder itself`);
  if (to === "testing") return isTest(path) ? undefined : breach("only tests import the test kit");
  // The root export gathers from every other folder.
  if (from === undefined) return layerOf(to) === undefined ? unknownFolder(to) : undefined;
  if (from === "client") return checkClient(target, to, use);
  const [layer, targetLayer] = [layerOf(from), layerOf(to)];
  if (layer === undefined) return unknownFolder(from);
  if (targetLayer === undefined) return unknownFolder(to);
  if (isBuiltOn(from, to, use)) return undefined;
  if (use.typeOnly && target === "src/think/think.ts" && NAMES_THE_CLASS.includes(path)) return undefined;
  if (from === "think" && to.startsWith("features/") && path !== LIST_OF_THINK)
    return breach("think knows a capability only in its list");
  if (targetLayer < layer) return undefined;
  if (targetLayer === layer) return breach(`${from} and ${to} are neighbours and never import each other`);
  return breach(`${from} is below ${to} and must not depend on it`);
}

/** The public names of a capability call it, and it installs them: evaluated first, they would find no capability. */
function isMembers(path: string): boolean {
  return /^src\/features\/[^/]+\/members\.ts$/.test(path);
}

function isBuiltOn(from: string, to: string, { typeOnly }: ImportUse): boolean {
  const below = BUILT_ON[from] ?? [];
  return below.includes(to) || (typeOnly && below.includes(`${to}!`));
}

const SHARED_FOLD: ReadonlySet<string> = new Set(["src/model/message-fold.ts", "src/model/tool-part.ts"]);

/** The client ships to browsers: it shares only plain functions and the shape of records with the server. */
function checkClient(target: string, to: string, use: ImportUse): Breach | undefined {
  if (to === "util") return undefined;
  if (target === "src/journal/records.ts" && use.typeOnly) return undefined;
  // Pure, and what the server stores is what it folds: a second fold would drift.
  if (SHARED_FOLD.has(target)) return undefined;
  return breach(`client may import util, the message fold and types from journal/records.ts, but not ${target}`);
}

function breach(message: string): Breach {
  return { rule: "direction", message };
}

function unknownFolder(folder: string): Breach {
  return { rule: "unknown-folder", message: `src/${folder} is in no layer; add it to LAYERS in tools/lint-imports.ts` };
}

function folderOf(path: string): string | undefined {
  const [, folder, capability, ...rest] = path.split("/");
  if (folder === "features" && rest.length > 0) return `features/${capability}`;
  return capability === undefined ? undefined : folder;
}

function layerOf(folder: string): number | undefined {
  const row = folder.startsWith("features/") ? "features" : folder;
  const layer = LAYERS.findIndex((folders) => folders.includes(row));
  return layer < 0 ? undefined : layer;
}

/** A test, or what only tests beside it share (`x.test-support.ts`). */
export function isTest(path: string): boolean {
  return /\.test(-support)?\.tsx?$/.test(path);
}
