// What waits over all agents, asked of an app over HTTP: with the key, once per change, and without taking the app's word for more
// than it is.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WaitingAgent } from "../local-data/waiting-agents.ts";
import { isAgentAddress, namedAgents } from "./named-agents.ts";
import { ProjectInbox, type InboxTarget } from "./project-inbox.ts";
import { startStudio } from "./studio-server.ts";

type Answer = { readonly status?: number; readonly body: unknown; readonly location?: string };

let app: Server;
let origin: string;
let asked: string[];
let answer: (path: string, request: IncomingMessage) => Answer;
const open: { close(): unknown }[] = [];

beforeEach(async () => {
  asked = [];
  answer = () => ({ body: inboxOf("a") });
  app = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization ?? ""}`);
    const { status = 200, body, location } = answer(request.url ?? "", request);
    response.writeHead(status, location === undefined ? {} : { location }).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(app, "listening");
  origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  app.closeAllConnections();
  app.close();
});

function inboxOf(...ids: string[]) {
  const entry = { kind: "action", name: "pay", isDecidable: true };
  return { approvals: ids.map((id) => ({ id, ...entry })), decided: [] };
}

const target = (): InboxTarget => ({ origin, prefix: "agents", token: "the key", query: { team: "a b" } });

/** An inbox of these agents; the list can be changed between two reads. */
function inbox(...agents: WaitingAgent[]) {
  const list = { agents, unread: 3 };
  return { list, inbox: new ProjectInbox(async () => list, target) };
}

const agent = (at: string, stamp: string | null = "1"): WaitingAgent => ({ at, stamp, waiting: [] });

test("each agent is asked with the key and the query, in its place below the prefix", async () => {
  const view = await inbox(agent("a/user%2F42"), agent("a/b/sub/c/d")).inbox.read(false);
  expect(asked.toSorted()).toEqual([
    "/agents/a/b/sub/c/d/inspect/v1/inbox?team=a+b Bearer the key",
    "/agents/a/user%2F42/inspect/v1/inbox?team=a+b Bearer the key"
  ]);
  expect(view).toMatchObject({
    agents: [{ at: "a/user%2F42", error: null }, { at: "a/b/sub/c/d" }],
    more: 0,
    unread: 3
  });
});

test("an agent that has not written since is not asked again, and one that has is", async () => {
  const { list, inbox: read } = inbox(agent("a/b"), agent("a/c"));
  await read.read(false);
  expect((await read.read(true)).agents).toHaveLength(2);
  expect(asked).toHaveLength(2);
  list.agents = [agent("a/b"), agent("a/c", "2")];
  await read.read(false);
  expect(asked.slice(2)).toEqual(["/agents/a/c/inspect/v1/inbox?team=a+b Bearer the key"]);
});

test("an agent of which it is not known when it writes is asked again after a decision, and not with every look", async () => {
  const { inbox: read } = inbox(agent("a/b", null));
  await read.read(false);
  await read.read(false);
  expect(asked).toHaveLength(1);
  await read.read(true);
  expect(asked).toHaveLength(2);
});

test("what a person cannot decide, and agents that do not wait after all, are left out", async () => {
  answer = (path) => ({
    body: path.includes("/b/") ? { approvals: [{ id: "x", kind: "client", isDecidable: false }] } : inboxOf("y")
  });
  const view = await inbox(agent("a/b"), agent("a/c")).inbox.read(false);
  expect(view.agents).toMatchObject([{ at: "a/c", approvals: [{ id: "y" }] }]);
});

test.each([
  ["refuses", { status: 403, body: { error: "Forbidden" } }, "It does not let Studio look."],
  ["fails", { status: 500, body: {} }, "The app answered 500."],
  ["leads elsewhere", { status: 302, body: {}, location: "http://127.0.0.1:1/" }, "It does not answer."],
  ["answers something else", { body: [1] }, "The app answered 200."]
])("an agent that %s is named with the reason", async (_what, said, error) => {
  answer = () => said;
  expect((await inbox(agent("a/b")).inbox.read(false)).agents).toEqual([{ at: "a/b", approvals: [], error }]);
});

test("of more than 100 agents the first 100 are asked, and it is said how many more there are", async () => {
  const view = await inbox(...Array.from({ length: 130 }, (_, index) => agent(`a/${index}`))).inbox.read(false);
  expect([view.agents.length, view.more, asked.length]).toEqual([100, 30, 100]);
});

test.each(["a/..", "a/%2e%2e", "../a", "a/b/../c", "a", "a//b", "a/b?x", "a/b#x", "a/b\\c", "a/%zz", "a/ b"])(
  "%s is no address of an agent, and is not asked",
  async (at) => {
    expect(isAgentAddress(at)).toBe(false);
    expect((await inbox(agent(at)).inbox.read(false)).agents[0]?.error).toBe(
      "No address leads to an agent of this name."
    );
    expect(asked).toEqual([]);
  }
);

test("named agents and those of a list are asked once each, with the key sent to the list as well", async () => {
  answer = () => ({ body: ["a/b", "a/c"] });
  const listedAt = new URL("/waiting?x=1", origin);
  const { agents, unread } = await namedAgents({ addresses: ["a/b"], listedAt, token: "the key" });
  expect(agents.map(({ at }) => at)).toEqual(["a/b", "a/c"]);
  expect([asked, unread]).toEqual([["/waiting?x=1 Bearer the key"], 0]);
});

test.each([
  [{ status: 404, body: {} }, "404"],
  [{ body: { agents: [] } }, "it is no list"],
  [{ body: ["a/b", "a/.."] }, "it is no list"],
  [{ status: 302, body: [], location: "http://127.0.0.1:1/" }, "there is no answer"]
])("a list that is none is refused in words: %j", async (said, why) => {
  answer = () => said;
  const read = namedAgents({ addresses: [], listedAt: new URL("/waiting", origin), token: undefined });
  await expect(read).rejects.toMatchObject({ code: "serve-agent-list", message: expect.stringContaining(why) });
});

test("Studio's server gives the list to its page only, and says when it has none", async () => {
  const options = {
    ...{ folder: "/nowhere", target, agents: [], agent: undefined, instance: undefined, canWrite: false, port: 0 }
  };
  const without = await startStudio(options);
  const listed = await startStudio({ ...options, waiting: async () => ({ agents: [agent("a/b")], unread: 0 }) });
  open.push(without, listed);
  const get = (url: string, headers: Record<string, string> = { "x-everthink-studio": "1" }) =>
    fetch(`${url}__studio/waiting.json`, { headers });
  expect((await get(listed.url, {})).status).toBe(403);
  expect(asked).toEqual([]);
  expect(await (await get(listed.url)).json()).toMatchObject({ agents: [{ at: "a/b" }] });
  expect((await get(without.url)).status).toBe(404);
  const hasInbox = async (url: string) => (await (await fetch(`${url}__studio/config.json`)).json()) as object;
  expect(await hasInbox(listed.url)).toMatchObject({ hasInbox: true });
  expect(await hasInbox(without.url)).toMatchObject({ hasInbox: false });
});
