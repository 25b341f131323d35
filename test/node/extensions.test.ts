// Extensions as a class has them: loaded at its start and while it runs, their tools in turns, their context blocks and what
// they may reach. Numbers are those of the specification's list. Hooks are in extension-hooks.test.ts.
import { tool } from "ai";
import { afterEach, beforeEach, expect, test, vi, type MockInstance } from "vitest";
import { z } from "zod";
import { createExtensionTools } from "../../src/features/extensions/tools/index.ts";
import { Think } from "../../src/index.ts";
import { createTestHost, reply, text, toolCall } from "../../src/testing/index.ts";
import { agentOf, Extended, extension, messages, open, say, scene } from "./extensions-kit.ts";

let warn: MockInstance;
let error: MockInstance;

beforeEach(() => {
  warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  error = vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const GREETER = `({ tools: { greet: { execute: () => "hello" } } })`;
const version = (n: number) => ({ name: "greeter", version: `${n}.0.0` });

test("extensions of the class and those that were loaded are there after a restart, in their order, once", async () => {
  const host = open([], { extensions: [extension("second", GREETER), extension("first", GREETER)] });
  const agent = await agentOf(host);
  await agent.load({ name: "zebra", version: "1.0.0" }, GREETER);
  await agent.load({ name: "ape", version: "1.0.0" }, GREETER);
  const names = ["second 1.0.0 loaded", "first 1.0.0 loaded", "zebra 1.0.0 loaded", "ape 1.0.0 loaded"];
  expect(await agent.extensions()).toEqual(names);
  await host.restart();
  expect(await (await agentOf(host)).extensions()).toEqual(names);
  expect(await (await agentOf(host)).storedKeys()).toEqual(["ext:ape", "ext:zebra"]);
  expect(await (await agentOf(host)).run("ape_greet")).toBe('"hello"');
});

test("8: an extension that the class no longer returns is gone after a redeploy", async () => {
  const host = open([], { extensions: [extension("kept", GREETER), extension("dropped", GREETER)] });
  expect(await (await agentOf(host)).extensions()).toHaveLength(2);
  scene.extensions = [extension("kept", GREETER)];
  await host.restart();
  expect(await (await agentOf(host)).extensions()).toEqual(["kept 1.0.0 loaded"]);
});

test("an extension of the class has the name, whatever is stored under it, also when it cannot be loaded", async () => {
  const host = open();
  await (await agentOf(host)).load(version(1), GREETER);
  scene.extensions = [extension("greeter", GREETER, { version: "9.0.0" })];
  await host.restart();
  expect(await (await agentOf(host)).extensions()).toEqual(["greeter 9.0.0 loaded"]);
  scene.extensions = [extension("greeter", "({")];
  await host.restart();
  expect(await (await agentOf(host)).extensions()).toEqual(["greeter  failed"]);
});

test("7: broken ones, stored or of the class, stop neither the others nor the start", async () => {
  const host = open([], { extensions: [extension("bad", "({"), extension("good", GREETER)] });
  const agent = await agentOf(host);
  await agent.putStored("ext:corrupt", { manifest: null });
  await agent.load({ name: "later", version: "1.0.0" }, GREETER);
  await host.restart();
  expect(await (await agentOf(host)).extensions()).toEqual([
    "good 1.0.0 loaded",
    "later 1.0.0 loaded",
    "bad  failed",
    "corrupt  failed"
  ]);
  expect(error.mock.calls.flat().join()).toContain('"corrupt"');
});

test("a class whose getExtensions throws starts, says so, and keeps what is stored", async () => {
  const host = open();
  await (await agentOf(host)).load(version(1), GREETER);
  const getExtensions = vi.spyOn(Extended.prototype, "getExtensions").mockImplementation(() => {
    throw new Error("no list");
  });
  await host.restart();
  expect(await (await agentOf(host)).extensions()).toEqual(["greeter 1.0.0 loaded"]);
  expect(error.mock.calls.flat().join()).toContain("no list");
  getExtensions.mockRestore();
});

test("a class without a loader has no manager, and is warned if it has extensions", async () => {
  class Without extends Think {
    declare getModel: Think["getModel"];
    override getExtensions() {
      return [extension("x", GREETER)];
    }
    has() {
      return this.extensionManager !== undefined;
    }
  }
  const host = createTestHost({ agents: { Without } });
  expect(await (await host.get(Without, "a")).has()).toBe(false);
  expect(warn.mock.calls.flat().join()).toContain("extensionLoader");
});

test("the model calls a tool of an extension, and an extension never replaces a tool of the class", async () => {
  const host = open([reply(toolCall("greeter_greet", {}, { id: "g" })), reply(text("Said."))]);
  const agent = await agentOf(host);
  await agent.load(version(1), GREETER);
  await say(host, "greet");
  expect((await messages(host)).at(-1)?.parts).toContainEqual(
    expect.objectContaining({ toolCallId: "g", output: "hello" })
  );
  const own = tool({ inputSchema: z.object({}), execute: () => "the class's" });
  scene.tools = () => ({ own_tool: own });
  const refused = async (name: string, toolName: string) => {
    const source = `({ tools: { ${toolName}: { execute: () => 1 } } })`;
    await expect(agent.load({ name, version: "1" }, source)).rejects.toThrow("has a tool");
  };
  for (const [name, toolName] of [
    ["own", "tool"],
    ["set", "context"],
    ["read", "result"]
  ] as const)
    await refused(name, toolName);
});

test("9: each host method needs its permission, which the error names", async () => {
  const host = open();
  const agent = await agentOf(host);
  const methods = ["readFile", "writeFile", "deleteFile", "listFiles", "getContext", "setContext", "getMessages"];
  const all = [...methods, "sendMessage", "getSessionInfo"];
  const tools = all.map((name) => `${name}: { execute: (args, host) => host.${name}("own_x", "text") }`).join();
  const source = `({ tools: { ${tools} } })`;
  await agent.load({ name: "counter", version: "1", permissions: { session: { metadata: true } } }, source);
  const needed = {
    readFile: 'workspace "read"',
    writeFile: 'workspace "read-write"',
    deleteFile: 'workspace "read-write"',
    listFiles: 'workspace "read"',
    getContext: 'context.read for "own_x"',
    setContext: 'context.write for "own_x"',
    getMessages: 'messages "read"',
    sendMessage: "session.sendMessage"
  };
  for (const [name, permission] of Object.entries(needed))
    expect(await agent.run(`counter_${name}`)).toBe(`Error: Extension error: no permission ${permission}.`);
  expect(await agent.run("counter_getSessionInfo")).toBe('{"messageCount":0}');
  await agent.load({ name: "none", version: "1" }, `({ tools: { has: { execute: (a, host) => host === null } } })`);
  expect(await agent.run("none_has")).toBe("true");
});

test("9: context.write own allows the declared labels only, and getMessages(0) is empty", async () => {
  const host = open([reply(text("Hello."))], { session: (session) => session.withContext("memory", {}) });
  await say(host, "hi");
  const agent = await agentOf(host);
  const source = `({ tools: {
    set: { execute: ({ label }, host) => host.setContext(label, "written") },
    get: { execute: ({ label }, host) => host.getContext(label) },
    messages: { execute: ({ limit }, host) => host.getMessages(limit) }
  } })`;
  await agent.load(
    {
      name: "own",
      version: "1",
      context: [{ label: "notes", type: "readonly" }],
      permissions: { context: { write: "own", read: ["own_notes"] }, messages: "read" }
    },
    source
  );
  expect(await agent.run("own_set", { label: "own_notes" })).toBe("undefined");
  expect(await agent.run("own_get", { label: "own_notes" })).toBe('"written"');
  expect(await agent.run("own_set", { label: "memory" })).toContain('context.write for "memory"');
  expect(await agent.run("own_get", { label: "memory" })).toContain('context.read for "memory"');
  expect(await agent.run("own_messages", { limit: 0 })).toBe("[]");
  expect(await agent.run("own_messages", { limit: 1 })).toMatch(/"role":"assistant","content":"Hello\."/);
  expect(await agent.run("own_messages")).toMatch(/"content":"hi".*"content":"Hello\."/);
});

test("10: host calls work in a sub-agent, and reach that sub-agent only", async () => {
  const source = `({ tools: { note: { execute: async (args, host) => {
    const before = await host.readFile("/note");
    await host.writeFile("/note", "of this agent");
    return before;
  } } } })`;
  const host = open([], { extensions: [extension("x", source, { permissions: { workspace: "read-write" } })] });
  const agent = await agentOf(host);
  expect(await agent.run("x_note")).toBe("null");
  expect(await agent.inChild("x_note")).toBe("null");
  expect([await agent.run("x_note"), await agent.inChild("x_note")]).toEqual(['"of this agent"', '"of this agent"']);
});

test("14: a block is in the prompt with its first text, and gone from the next one after the unload", async () => {
  const host = open([reply(text("One.")), reply(text("Two."))]);
  const agent = await agentOf(host);
  const manifest = {
    name: "clock",
    version: "1",
    context: [{ label: "time", type: "readonly" as const, description: "What time it is" }],
    permissions: { context: { write: "own" as const } }
  };
  await agent.load(
    manifest,
    `({ tools: { set: { execute: (args, host) => host.setContext("clock_time", "half past") } } })`
  );
  await agent.run("clock_set");
  expect(await agent.prompt()).toContain("half past");
  // The model is not offered to write it.
  expect(await agent.contextTools()).not.toContain("set_context");
  await host.restart();
  expect(await (await agentOf(host)).prompt()).toContain("half past");
  await say(host, "one");
  await (await agentOf(host)).unload("clock");
  await say(host, "two");
  const prompts = scene.script.calls.map(({ prompt }) => JSON.stringify(prompt));
  expect(prompts.map((prompt) => prompt.includes("half past"))).toEqual([true, false]);
  // Its text is deleted with it.
  await (await agentOf(host)).load(manifest, GREETER);
  expect(await (await agentOf(host)).prompt()).not.toContain("half past");
});

test("a writable block is offered to the model, and a label of the class cannot be taken", async () => {
  const host = open([], { session: (session) => session.withContext("x_taken", {}) });
  const agent = await agentOf(host);
  const block = (label: string) => [{ label, type: "writable" as const }];
  await agent.load({ name: "w", version: "1", context: block("notes") }, GREETER);
  expect(await agent.contextTools()).toContain("w_notes");
  await expect(agent.load({ name: "x", version: "1", context: block("taken") }, GREETER)).rejects.toThrow("x_taken");
  expect(await agent.extensions()).toEqual(["w 1 loaded"]);
  expect(await agent.storedKeys()).toEqual(["ext:w"]);
});

test("a collection is served by the source, and shows its last good text when that fails", async () => {
  const host = open();
  const agent = await agentOf(host);
  const source = `({ tools: {}, hooks: { onStepFinish() {} }, context: { books: {
    get: async (host) => { const t = await host.readFile("/titles"); if (t === null) throw new Error("no titles"); return t; },
    load: (key) => "text of " + key
  } } })`;
  const manifest = {
    name: "lib",
    version: "1",
    context: [{ label: "books", type: "skill" as const }],
    permissions: { workspace: "read" as const }
  };
  await agent.workspaceWrite("/titles", "Moby-Dick");
  await agent.load(manifest, source);
  expect(await agent.prompt()).toContain("Moby-Dick");
  expect(await agent.contextTools()).toContain("load_context");
  await agent.workspaceDelete("/titles");
  expect(await agent.refreshed()).toContain("Moby-Dick");
  expect(warn.mock.calls.flat().join()).toContain("no titles");
  const bare = `({ hooks: { onStepFinish() {} } })`;
  await expect(agent.load({ ...manifest, name: "bare" }, bare)).rejects.toThrow("context.books.get");
});

test("sendMessage appends a message that says which extension sent it, and starts no turn", async () => {
  const host = open([reply(text("Seen."))]);
  const agent = await agentOf(host);
  const source = `({ tools: { send: { execute: (args, host) => host.sendMessage("From afar") } } })`;
  await agent.load({ name: "bell", version: "1", permissions: { session: { sendMessage: true } } }, source);
  await agent.run("bell_send");
  expect(await messages(host)).toMatchObject([
    { role: "user", metadata: { source: { kind: "extension", name: "bell" } }, parts: [{ text: "From afar" }] }
  ]);
  expect(scene.script.calls).toHaveLength(0);
  await say(host, "and?");
  expect(JSON.stringify(scene.script.calls[0]?.prompt)).toContain("From afar");
});

test("15: a load waits for its approval, whose question says what the extension may do and what changed", async () => {
  const next = `({ tools: { greet: { execute: () => "good day" } } })`;
  const load = (n: number, source: string) =>
    reply(toolCall("load_extension", { ...version(n), source, workspace_access: "read" }, { id: `l${n}` }));
  const host = open([load(1, GREETER), reply(text("On.")), load(2, next), reply(text("On."))], {
    tools: ({ extensionManager: manager }) => (manager ? createExtensionTools({ manager, approval: true }) : {})
  });
  const socket = await host.connect("/agents/extended/a");
  const decide = async (toolCallId: string) => {
    socket.send({ type: "cf_agent_tool_approval", toolCallId, approved: true, autoContinue: true });
    await host.advance(1_000);
  };
  const asked = async (toolCallId: string) =>
    (await messages(host))
      .flatMap(({ parts }) => parts)
      .find((part) => "toolCallId" in part && part.toolCallId === toolCallId);
  await say(host, "first");
  expect(await asked("l1")).toMatchObject({
    state: "approval-requested",
    approval: {
      descriptor: {
        action: "load_extension",
        summary: 'Load the extension "greeter" 1.0.0',
        permissions: ["Reads your files"],
        extension: { tools: ["greeter_greet"] }
      }
    }
  });
  expect(await (await agentOf(host)).extensions()).toEqual([]);
  await decide("l1");
  expect(await (await agentOf(host)).extensions()).toEqual(["greeter 1.0.0 loaded"]);
  await say(host, "second");
  expect(await asked("l2")).toMatchObject({
    approval: {
      descriptor: {
        extension: {
          replaces: {
            version: "1.0.0",
            addedPermissions: [],
            changes: [
              { kind: "removed", text: GREETER },
              { kind: "added", text: next }
            ]
          }
        }
      }
    }
  });
  expect(await (await agentOf(host)).run("greeter_greet")).toBe('"hello"');
  await decide("l2");
  expect(await (await agentOf(host)).run("greeter_greet")).toBe('"good day"');
});
