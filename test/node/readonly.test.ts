// A readonly connection may watch and nothing else: every frame and call with which a client can change a conversation,
// tried on a conversation with an answer on its way, and on one that waits for a person.
import { tool } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, Think } from "../../src/index.ts";
import type { Connection, ConnectionContext } from "../../src/agent-class/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { type Frame, framesOf } from "../kit/frames.ts";
import { storedMessages, user } from "../kit/messages.ts";

let script: Script;
let effects: string[];

class Stage extends Think {
  static override callables = [
    ...["ask", "wipe", "halt", "turnAround", "reopen", "clearMessages"],
    ...["put", "putSilently", "rewrite", "reset", "announce", "resolveActionLedger"]
  ];

  override getModel() {
    return scriptedModel(script);
  }

  override getTools() {
    const run = (what: string) => async () => {
      effects.push(what);
      return what;
    };
    return {
      where: tool({ description: "Asks the browser.", inputSchema: z.object({}) }),
      mail: tool({ inputSchema: z.object({}), needsApproval: true, execute: run("mailed") })
    };
  }

  override getActions() {
    return {
      pay: action({
        description: "Pays.",
        inputSchema: z.object({}),
        approval: true,
        execute: async () => {
          effects.push("paid");
          return "paid";
        }
      })
    };
  }

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.has("watch");
  }

  // What an application's own callables may do on a client's behalf.
  async ask(words: string) {
    return this.saveMessages([user("u-called", words)]);
  }
  async wipe() {
    await this.clearMessages();
  }
  halt(requestId: string) {
    this.cancelChat(requestId);
    this.cancelAllChats();
  }
  async turnAround(input: string) {
    return this.runTurn({ input });
  }
  /** Called on the stub, by the server. */
  letIn() {
    for (const connection of this.getConnections()) this.setConnectionReadonly(connection, false);
  }
  async reopen() {
    return this.continueLastTurn();
  }
  async put(words: string) {
    await this.addMessages([user("u-put", words)]);
  }
  async putSilently(words: string) {
    await this.appendMessageToHistory(user("u-silent", words));
  }
  async rewrite(id: string) {
    await this.updateMessageInHistory(user(id, "Rewritten"));
  }
  reset() {
    this.resetTurnState();
  }
  async announce(words: string) {
    await this.deliverNotice(words);
  }
}

class Lobby extends Think {
  declare getModel: Think["getModel"];
}

beforeEach(() => {
  effects = [];
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const question = (id: string, words = "Hello?") => ({
  type: "cf_agent_use_chat_request",
  id,
  init: { method: "POST", body: JSON.stringify({ messages: [user(`u-${id}`, words)] }) }
});

/** As any client can fetch it. */
const stored = (host: TestHost<object>) => storedMessages(host, "/agents/stage/a");

function open(...steps: Step[]): TestHost<object> {
  script = createScript(steps);
  return createTestHost({ agents: { Stage, Lobby } });
}

/** Everything a client can send to change something, by what it would do. `callId` is of a call that waits. */
function attempts(callId: string): [string, Record<string, unknown>][] {
  const call = (method: string, ...args: unknown[]) => ({ type: "rpc", id: `rpc-${method}`, method, args });
  const post = (id: string, body: unknown) => ({
    type: "cf_agent_use_chat_request",
    id,
    init: { method: "POST", body: JSON.stringify(body) }
  });
  return [
    ["ask", question("w1", "Let me in")],
    ["ask with a malformed body", post("w2", { messages: "none" })],
    ["edit", post("w3", { messages: [user("u-r1", "Edited")] })],
    ["regenerate", post("w4", { messages: [user("u-r1", "Hello?")], trigger: "regenerate-message" })],
    ["cancel", { type: "cf_agent_chat_request_cancel", id: "r1" }],
    ["clear", { type: "cf_agent_chat_clear" }],
    ["answer a tool", { type: "cf_agent_tool_result", toolCallId: callId, output: "here", autoContinue: true }],
    ["approve", { type: "cf_agent_tool_approval", toolCallId: callId, approved: true, autoContinue: true }],
    ["reject", { type: "cf_agent_tool_approval", toolCallId: callId, approved: false, autoContinue: true }],
    ["change the state", { type: "cf_agent_state", state: { taken: true } }],
    ["approve by call", call("approveExecution", callId)],
    ["reject by call", call("rejectExecution", callId, "no")],
    ["choose a branch", call("selectBranch", "u-r1")],
    ["clear by a method of Think", call("clearMessages")],
    ["ask by call", call("ask", "Let me in")],
    ["clear by call", call("wipe")],
    ["cancel by call", call("halt", "r1")],
    ["run a turn by call", call("turnAround", "Let me in")],
    ["continue by call", call("reopen")],
    ["add a message by call", call("put", "Let me in")],
    ["add a message silently by call", call("putSilently", "Let me in")],
    ["change a message by call", call("rewrite", "u-r1")],
    ["give up turns by call", call("reset")],
    ["send a notice by call", call("announce", "Let me in")],
    ["settle an action by call", call("resolveActionLedger", "key", { retry: true })]
  ];
}

async function tryAll(host: TestHost<object>, watcher: TestSocket, callId: string): Promise<Map<string, Frame[]>> {
  const answers = new Map<string, Frame[]>();
  for (const [what, frame] of attempts(callId)) {
    const before = watcher.frames.length;
    watcher.send(frame);
    await host.idle();
    answers.set(what, watcher.frames.slice(before) as Frame[]);
  }
  return answers;
}

test("a readonly connection follows an answer that it can neither stop, clear, nor talk into", async () => {
  const gate = createGate();
  const host = open(reply(text("Good "), gate.wait(), text("day.")));
  const asker = await host.connect("/agents/stage/a");
  const watcher = await host.connect("/agents/stage/a?watch");
  asker.send(question("r1"));
  await host.idle();
  const answers = await tryAll(host, watcher, "nothing-waits");
  gate.open();
  await host.idle();
  expect((await stored(host)).map(({ role, parts }) => [role, ...parts])).toMatchObject([
    ["user", { text: "Hello?" }],
    ["assistant", { type: "step-start" }, { text: "Good day." }]
  ]);
  expect(script.calls).toHaveLength(1);
  const ends = (socket: TestSocket) => framesOf(socket).filter(({ id, done }) => id === "r1" && done);
  expect([ends(asker), ends(watcher)]).toMatchObject([[{ outcome: "completed" }], [{ outcome: "completed" }]]);
  const deltas = (socket: TestSocket) =>
    framesOf(socket).flatMap(({ id, body }) => (id === "r1" && body?.includes("text-delta") ? [body] : []));
  expect(deltas(watcher)).toEqual(deltas(asker));
  expect(deltas(watcher).length).toBeGreaterThan(0);
  expect(answers.size).toBe(25);
});

test("a client that waits for an answer is told that its connection is readonly, and one that cleared sees the messages again", async () => {
  const host = open(reply(text("Good day.")));
  const asker = await host.connect("/agents/stage/a");
  asker.send(question("r1"));
  await host.idle();
  const watcher = await host.connect("/agents/stage/a?watch");
  await host.idle();
  const answers = await tryAll(host, watcher, "nothing-waits");
  expect(answers.size).toBe(25);
  for (const [what, frames] of answers) {
    const isCall = frames.some(({ type }) => type === "rpc");
    if (isCall) expect([what, frames]).toMatchObject([what, [{ success: false, error: "Connection is readonly" }]]);
  }
  expect([...answers.values()].filter((frames) => frames.some(({ type }) => type === "rpc"))).toHaveLength(15);
  const refused = { type: "cf_agent_use_chat_response", done: true, error: true, body: "Connection is readonly" };
  for (const what of ["ask", "ask with a malformed body", "edit", "regenerate"]) {
    expect([what, answers.get(what)]).toMatchObject([what, [refused]]);
  }
  expect(answers.get("change the state")).toMatchObject([{ type: "cf_agent_state_error" }]);
  const shown = { type: "cf_agent_chat_messages", messages: [{ id: "u-r1" }, { role: "assistant" }] };
  for (const what of ["clear", "answer a tool", "approve", "reject"]) {
    expect([what, answers.get(what)]).toMatchObject([what, [shown]]);
  }
  expect(answers.get("cancel")).toEqual([]);
});

test.each([
  ["a client tool", "where", "c1"],
  ["an approval", "mail", "c1"],
  ["a parked action", "pay", ""]
])("%s waits on, whatever a readonly connection sends", async (_what, toolName, callId) => {
  const host = open(reply(toolCall(toolName, {}, { id: "c1" })), reply(text("Waiting.")));
  const asker = await host.connect("/agents/stage/a");
  asker.send(question("r1"));
  await host.idle();
  const stage = await host.get(Stage, "a");
  const before = JSON.stringify([await stored(host), await stage.pendingApprovals()]);
  const [pending] = await stage.pendingApprovals();
  const calls = script.calls.length;
  const watcher = await host.connect("/agents/stage/a?watch");
  expect((await tryAll(host, watcher, callId || (pending?.executionId ?? "none"))).size).toBe(25);
  expect(JSON.stringify([await stored(host), await stage.pendingApprovals()])).toBe(before);
  expect([effects, script.calls.length]).toEqual([[], calls]);
});

test("a connection stays readonly over hibernation, also one of a sub-agent, until the server opens it", async () => {
  const host = open(reply(text("Now you may.")));
  const watcher = await host.connect("/agents/stage/a?watch");
  const below = await host.connect("/agents/lobby/l/sub/stage/b?watch");
  await host.evictAll();
  for (const socket of [watcher, below]) {
    socket.send(question("r1"));
    expect(await socket.next("cf_agent_use_chat_response")).toMatchObject({ body: "Connection is readonly" });
  }
  expect(script.calls).toHaveLength(0);
  const stage = await host.get(Stage, "a");
  expect(await stored(host)).toEqual([]);
  await stage.letIn();
  watcher.send(question("r2"));
  await host.idle();
  expect((await stored(host)).map(({ role }) => role)).toEqual(["user", "assistant"]);
});
