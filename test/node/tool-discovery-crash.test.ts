// Killed at each of its writes and awaits, a turn that searches for tools ends as if nothing had happened: what was found is
// offered to the next attempt and to the next turn in the same order, and a call is never made twice.
import { beforeEach, expect, test, vi } from "vitest";
import { everyCrash, reply, text, toolCall } from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";
import { agentOf, key, offered, open, scene, someServers, type Host } from "./discovery-kit.ts";

// A conversation per point at which it is killed.
vi.setConfig({ testTimeout: 120_000 });

// Every crash is reported by what it interrupted.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const LIST = key("github", "list_issues");
const results = (prompt: unknown) => JSON.stringify(prompt).split('"type":"tool-result"').length - 1;
const questions = (prompt: readonly { readonly role: string }[]) => prompt.filter(({ role }) => role === "user").length;

/** Searches, calls a tool that it has not found, calls it again, and says so; the second question has no tools to call. */
const model = ({ prompt }: { readonly prompt: readonly { readonly role: string }[] }) => {
  if (questions(prompt) > 1) return reply(text("Still here."));
  switch (results(prompt)) {
    case 0:
      return reply(toolCall("search_tools", { query: "list issues", limit: 2 }));
    case 1:
      return reply(toolCall(LIST, { state: "open" }));
    case 2:
      return reply(toolCall(key("kubernetes", "top-nodes"), {}));
    case 3:
      return reply(toolCall(key("kubernetes", "top-nodes"), { sort: "cpu" }));
    default:
      return reply(text("There are three, and the nodes are idle."));
  }
};

const ask = async (host: Host, id: string) =>
  (await agentOf(host)).saveMessages([user(id, "What is going on?")], { idempotencyKey: id });

function create() {
  const host = open(Array(400).fill(model), {
    servers: someServers("github", "kubernetes"),
    discovery: { maxActive: 3 }
  });
  scene.boundary = () => host.boundary();
  return host;
}

async function finish(host: Host) {
  void ask(host, "q1").catch(() => undefined);
  await host.advance(120_000);
  await host.idle();
  void ask(host, "q2").catch(() => undefined);
  await host.advance(60_000);
  await host.idle();
}

/** What the second question's model call was offered, and what is stored, but for calls that a death has cut off. */
async function inspect(host: Host) {
  const stored = await storedMessages(host, "/agents/clerk/a");
  return {
    offered: offered(scene.script.calls.length - 1),
    texts: stored.map(({ role, parts }) => [role, parts.at(-1)]),
    repeated: scene.calls.length - new Set(scene.calls).size
  };
}

test("a turn that finds tools, killed at any point", async () => {
  const { points } = await everyCrash({ create, script: (host) => ask(host, "q1"), finish, inspect });
  expect(points).toBeGreaterThan(50);
  expect(offered(scene.script.calls.length - 1)).toEqual([
    "search_tools",
    expect.any(String),
    expect.any(String),
    key("kubernetes", "top-nodes")
  ]);
});
