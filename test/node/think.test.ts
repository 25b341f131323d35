import { tool, type UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Think, type ChatResponseResult } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  everyCrash,
  failInBand,
  reply,
  text,
  toolCall,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { type Frame, framesOf, sendChat } from "../kit/frames.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";

let script: Script;
let effects: string[] = [];

/** Without a response hook: what every turn costs. */
class Plain extends Think {
  override getModel() {
    return installedModel(script);
  }
}

class Chat extends Think {
  responses: string[] = [];

  override getModel() {
    return installedModel(script);
  }

  override getTools() {
    return {
      note: tool({
        inputSchema: z.object({ what: z.string() }),
        execute: async ({ what }) => {
          effects.push(what);
          return `noted ${what}`;
        }
      }),
      pay: tool({
        inputSchema: z.object({}),
        needsApproval: true,
        execute: async () => {
          effects.push("paid");
          return "paid";
        }
      })
    };
  }

  override onChatError(error: unknown) {
    return new Error(`sorry: ${error instanceof Error ? error.message : "?"}`);
  }

  override onChatResponse(result: ChatResponseResult) {
    this.responses.push(result.status);
  }

  readResponses() {
    return this.responses;
  }
}

function open(steps: Step[]) {
  script = createScript(steps);
  effects = [];
  return createTestHost({ agents: { Chat } });
}

function send(socket: TestSocket, id: string, messages: UIMessage[], extra: object = {}) {
  sendChat(socket, id, messages, extra);
}

const stored = (host: TestHost<object>, name = "a") => storedMessages(host, `/agents/chat/${name}`);

const terminal = (id: string) => (frame: unknown) => {
  const { type, id: of, done } = frame as Frame;
  return type === "cf_agent_use_chat_response" && of === id && done === true;
};

describe("a chat over the wire", () => {
  test("a fresh agent has no messages, and after a turn the question and its answer", async () => {
    const host = open([reply(text("Hel"), text("lo"))]);
    expect(await stored(host)).toEqual([]);
    const socket = await host.connect("/agents/chat/a");
    await host.idle();
    send(socket, "r1", [user("u1", "hi")]);
    expect(await socket.next(terminal("r1"))).toMatchObject({ outcome: "completed", messageIds: ["u1"] });
    expect(linesOf(await stored(host))).toEqual(["user:hi", "assistant:Hello"]);
    const start = framesOf(socket).find(({ body }) => body?.includes('"start"'));
    const messages = await stored(host);
    expect(JSON.parse(start?.body ?? "{}")).toMatchObject({ type: "start", messageId: messages[1]?.id });
    await host.idle();
    expect(host.alarm(Chat, "a")).not.toBeNull();
  });

  test("an observer sees the question before the first chunk, and both tabs end with the stored list", async () => {
    const host = open([reply(text("one"))]);
    const [a, b] = [await host.connect("/agents/chat/a"), await host.connect("/agents/chat/a")];
    await host.idle();
    send(a, "r1", [user("u1")]);
    await b.next(terminal("r1"));
    await host.idle();
    const order = framesOf(b).map(({ type }) => type);
    expect(order.lastIndexOf("cf_agent_mcp_servers")).toBeLessThan(order.indexOf("cf_agent_use_chat_response"));
    expect(order.filter((type) => type === "cf_agent_chat_messages").length).toBeGreaterThanOrEqual(2);
  });

  test("what fails is told in the class's words, once, and to a client that comes later", async () => {
    const host = open([reply(text("par"), failInBand(new Error("boom")))]);
    const socket = await host.connect("/agents/chat/a");
    await host.idle();
    send(socket, "r1", [user("u1")]);
    expect(await socket.next(terminal("r1"))).toMatchObject({ error: true, outcome: "error" });
    expect(framesOf(socket).filter(terminal("r1"))).toHaveLength(1);
    expect(linesOf(await stored(host))).toEqual(["user:u1", "assistant:par"]);
    const later = await host.connect("/agents/chat/a");
    later.send({ type: "cf_agent_stream_resume_request", probeId: "p1" });
    expect(await later.next("cf_agent_stream_resuming")).toMatchObject({ id: "r1", probeId: "p1" });
    later.send({ type: "cf_agent_stream_resume_ack", id: "r1" });
    expect(await later.next(terminal("r1"))).toMatchObject({ error: true });
  });

  test("a client that comes in the middle replays from the start and goes on live, with neither gap nor duplicate", async () => {
    const gate = createGate();
    const host = open([reply(text("a"), text("b"), gate.wait(), text("c"))]);
    const a = await host.connect("/agents/chat/a");
    await host.idle();
    send(a, "r1", [user("u1")]);
    await host.idle();
    const b = await host.connect("/agents/chat/a");
    expect(await b.next("cf_agent_stream_resuming")).toMatchObject({ id: "r1" });
    b.send({ type: "cf_agent_stream_resume_ack", id: "r1" });
    await host.idle();
    gate.open();
    await b.next(terminal("r1"));
    const bodies = (socket: TestSocket) =>
      framesOf(socket)
        .filter(({ seq }) => seq !== undefined)
        .map(({ seq, body }) => [seq, body]);
    expect(bodies(b)).toEqual(bodies(a));
  });

  test("stop keeps the partial answer", async () => {
    const gate = createGate();
    const host = open([reply(text("half"), gate.wait(), text("never"))]);
    const socket = await host.connect("/agents/chat/a");
    await host.idle();
    send(socket, "r1", [user("u1")]);
    await host.idle();
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    gate.open();
    expect(await socket.next(terminal("r1"))).toMatchObject({ outcome: "aborted" });
    expect(linesOf(await stored(host))).toEqual(["user:u1", "assistant:half"]);
  });

  test("regenerating shows the model only the question, and the new answer only to clients", async () => {
    const host = open([reply(text("first")), reply(text("second"))]);
    const socket = await host.connect("/agents/chat/a");
    await host.idle();
    send(socket, "r1", [user("u1", "why")]);
    await socket.next(terminal("r1"));
    send(socket, "r2", [user("u1", "why")], { trigger: "regenerate-message" });
    await socket.next(terminal("r2"));
    expect(linesOf(await stored(host))).toEqual(["user:why", "assistant:second"]);
    expect(JSON.stringify(script.calls[1]?.prompt)).not.toContain("first");
  });

  test("an approved tool runs once, a denied one never, and both go on", async () => {
    const host = open([reply(toolCall("pay", {}, { id: "c1" })), reply(text("done"))]);
    const socket = await host.connect("/agents/chat/a");
    await host.idle();
    send(socket, "r1", [user("u1")]);
    await socket.next(terminal("r1"));
    socket.send({ type: "cf_agent_tool_approval", toolCallId: "c1", approved: true, autoContinue: true });
    socket.send({ type: "cf_agent_tool_approval", toolCallId: "c1", approved: true, autoContinue: true });
    await host.advance(100);
    expect(effects).toEqual(["paid"]);
    const messages = await stored(host);
    expect(messages).toHaveLength(2);
    expect(linesOf(messages)[1]).toBe("assistant:done");
  });

  test("a clear empties the conversation for everybody", async () => {
    const host = open([reply(text("one")), reply(text("two"))]);
    const [a, b] = [await host.connect("/agents/chat/a"), await host.connect("/agents/chat/a")];
    send(a, "r1", [user("u1")]);
    await a.next(terminal("r1"));
    a.send({ type: "cf_agent_chat_clear" });
    await b.next("cf_agent_chat_clear");
    expect(await stored(host)).toEqual([]);
    send(a, "r2", [user("u2")]);
    await a.next(terminal("r2"));
    expect(linesOf(await stored(host))).toEqual(["user:u2", "assistant:two"]);
  });

  test("after everything is done the object has no alarm", async () => {
    const host = open([reply(text("one"))]);
    const socket = await host.connect("/agents/chat/a");
    send(socket, "r1", [user("u1")]);
    await socket.next(terminal("r1"));
    await host.advance(25 * 60_000);
    expect(host.alarm(Chat, "a")).toBeNull();
  });
});

describe("programmatic turns", () => {
  test("saveMessages answers, and tells what came of it", async () => {
    const host = open([reply(text("one"))]);
    const chat = await host.get(Chat, "a");
    expect(await chat.saveMessages([user("u1")])).toMatchObject({ status: "completed" });
    expect(linesOf(await stored(host))).toEqual(["user:u1", "assistant:one"]);
    expect(await chat.readResponses()).toEqual(["completed"]);
  });
});

test("a question that was being answered when its place became unreadable is answered, and the conversation is whole", async () => {
  const host = open([]);
  script = createScript([reply(text("one")), reply(text("two"))], { advance: "at-end", onExhausted: "repeat-last" });
  const socket = await host.connect("/agents/chat/a");
  send(socket, "r1", [user("u1")]);
  await host.idle();
  // The fourth write admits the question; the answer dies with the process.
  host.crashAfterWrite(4);
  send(socket, "r2", [user("u2")]);
  await host.idle();
  expect(host.crashed).toBe(true);
  const before = host.sql(Chat, "a", "SELECT leaf FROM cf_conversations");
  expect(before).toEqual([{ leaf: "u2" }]);
  host.sql(Chat, "a", `UPDATE cf_conversations SET leaf = '{"broken'`);
  await host.restart();
  await host.advance(120_000);
  expect(linesOf(await stored(host))).toEqual(["user:u1", "assistant:one", "user:u2", "assistant:two"]);
});

describe("cost", () => {
  test.each([
    ["soon after another one, seven rows", 0, 7],
    ["after a while, seven rows and two changes of the alarm", 60_000, 7 + 2]
  ])("a one-chunk turn writes, %s, whatever the length of the history", async (_when, pauseMs, written) => {
    const costs: { written: number; read: number }[] = [];
    for (const history of [10, 300]) {
      script = createScript([reply(text("warm")), reply(text("one"))]);
      const host = createTestHost({ agents: { Plain } });
      await (await host.get(Plain, "a")).addMessages(Array.from({ length: history }, (_, n) => user(`h${n}`)));
      const socket = await host.connect("/agents/plain/a");
      send(socket, "r0", [user("w")]);
      await socket.next(terminal("r0"));
      await host.advance(pauseMs);
      const before = host.counts;
      send(socket, "r1", [user("u1")]);
      await socket.next(terminal("r1"));
      await host.advance(pauseMs);
      const { rowsWritten, rowsRead } = host.counts;
      costs.push({ written: rowsWritten - before.rowsWritten, read: rowsRead - before.rowsRead });
    }
    expect(costs[0]?.written).toBe(written);
    expect(costs[1]).toEqual(costs[0]);
  });
});

test("killed after any write or inside any await, the question is answered once and the conversation is whole", async () => {
  let acknowledged = false;
  const result = await everyCrash({
    create: () => {
      acknowledged = false;
      const host = open([reply(toolCall("note", { what: "x" }, { id: "c1" })), reply(text("answer"))]);
      script = createScript([reply(toolCall("note", { what: "x" }, { id: "c1" })), reply(text("answer"))], {
        advance: "at-end",
        onExhausted: "repeat-last"
      });
      return host;
    },
    script: async (host) => {
      const socket = await host.connect("/agents/chat/a");
      send(socket, "r1", [user("u1")]);
      await host.idle();
      acknowledged = framesOf(socket).some(terminal("r1"));
    },
    finish: async (host) => {
      const messages = await stored(host);
      if (!acknowledged && messages.length === 0) {
        const socket = await host.connect("/agents/chat/a");
        send(socket, "r1", [user("u1")]);
      }
      await host.advance(120_000);
    },
    inspect: async (host) => {
      const messages = await stored(host);
      return { roles: messages.map(({ role }) => role), said: linesOf(messages).at(-1)?.endsWith("answer") };
    },
    points: "both"
  });
  expect(result.points).toBeGreaterThan(10);
  // The conversation is played once for every write and every await.
}, 30_000);
