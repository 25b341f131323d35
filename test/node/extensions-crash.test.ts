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

/** What was done before, what is killed, and the versions that may be there then. */
test.each<[Step[], Step, string[]]>([
  [[], "load", ["none", "1 one"]],
  [["load", "note"], "replace", ["1 one", "2 two"]],
  [["load", "note"], "unload", ["1 one", "none"]]
])(
  "after %s, killed at any write of %s: it is one of its versions, whole, or none",
  async (before, killed, allowed) => {
    const { points } = await everyCrash({
      create: async () => {
        const host = open();
        await agentOf(host);
        for (const step of before) await steps[step](host);
        return host;
      },
      script: async (host) => void (await steps[killed](host)),
      finish: async (host) => {
        const agent = await agentOf(host);
        const [state] = (await agent.extensions()) ?? [];
        const version = state?.split(" ")[1];
        const answer = JSON.parse((await agent.run("x_answer")).replace(/^undefined$/, "null")) as string | null;
        expect(allowed).toContain(version === undefined ? "none" : `${version} ${answer}`);
        // What was not done can be done now.
        if (killed === "load" && version === undefined) await steps.load(host);
        if (killed === "replace" && version !== "2") await steps.replace(host);
        if (killed === "unload") await steps.unload(host);
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
