import { afterEach, expect, test, vi } from "vitest";
import { agentSource, parseConversation, startAddress, type Instances } from "./source.ts";

afterEach(() => void vi.unstubAllGlobals());

const VIEWS = { agent: {}, timelines: {}, whys: {}, inbox: {}, state: {}, turns: { turns: [], changes: [] } };
const FILE = { format: "everthink-conversation", version: 1, address: "subject/a", ...VIEWS };

test("an exported conversation is read back", () => {
  expect(parseConversation(JSON.stringify(FILE))).toEqual(FILE);
});

test.each([
  ["", /not a conversation that Studio exported/],
  ["null", /not a conversation that Studio exported/],
  ['{"format":"other"}', /not a conversation that Studio exported/],
  [JSON.stringify({ ...FILE, version: 2 }), /A later Studio/],
  [JSON.stringify({ ...FILE, state: undefined }), /not whole/],
  [JSON.stringify({ ...FILE, turns: { turns: [null], changes: [] } }), /not whole/],
  [JSON.stringify({ ...FILE, address: 5 }), /not whole/]
])("%s is refused in words", (text, words) => {
  expect(() => parseConversation(text)).toThrow(words);
});

const AGENTS = ["assistant", "directory"].map((id) => ({ id, label: id }));

/** Studio's server, which knows these instances. */
function server(instances: Readonly<Record<string, Instances>>) {
  const fetched = vi.fn(async (url: string) => Response.json(instances[url.split("=")[1] ?? ""] ?? {}));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

function config(agent: string | null, instance: string | null) {
  return {
    target: { origin: "http://localhost", prefix: "agents", agent, instance },
    agents: AGENTS,
    hasInbox: false,
    canWrite: false
  };
}

const SILENT = { changedAt: 0, sizeBytes: 0, spokenAt: null, title: null, words: null };

/** In which something was said, at these times; their files were written to in the opposite order. */
function spoken(times: Readonly<Record<string, number>>): Instances {
  const instances = Object.entries(times).map(([name, at]) => ({ ...SILENT, name, spokenAt: at, changedAt: -at }));
  return { instances };
}

function named(...names: string[]): Instances {
  return { instances: names.map((name) => ({ ...SILENT, name })) };
}

function active(times: Readonly<Record<string, number>>): Instances {
  return { instances: Object.entries(times).map(([name, changedAt]) => ({ ...SILENT, name, changedAt })) };
}

test.each([
  ["what the command named", "directory", "main/1", { directory: named("a") }, "directory/main%2F1"],
  [
    "the instance of the named agent that was active last",
    "assistant",
    null,
    { assistant: active({ a: 5, b: 3 }), directory: active({ main: 9 }) },
    "assistant/a"
  ],
  ["none, where the named agent has stored nothing", "assistant", null, { assistant: named() }, ""],
  ["default of the named agent, where instances are not known", "directory", null, {}, "directory/default"],
  ["the newest instance", null, null, { assistant: named("user/42", "a") }, "assistant/user%2F42"],
  ["an instance of another agent", null, null, { assistant: named(), directory: named("main") }, "directory/main"],
  [
    "the one that was active last, of whichever agent",
    null,
    null,
    { assistant: active({ a: 5, b: 3 }), directory: active({ main: 9, old: 1 }) },
    "directory/main"
  ],
  [
    "the one that was active last, also of the first agent",
    null,
    null,
    { assistant: active({ a: 9 }), directory: active({ main: 8 }) },
    "assistant/a"
  ],
  [
    "the conversation that was spoken in last, whichever file was written to last",
    null,
    null,
    { assistant: spoken({ a: 9 }), directory: active({ main: 99 }) },
    "assistant/a"
  ],
  [
    "the conversation that was spoken in last, of whichever agent",
    null,
    null,
    { assistant: spoken({ a: 5 }), directory: spoken({ main: 9 }) },
    "directory/main"
  ],
  ["the first agent's, where instances are not known", null, null, {}, "assistant/default"],
  ["none, where nothing is stored", null, null, { assistant: named(), directory: named() }, ""]
])("the page begins at %s", async (_name, agent, instance, instances, address) => {
  server(instances);
  expect(await startAddress(config(agent, instance))).toBe(address);
});

test("without an instance no agent is asked: the request would make one", async () => {
  const fetched = server({});
  await expect(agentSource("").get("agent")).rejects.toThrow("No instance has stored anything yet");
  expect(fetched).not.toHaveBeenCalled();
});
