// Many tools without a full prompt: what the model is offered, finds and calls, and that it stays so.
import { tool, type ToolSet } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { estimateStringTokens } from "../../src/session/tokens.ts";
import { createScript, createTestHost, reply, text, toolCall, type Step } from "../../src/testing/index.ts";
import { framesOf, sendChat } from "../kit/frames.ts";
import { storedMessages, user } from "../kit/messages.ts";
import { systemOf, toolNames } from "../kit/prompts.ts";
import { ThinkCore, withCapabilities } from "../../src/core/index.ts";
import { toolDiscovery } from "../../src/core/discovery.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import type { TurnsView, TurnWhy } from "../../src/features/inspection/index.ts";
import {
  agentOf,
  INSPECTION_KEY,
  key,
  offered,
  open,
  promptJson,
  scene,
  someServers,
  type Host
} from "./discovery-kit.ts";

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => {}));

const SEARCH = "search_tools";
const CREATE_ISSUE = key("github", "create_issue");
const GIST = key("github", "create_gist");
const two = () => ({ servers: someServers("github", "kubernetes") });
const search = (query: string, limit?: number) =>
  reply(toolCall(SEARCH, limit === undefined ? { query } : { query, limit }));
const done = reply(text("Done."));
let count = 0;
const say = async (host: Host, options: { channel?: string } = {}) =>
  (await agentOf(host)).runTurn({ input: [user(`q${(count += 1)}`)], ...options });
const messages = (host: Host) => storedMessages(host, "/agents/clerk/a");
const tokensOf = (call = 0) => estimateStringTokens(promptJson(scene.script.calls[call]));
const active = (call: number) => offered(call).slice(1);

/** The result that the model read last. */
const lastResult = (call: number) => JSON.stringify(scene.script.calls[call]?.prompt.at(-1));

describe("with 1,000 tools of 20 servers", () => {
  test("the first prompt is at most 3 % of that of all tools", async () => {
    const all = open([done], { discovery: false, maxTools: 1_000 });
    await say(all);
    expect(offered()).toHaveLength(1_000);
    const before = tokensOf();

    const host = open([done]);
    await say(host);
    expect(offered()).toEqual([SEARCH]);
    expect(tokensOf() / before).toBeLessThan(0.03);
    expect(systemOf(scene.script.calls[0]).match(/^- MCP server /gm)).toHaveLength(20);
  });

  test("the model searches, is offered what it found in its next step, and calls it", async () => {
    const host = open([search("create GitHub issue"), reply(toolCall(CREATE_ISSUE, { title: "Bug" })), done]);
    await say(host);
    expect(offered(0)).toEqual([SEARCH]);
    expect(offered(1)[0]).toBe(SEARCH);
    expect(active(1)).toHaveLength(5);
    expect(active(1)).toContain(CREATE_ISSUE);
    expect(scene.calls).toEqual(['github/create_issue {"title":"Bug"}']);
  });
});

describe("what is offered", () => {
  test("is the same in the next turn, after a restart, and for another tab", async () => {
    const host = open([search("create issue"), reply(toolCall(CREATE_ISSUE, {})), done, done, done, done], two());
    await say(host);
    const found = active(2);
    expect(found).toContain(CREATE_ISSUE);
    await say(host);
    expect(active(3)).toEqual(found);
    await host.restart();
    await say(host);
    expect(active(4)).toEqual(found);
    const tab = await host.connect("/agents/clerk/a");
    sendChat(tab, "other", [...(await messages(host)), user("From another tab.")]);
    await host.idle();
    expect(active(5)).toEqual(found);
  });

  test("grows at its end: what the provider was sent before stays in front, word for word", async () => {
    const host = open([search("create issue", 2), search("pod logs", 3), search("issue", 2), done], two());
    await say(host);
    const prompts = scene.script.calls.map((call) => call.tools?.map((one) => JSON.stringify(one)) ?? []);
    for (const [index, prompt] of prompts.entries()) {
      const before = prompts[index - 1] ?? [];
      expect(prompt.slice(0, before.length)).toEqual(before);
    }
    expect(prompts.map(({ length }) => length)).toEqual([1, 3, 6, expect.any(Number)]);
    expect(new Set(scene.script.calls.map(systemOf)).size).toBe(1);
  });

  test("is limited: the tools that were not used for longest leave", async () => {
    const steps = [
      search("create issue", 1),
      search("gist", 1),
      reply(toolCall(CREATE_ISSUE, { title: "x" })),
      search("pod logs", 1),
      done
    ];
    const host = open(steps, { ...two(), discovery: { maxActive: 2 } });
    await say(host);
    const [first] = active(1);
    expect(first).toBe(CREATE_ISSUE);
    const gist = active(2)[1];
    expect(active(2)).toEqual([CREATE_ISSUE, gist]);
    expect(active(4)).toEqual([CREATE_ISSUE, key("kubernetes", "get-pod-logs")]);
  });

  test("follows the branch: an answer that is given again knows nothing of what the other one found", async () => {
    const host = open([search("create issue"), done, done], two());
    const tab = await host.connect("/agents/clerk/a");
    sendChat(tab, "r1", [user("u1")]);
    await host.idle();
    expect(active(1)).not.toEqual([]);
    sendChat(tab, "r2", [user("u1")], { trigger: "regenerate-message" });
    await host.idle();
    expect(offered(2)).toEqual([SEARCH]);
  });

  test("is kept by the summary when a compaction takes the search away", async () => {
    const { createCompactFunction } = await import("../../src/session/index.ts");
    const summarize = async () => "Issues were discussed.";
    const compact = createCompactFunction({ summarize, protectHead: 1, tailTokenBudget: 0 });
    const host = open(
      [search("create issue", 3), reply(toolCall(CREATE_ISSUE, {})), search("gist", 1), done, done, done, done],
      { ...two(), configureSession: (session) => session.onCompaction(compact) }
    );
    await say(host);
    const found = active(3);
    await say(host);
    await say(host);
    expect(await (await agentOf(host)).compactNow()).toBe(true);
    await host.restart();
    await say(host);
    const { calls } = scene.script;
    expect(JSON.stringify(calls.at(-1)?.prompt)).toContain("Issues were discussed.");
    expect(JSON.stringify(calls.at(-1)?.prompt)).not.toContain(`"${SEARCH}"`);
    expect(active(calls.length - 1)).toEqual(found);
  });
});

describe("a call of a tool that is not offered", () => {
  test("is answered with its schema, nothing runs, and the tool is offered from the next step", async () => {
    const call = reply(toolCall(CREATE_ISSUE, { anything: 1 }));
    const host = open([call, reply(toolCall(CREATE_ISSUE, { title: "Bug" })), done], two());
    await say(host);
    expect(lastResult(1)).toContain("nothing has run");
    expect(lastResult(1)).toContain('"inputSchema"');
    expect(lastResult(1)).toContain("The milestone of the issue");
    expect(active(1)).toEqual([CREATE_ISSUE]);
    expect(scene.calls).toEqual(['github/create_issue {"title":"Bug"}']);
    const parts = (await messages(host)).at(-1)?.parts ?? [];
    expect(parts.find(({ type }) => type === `tool-${SEARCH}`)).toMatchObject({
      state: "output-available",
      input: { tool: CREATE_ISSUE }
    });
  });

  test("does not wait for an approval, and the call that follows does", async () => {
    const call = reply(toolCall(CREATE_ISSUE, { title: "Bug" }));
    const host = open([call, call, done], { ...two(), approval: () => true });
    const tab = await host.connect("/agents/clerk/a");
    sendChat(tab, "r1", [user("u1")]);
    await host.idle();
    const part = (await messages(host)).at(-1)?.parts.at(-1);
    expect(part).toMatchObject({ type: `tool-${CREATE_ISSUE}`, state: "approval-requested" });
    expect(scene.script.callCount).toBe(2);
    const toolCallId = part && "toolCallId" in part ? part.toolCallId : "";
    tab.send({ type: "cf_agent_tool_approval", toolCallId, approved: true, autoContinue: true });
    await host.advance(1_000);
    expect(scene.calls).toEqual(['github/create_issue {"title":"Bug"}']);
    expect(framesOf(tab).some(({ error }) => error === true)).toBe(false);
  });

  test("next to others is the only one that is not run", async () => {
    const host = open(
      [search("create issue"), reply(toolCall(CREATE_ISSUE, { title: "a" }), toolCall(GIST, {})), done],
      two()
    );
    await say(host);
    expect(scene.calls).toEqual(['github/create_issue {"title":"a"}']);
    expect(active(2)).toContain(GIST);
  });

  test("of a tool that does not exist is an error, which names the offered tools only", async () => {
    const host = open([reply(toolCall("tool_github_nothing", {})), done], two());
    await say(host);
    expect(lastResult(1)).toContain("unavailable tool");
    expect(lastResult(1)).not.toContain("create_issue");
  });
});

test("an approved call runs although its tool has left the offered ones meanwhile", async () => {
  const steps = [search("create issue", 1), reply(toolCall(CREATE_ISSUE, { title: "Bug" }))];
  const host = open([...steps, search("gist", 1), done, done], {
    ...two(),
    discovery: { maxActive: 1 },
    approval: ({ name }) => name === "create_issue"
  });
  const tab = await host.connect("/agents/clerk/a");
  sendChat(tab, "r1", [user("u1")]);
  await host.idle();
  const part = (await messages(host)).at(-1)?.parts.at(-1);
  expect(part).toMatchObject({ state: "approval-requested" });
  // Another question finds another tool, which takes the only place.
  await say(host);
  const toolCallId = part && "toolCallId" in part ? part.toolCallId : "";
  tab.send({ type: "cf_agent_tool_approval", toolCallId, approved: true, autoContinue: true });
  await host.advance(1_000);
  expect(scene.calls).toEqual(['github/create_issue {"title":"Bug"}']);
});

describe("the class", () => {
  const own = (description: string) =>
    tool({ description, inputSchema: z.object({}), execute: async () => description });
  const many = (length: number): ToolSet =>
    Object.fromEntries(Array.from({ length }, (_, index) => [`own_${index}`, own(`Does thing ${index}.`)]));

  test("with few tools pays nothing: no search, and the prompt is what it was", async () => {
    const few = { servers: [], own: () => many(8) };
    const host = open([done], few);
    await say(host);
    const prompt = promptJson(scene.script.calls[0]);
    const without = open([done], { ...few, discovery: false });
    await say(without);
    expect(promptJson(scene.script.calls[0])).toBe(prompt);
    expect(prompt).not.toContain(SEARCH);
  });

  test("keeps its own tools described next to many of servers", async () => {
    const host = open([done], { ...two(), own: () => many(20) });
    await say(host);
    expect(offered()).toHaveLength(21);
    expect(offered()).not.toContain(CREATE_ISSUE);
  });

  test("with too many of its own has them found, too", async () => {
    const host = open([search("thing 7"), reply(toolCall("own_7", {})), done], { servers: [], own: () => many(61) });
    await say(host);
    expect(offered()).toEqual([SEARCH]);
    expect(lastResult(2)).toContain("Does thing 7.");
  });

  test("with few tools that take more than a tenth of the window has them found", async () => {
    const long = () => Object.fromEntries(Object.keys(many(12)).map((name) => [name, own("word ".repeat(1_200))]));
    await say(open([done], { servers: [], own: long }));
    expect(offered()).toEqual([SEARCH]);
  });

  test.each<[string, Partial<typeof scene>, (names: string[]) => unknown, unknown]>([
    ["false describes all of them", { discovery: false, maxTools: 200 }, ({ length }) => length, 100],
    ["true defers all, few or many", { discovery: true, servers: [], own: () => many(2) }, (names) => names, [SEARCH]],
    [
      "keep names servers and tools",
      { discovery: { keep: ["GitHub", key("kubernetes", "top-pods")] } },
      (names) => [names.length, names.includes(key("kubernetes", "top-pods"))],
      [52, true]
    ],
    [
      "defer decides tool by tool",
      { discovery: { defer: ({ name, group }) => group.name === "GitHub" && name !== CREATE_ISSUE } },
      (names) => [names.length, names.includes(CREATE_ISSUE)],
      [52, true]
    ],
    ["a lower maxMcpTools still leaves tools out", { maxTools: 40 }, ({ length }) => length, 40]
  ])("with a setting: %s", async (_promise, changes, read, expected) => {
    await say(open([done], { ...two(), ...changes }));
    expect(read(offered())).toEqual(expected);
  });

  test("may have a tool of that name: it stays what it is, and the search has another name", async () => {
    const host = open([reply(toolCall("search_tools_1", { query: "create issue" })), done], {
      ...two(),
      own: () => ({ search_tools: own("Searches the toolshed.") })
    });
    await say(host);
    expect(offered(0)).toEqual(["search_tools", "search_tools_1"]);
    expect(offered(1)).toContain(CREATE_ISSUE);
  });

  test("that throws in defer fails the turn", async () => {
    const defer = () => {
      throw new Error("defer threw");
    };
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect(await say(open([done], { ...two(), discovery: { defer } }))).toMatchObject({ status: "error" });
  });
});

describe("other ways to narrow tools", () => {
  test("hidden tools are not found, nor by their name", async () => {
    const approval = ({ name }: { name: string }) => (name === "create_issue" ? ("hide" as const) : false);
    const host = open([search("create issue"), reply(toolCall(CREATE_ISSUE, {})), done], { ...two(), approval });
    await say(host);
    expect(offered(2)).not.toContain(CREATE_ISSUE);
    expect(lastResult(2)).toContain("unavailable tool");
    expect(scene.calls).toEqual([]);
  });

  test("a channel's choice holds: the rest is not found", async () => {
    const host = open([search("pod logs"), search("create issue"), done], {
      servers: someServers("github", "gitlab", "kubernetes"),
      discovery: true
    });
    await say(host, { channel: "kiosk" });
    expect(active(2).filter((name) => !name.includes("github"))).toEqual([]);
    expect(active(2)).toContain(CREATE_ISSUE);
    expect(systemOf(scene.script.calls[0])).not.toContain("Kubernetes");
  });

  test("a short activeTools of the class is offered as it is", async () => {
    const host = open([reply(toolCall(CREATE_ISSUE, {})), done], {
      ...two(),
      beforeTurn: () => ({ activeTools: [CREATE_ISSUE] })
    });
    await say(host);
    expect(offered(0)).toEqual([CREATE_ISSUE]);
    expect(scene.calls).toHaveLength(1);
  });

  test("a long activeTools leaves tools out, of what is offered and of what is found", async () => {
    const host = open([search("create issue"), reply(toolCall(GIST, {})), done], {
      ...two(),
      beforeTurn: ({ tools }) => ({
        activeTools: Object.keys(tools).filter((name) => name !== CREATE_ISSUE && name !== GIST)
      })
    });
    await say(host);
    expect(active(1)).not.toEqual([]);
    expect(active(1)).not.toContain(CREATE_ISSUE);
    expect(lastResult(2)).toContain("unavailable tool");
  });

  test("a tool that the class chooses is offered", async () => {
    const pinned = { toolChoice: { type: "tool" as const, toolName: CREATE_ISSUE } };
    const host = open([reply(toolCall(CREATE_ISSUE, {})), done], {
      ...two(),
      beforeStep: ({ stepNumber }) => (stepNumber === 0 ? pinned : undefined)
    });
    await say(host);
    expect(offered(0)).toEqual([SEARCH, CREATE_ISSUE]);
    expect(scene.calls).toHaveLength(1);
  });

  test("a tool that beforeTurn brings is offered, also in the place of a deferred one", async () => {
    const mine = tool({ description: "Mine.", inputSchema: z.object({}), execute: async () => "mine" });
    const steps: Step[] = [reply(toolCall(CREATE_ISSUE, {})), done];
    const host = open(steps, { ...two(), beforeTurn: () => ({ tools: { [CREATE_ISSUE]: mine } }) });
    await say(host);
    expect(offered(0)).toContain(CREATE_ISSUE);
    expect(lastResult(1)).toContain("mine");
    expect(scene.calls).toEqual([]);
  });

  test("a client's tools are always offered", async () => {
    const host = open([done], two());
    const tab = await host.connect("/agents/clerk/a");
    sendChat(tab, "r1", [user("u1")], { clientTools: [{ name: "locate", description: "Where the user is." }] });
    await host.idle();
    expect(offered()).toEqual(["locate", SEARCH]);
  });
});

test("a lean class that lists the capability has it, and one that does not describes all of its tools", async () => {
  const tools = Object.fromEntries(
    Array.from({ length: 70 }, (_, index) => [
      `own_${index}`,
      tool({ description: "Mine.", inputSchema: z.object({}), execute: async () => index })
    ])
  );
  const script = createScript([done, done]);
  class Bare extends ThinkCore {
    override getModel = () => installedModel(script);
    override getTools = () => tools;
  }
  class Lean extends withCapabilities(ThinkCore, toolDiscovery) {
    override getModel = () => installedModel(script);
    override getTools = () => tools;
  }
  const host = createTestHost({ agents: { Bare, Lean } });
  await (await host.get(Bare, "a")).saveMessages([user("u")]);
  await (await host.get(Lean, "a")).saveMessages([user("u")]);
  expect(script.calls.map((call) => toolNames(call).length)).toEqual([70, 1]);
});

test("an inspector sees what was deferred, what was offered and called, and no list of a hundred others", async () => {
  const host = open([search("create issue", 2), reply(toolCall(CREATE_ISSUE, {})), done, done], two());
  await say(host);
  await say(host);
  const read = async <View>(path: string): Promise<View> => {
    const headers = { authorization: `Bearer ${INSPECTION_KEY}` };
    return (await host.fetch(`/agents/clerk/a/inspect/v1/${path}`, { headers })).json() as Promise<View>;
  };
  const { turns } = await read<TurnsView>("turns");
  const [second, first] = turns;
  const why = await read<TurnWhy>(`turns/${first?.turnId}/why`);
  expect(why.prompt.match).toBe("same");
  expect(why.deferredTools).toMatchObject({ tools: 100, active: [] });
  expect(why.tools.map(({ name, wasOffered, calls }) => [name, wasOffered, calls])).toEqual([
    [SEARCH, true, 1],
    [CREATE_ISSUE, false, 1]
  ]);
  const later = await read<TurnWhy>(`turns/${second?.turnId}/why`);
  expect(later.deferredTools?.active).toContain(CREATE_ISSUE);
  expect(later.tools.find(({ name }) => name === CREATE_ISSUE)).toMatchObject({ wasOffered: true, layer: "mcp" });
});

test("a turn that is tried again is offered what it was offered, not a hundred tools", async () => {
  const host = open([search("create issue", 2), done, reply(text("Again."))], two());
  await say(host);
  const headers = { authorization: `Bearer ${INSPECTION_KEY}`, "content-type": "application/json" };
  const path = "/agents/clerk/a/inspect/v1/";
  const { turns } = (await (await host.fetch(`${path}turns`, { headers })).json()) as TurnsView;
  const body = JSON.stringify({ turnId: turns[0]?.turnId });
  const tried = await host.fetch(`${path}try`, { method: "POST", headers, body });
  expect(tried.status).toBe(200);
  expect(offered(2)).toEqual([SEARCH]);
});

test("explainPrompt says what was deferred and what it saves", async () => {
  const host = open([search("create issue", 2), done], two());
  await say(host);
  const { deferredTools, sections } = await (await agentOf(host)).explainPrompt();
  expect(deferredTools).toMatchObject({
    tools: 100,
    groups: [
      { kind: "server", name: "GitHub", tools: 50 },
      { kind: "server", name: "Kubernetes cluster", tools: 50 }
    ]
  });
  const { tokensOfAll = 0, tokensOffered = 0, savedTokens = 0 } = deferredTools ?? {};
  expect(savedTokens).toBe(tokensOfAll - tokensOffered);
  expect(savedTokens).toBeGreaterThan(tokensOfAll * 0.8);
  expect(sections.find(({ label }) => label === "tool discovery")?.text).toContain('MCP server "GitHub": 50');
});
