import { expect, test } from "vitest";
import { placeServer, type RegisteredBy } from "./registration.ts";
import { storedOptions, type McpServerRecord } from "./server-record.ts";

function server(id: string, { isAdded = false } = {}): McpServerRecord {
  const kept = { callbackUrl: null, clientId: null, authUrl: null, session: null };
  const options = { ...storedOptions({}), ...(isAdded && { isAdded: true as const }) };
  return { id, name: id, url: `https://${id}.example/`, ...kept, options };
}

const OURS = server("docs");
const ADDED = server("docs", { isAdded: true });
const ALIKE = server("docs_v1");
const FOUND = server("abc");

type Expected = readonly [row: string | undefined, isReplaced: boolean, moved: readonly string[]] | RegExp;

const NEW: Expected = [undefined, false, []];
const TAKEN = /belongs to another/;
const ALIKE_ERROR = /too much like/;

interface Case {
  readonly title: string;
  readonly id?: string;
  readonly found?: McpServerRecord;
  readonly servers: readonly McpServerRecord[];
  readonly registered?: readonly string[];
  readonly expected: Record<RegisteredBy, Expected>;
}

const all = (expected: Expected) => ({ start: expected, class: expected, call: expected });

const CASES: readonly Case[] = [
  { title: "a new server without an id", servers: [OURS], expected: all(NEW) },
  { title: "a known server without an id", found: OURS, servers: [OURS], expected: all(["docs", false, []]) },
  { title: "a new server with a free id", id: "docs", servers: [FOUND], expected: all(NEW) },
  {
    title: "a known server under its id",
    id: "docs",
    found: OURS,
    servers: [OURS],
    expected: all(["docs", false, []])
  },
  {
    title: "a known server under a new id",
    id: "docs",
    found: FOUND,
    servers: [FOUND],
    expected: all(["abc", false, []])
  },
  {
    title: "an id that the class registered",
    id: "docs",
    servers: [OURS],
    expected: { start: ["docs", true, []], class: ["docs", true, []], call: TAKEN }
  },
  {
    title: "an id that the class registered, for a server known under another",
    id: "docs",
    found: FOUND,
    servers: [OURS, FOUND],
    expected: { start: ["docs", true, []], class: ["docs", true, []], call: TAKEN }
  },
  {
    title: "an id that a user took",
    id: "docs",
    servers: [ADDED],
    expected: { start: [undefined, false, ["docs"]], class: TAKEN, call: TAKEN }
  },
  {
    title: "an id that a user took, for a server known under another",
    id: "docs",
    found: FOUND,
    servers: [ADDED, FOUND],
    expected: { start: ["abc", false, ["docs"]], class: TAKEN, call: TAKEN }
  },
  {
    title: "an id too much like another",
    id: "docs",
    servers: [ALIKE],
    expected: { start: [undefined, false, ["docs_v1"]], class: ALIKE_ERROR, call: ALIKE_ERROR }
  },
  {
    title: "an id that the class registered, and another too much like it",
    id: "docs",
    servers: [OURS, ALIKE],
    expected: { start: ["docs", true, ["docs_v1"]], class: ALIKE_ERROR, call: TAKEN }
  },
  {
    title: "an id registered in this start",
    id: "docs",
    servers: [OURS],
    registered: ["docs"],
    expected: { start: /Two MCP servers/, class: ["docs", true, []], call: TAKEN }
  },
  {
    title: "an id too much like one registered in this start",
    id: "docs",
    servers: [ALIKE],
    registered: ["docs_v1"],
    expected: all(ALIKE_ERROR)
  }
];

test.each(CASES)("$title", ({ id, found, servers, registered = [], expected }) => {
  for (const by of ["start", "class", "call"] as const) {
    const place = () => {
      const stored = { servers, registered: new Set(registered) };
      const { row, isReplaced, moved } = placeServer({ id, found, by }, stored);
      return [row?.id, isReplaced, moved.map((one) => one.id)];
    };
    const outcome = expected[by];
    if (outcome instanceof RegExp) expect(place, by).toThrow(outcome);
    else expect(place(), by).toEqual(outcome);
  }
});
