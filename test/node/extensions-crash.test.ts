// Killed at any write while an extension is loaded, replaced or unloaded: afterwards it is there as before or as after, whole,
// and its context block with it.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { everyCrash } from "../../src/testing/index.ts";
import { agentOf, Extended, open, type Host } from "./extensions-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const source = (answer: string) => `({ tools: {
  answer: { execute: () => "${answer}" },
  note: { execute: (args, host) => host.setContext("x_notes", "noted") }
} })`;
const manifest = (version: string) => ({
  name: "x",
  version,
  context: [{ label: "notes", type: "readonly" as const }],
  permissions: { context: { write: "own" as const, read: ["x_notes"] } }
});
const context = (host: Host) =>
  host.sql<{ label: string }>(Extended, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_context_blocks'")
    .length === 0
    ? []
    : host.sql<{ label: string }>(Extended, "a", "SELECT label FROM cf_context_blocks");

type Step = "load" | "note" | "replace" | "unload";
const steps: Record<Step, (host: Host) => Promise<unknown>> = {
  load: async (host) => (await agentOf(host)).load(manifest("1"), source("one")),
  note: async (host) => (await agentOf(host)).run("x_note"),
  replace: async (host) => (await agentOf(host)).replace(manifest("2"), source("two")),
  unload: async (host) => (await agentOf(host)).unload("x")
};

/** The state after a crash in a script, and that what is still missing can be done then. */
test.each<[Step[], string[]]>([
  [["load"], ["none", "1 one"]],
  [
    ["load", "note", "replace"],
    ["none", "1 one", "2 two"]
  ],
  [
    ["load", "note", "unload"],
    ["none", "1 one"]
  ]
])(
  "killed at any write of %s, an extension is one of its versions or none",
  async (script, allowed) => {
    const { points } = await everyCrash({
      create: async () => {
        const host = open();
        await agentOf(host);
        return host;
      },
      script: async (host) => {
        for (const step of script) await steps[step](host);
      },
      finish: async (host) => {
        const agent = await agentOf(host);
        const [state] = (await agent.extensions()) ?? [];
        const answer = JSON.parse((await agent.run("x_answer")).replace(/^undefined$/, "null")) as string | null;
        expect(allowed).toContain(state === undefined ? "none" : `${state.split(" ")[1]} ${answer}`);
        // What is left of the script, from where it was killed.
        const version = state?.split(" ")[1];
        if (version === undefined && script.at(-1) !== "unload") await steps.load(host);
        if (script.includes("replace") && version !== "2") await steps.replace(host);
        if (script.at(-1) === "unload") await steps.unload(host);
        else await steps.note(host);
      },
      inspect: async (host) => ({
        extensions: await (await agentOf(host)).extensions(),
        keys: await (await agentOf(host)).storedKeys(),
        context: context(host)
      }),
      points: "writes"
    });
    expect(points).toBeGreaterThanOrEqual(1);
  },
  60_000
);
