// Which room of src/ may import which, as data and one pure function. Imports point downward: a room sees the rooms of
// lower floors and its own, never a neighbour on its floor. That is what keeps features removable and the platform in
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

/** Lowest first; rooms in one row are neighbours. */
export const FLOORS: readonly (readonly string[])[] = [
  ["util"],
  ["observe"],
  ["host"],
  ["journal"],
  ["session", "model"],
  ["turn"],
  ["chat", "agent"],
  ["think"],
  [
    "actions",
    "submissions",
    "schedules",
    "workspace",
    "skills",
    "extensions",
    "execute",
    "mcp",
    "messengers",
    "subagents"
  ],
  ["framework", "client", "testing"]
];

/** Modules only some places may import. The first row that matches decides. */
const RESERVED: readonly { pattern: RegExp; rooms: readonly string[]; rule: string; why: string }[] = [
  {
    pattern: /^cloudflare:/,
    rooms: ["src/host/"],
    rule: "platform",
    why: "only src/host knows the platform; take a port"
  },
  {
    pattern: /^node:sqlite$/,
    rooms: ["src/host/inprocess/", "src/testing/"],
    rule: "node-only",
    why: "only the in-process host and the test kit run in Node"
  },
  {
    pattern: /^node:(child_process|cluster|fs|fs\/promises|worker_threads)$/,
    rooms: ["src/host/inprocess/", "src/testing/", "src/framework/"],
    rule: "node-only",
    why: "the package runs in workerd, which has no such thing to offer"
  },
  {
    pattern: /^(ai6|@ai-sdk\/provider|@ai-sdk\/provider-utils)(\/|$)/,
    rooms: ["src/model/", "src/testing/model/"],
    rule: "sdk-major",
    why: "only src/model knows which major of the AI SDK it is"
  },
  {
    pattern: /^(agents|@cloudflare\/think|@cloudflare\/ai-chat)(\/|$)/,
    rooms: [],
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
  // A test runs in Node whatever room it belongs to.
  if (row.rule === "node-only" && isTest(path)) return undefined;
  if (row.rooms.some((room) => path.startsWith(room))) return undefined;
  return { rule: row.rule, message: `"${use.specifier}": ${row.why}` };
}

function checkDirection(path: string, target: string, use: ImportUse): Breach | undefined {
  const from = roomOf(path);
  const to = roomOf(target);
  if (isTest(target) && !isTest(path)) return breach("only tests import what was written for tests");
  if (from === to) return undefined;
  if (to === undefined) return breach(`the root of src/ is for users; import the room itself`);
  // The root export gathers from every room.
  if (from === undefined) return floorOf(to) === undefined ? unknownRoom(to) : undefined;
  if (isTest(path) && to === "testing") return undefined;
  if (from === "client") return checkClient(target, to, use);
  const [floor, targetFloor] = [floorOf(from), floorOf(to)];
  if (floor === undefined) return unknownRoom(from);
  if (targetFloor === undefined) return unknownRoom(to);
  if (targetFloor < floor) return undefined;
  if (targetFloor === floor) return breach(`${from} and ${to} are neighbours and never import each other`);
  return breach(`${from} is below ${to} and must not know it`);
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

function unknownRoom(room: string): Breach {
  return { rule: "unknown-room", message: `src/${room} has no floor yet; add it to FLOORS in tools/lint-imports.ts` };
}

function roomOf(path: string): string | undefined {
  const [, room, ...rest] = path.split("/");
  return rest.length > 0 ? room : undefined;
}

function floorOf(room: string): number | undefined {
  const floor = FLOORS.findIndex((rooms) => rooms.includes(room));
  return floor < 0 ? undefined : floor;
}

/** A test, or what only tests beside it share (`x.test-support.ts`). */
export function isTest(path: string): boolean {
  return /\.test(-support)?\.tsx?$/.test(path);
}
