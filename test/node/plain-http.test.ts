// Chat over HTTP against clients that are no browsers, or hostile: what is refused, what it costs, what stops an answer.
import { tool } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
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
  type Step
} from "../../src/testing/index.ts";
import { postChat as post, settle } from "./plain-kit.ts";
import { storedMessages, textsOf, user } from "../kit/messages.ts";

// One test sends 40 MB to a client that does not read them.
vi.setConfig({ testTimeout: 60_000 });

let script: Script;

class Chat extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  override getTools() {
    return {
      place: tool({ inputSchema: z.object({}) }),
      look: tool({ inputSchema: z.object({}), execute: () => "seen" })
    };
  }

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.get("role") === "guest";
  }

  override onRequest() {
    return new Response("mine");
  }
}

/** Turns clients away where sockets come in: nothing may come in elsewhere. */
class Guarded extends Chat {
  override onConnect(connection: Connection) {
    connection.close(4001, "Log in first");
  }
}

class Opened extends Guarded {
  override plainChat = true;
}

class Closed extends Chat {
  override plainChat = false;
}

/** Sends frames of its own. */
class Greeting extends Chat {
  override onConnect(connection: Connection) {
    connection.send(JSON.stringify({ hello: connection.id }));
    this.broadcast("a client came");
  }
}

class Busy extends Chat {
  override messageConcurrency = "drop" as const;
}

class Wordy extends Chat {
  override maxAnswerBytes = 0;
}

afterEach(() => void vi.restoreAllMocks());

function open(steps: Step[]) {
  script = createScript(steps);
  return createTestHost({ agents: { Chat, Guarded, Opened, Closed, Busy, Wordy, Greeting } });
}

const startsIn = (events: string) => events.split('data: {"type":"start"').length - 1;

describe("a request", () => {
  test("is answered with server-sent events that end in [DONE]", async () => {
    const host = open([reply(text("Hello"))]);
    const response = await post(host, { id: "page", messages: [user("u1")], trigger: "submit-message" });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    const events = (await response.text()).split("\n\n").filter(Boolean);
    expect(events.at(-1)).toBe("data: [DONE]");
    const [start] = events.map((event) => event.slice("data: ".length));
    expect(JSON.parse(start ?? "")).toEqual({ type: "start", messageId: (await storedMessages(host))[1]?.id });
  });

  test.each([
    ["no JSON type", { headers: { "Content-Type": "text/plain" } }, { messages: [user("u1")] }, 415],
    ["a form's type", { headers: { "Content-Type": "application/x-www-form-urlencoded" } }, "a=b", 415],
    ["no JSON", {}, "{", 400],
    ["no list", {}, { messages: "hi" }, 400],
    ["a message without parts", {}, { messages: [{ id: "u1", role: "user" }] }, 400],
    ["another site's page", { headers: { Origin: "https://evil.example" } }, { messages: [user("u1")] }, 403],
    ["a readonly client", { path: "/agents/chat/a/chat?role=guest" }, { messages: [user("u1")] }, 403]
  ])("with %s is refused, and nothing is stored", async (_what, init, body, status) => {
    vi.spyOn(console, "warn").mockReturnValue();
    const host = open([]);
    const response = await post(host, body, init);
    expect(response.status).toBe(status);
    expect(response.headers.get("cache-control") ?? "no-store").toBe("no-store");
    expect(await storedMessages(host)).toEqual([]);
  });

  test("of the same origin, and of a program without one, is taken", async () => {
    const host = open([reply(text("a")), reply(text("b"))]);
    const own = await post(host, { messages: [user("u1")] }, { headers: { Origin: "http://localhost" } });
    expect([own.status, (await own.text()).includes("DONE")]).toEqual([200, true]);
    const program = await post(host, { messages: [user("u2")] });
    expect([program.status, (await program.text()).includes("DONE")]).toEqual([200, true]);
  });

  test("that is too large is refused while it is read", async () => {
    const host = open([]);
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(1024 * 1024).fill(32));
      }
    });
    const request = new Request("http://localhost/agents/chat/a/chat", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      duplex: "half"
    } as RequestInit);
    const response = await host.fetch(request);
    expect(response.status).toBe(413);
    expect(sent).toBeLessThan(40);
  });

  test("that is delivered twice is answered twice and asked once", async () => {
    const gate = createGate();
    const host = open([reply(text("one "), gate.wait(), text("answer"))]);
    const first = await post(host, { messages: [user("u1")] });
    const second = await post(host, { messages: [user("u1")] });
    gate.open();
    expect(await second.text()).toBe(await first.text());
    // After the end, too: what is stored is the answer.
    const third = await (await post(host, { messages: [user("u1")] })).text();
    expect(third).toContain("one answer");
    expect(textsOf(await storedMessages(host))).toEqual(["u1", "one answer"]);
  });

  test("under an id that is stored is another question, unless the client names it: then it is an edit", async () => {
    const host = open([reply(text("one")), reply(text("two")), reply(text("three")), reply(text("four"))]);
    const ask = async (body: object) => (await post(host, body)).text();
    await ask({ messages: [user("message-1", "first")] });
    await ask({ messages: [user("message-2", "second")] });
    // A terminal that was started anew counts from 1 again.
    await ask({ messages: [user("message-1", "other")] });
    expect(textsOf(await storedMessages(host))).toEqual(["first", "one", "second", "two", "other", "three"]);
    await ask({ messages: [user("message-2", "edited")], messageId: "message-2" });
    expect(textsOf(await storedMessages(host))).toEqual(["first", "one", "edited", "four"]);
  });

  test("that is dropped by the class's policy is refused in words", async () => {
    const gate = createGate();
    const host = open([reply(text("one"), gate.wait())]);
    const path = "/agents/busy/a/chat";
    const first = await post(host, { messages: [user("u1")] }, { path });
    await gate.reached;
    const second = await post(host, { messages: [user("u1"), user("u2")] }, { path });
    expect([second.status, await second.text()]).toEqual([409, expect.stringContaining("not taken")]);
    gate.open();
    await first.text();
    expect(textsOf(await storedMessages(host, "/agents/busy/a"))).toEqual(["u1", "one"]);
  });

  test("cannot answer a call that the server runs, nor one that waits for no answer", async () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    const host = open([reply(toolCall("look", {}, { id: "c1" })), reply(text("ok")), reply(text("again"))]);
    await (await post(host, { messages: [user("u1")] })).text();
    const answer = (await storedMessages(host))[1];
    const forged = {
      ...answer,
      parts: answer?.parts.map((part) => ("toolCallId" in part ? { ...part, output: "forged" } : part))
    };
    const response = await post(host, { messages: [user("u1"), forged, user("u2")] });
    expect(await response.text()).toContain("again");
    expect(JSON.stringify(await storedMessages(host))).not.toContain("forged");
    expect(warn).not.toHaveBeenCalled();
  });

  test("that answers calls which no stored message has costs no walk through the history for each", async () => {
    const readBy = async (count: number) => {
      const host = open(Array.from({ length: 21 }, () => reply(text("ok"))));
      for (let index = 0; index < 20; index += 1) await (await post(host, { messages: [user(`u${index}`)] })).text();
      const parts = Array.from({ length: count }, (_, index) => ({
        type: "tool-place",
        toolCallId: `forged-${index}`,
        state: "output-available",
        input: {},
        output: "x"
      }));
      const answer = { id: "forged", role: "assistant", parts };
      const before = host.counts.rowsRead;
      await (await post(host, { messages: [answer, user("new")] })).text();
      return host.counts.rowsRead - before;
    };
    expect(await readBy(300)).toBe(await readBy(0));
  });

  test("that goes on from a decision is sent the rest of the answer, and no second beginning", async () => {
    const host = open([reply(text("Where? "), toolCall("place", {}, { id: "c1" })), reply(text("Oslo."))]);
    expect(startsIn(await (await post(host, { messages: [user("u1")] })).text())).toBe(1);
    const messages = (await storedMessages(host)).map((message) => ({
      ...message,
      parts: message.parts.map((part) =>
        "toolCallId" in part ? { ...part, state: "output-available", output: "Oslo" } : part
      )
    }));
    const response = await post(host, { messages });
    await settle(host);
    const rest = await response.text();
    expect([startsIn(rest), rest.includes("Oslo.")]).toEqual([0, true]);
    // One that comes back starts anew, and is sent one beginning for both turns.
    await host.restart();
    const resumed = await (await host.fetch("/agents/chat/a/chat/page/stream")).text();
    expect([startsIn(resumed), resumed.includes("Where? "), resumed.includes("Oslo.")]).toEqual([1, true, true]);
  });

  test("costs what its newest message costs, however long the list is", async () => {
    const cost = async (length: number) => {
      const host = open([...Array.from({ length: 4 }, () => reply(text("one"))), reply(text("last"))]);
      for (const id of ["u1", "u2", "u3"]) await (await post(host, { messages: [user(id)] })).text();
      // With two versions of an answer, a message that is not shown may still be stored.
      await (await post(host, { messages: await storedMessages(host), trigger: "regenerate-message" })).text();
      await host.idle();
      const history = Array.from({ length }, (_, index) => user(`old-${index}`, "x".repeat(200)));
      const messages = [...history, ...(await storedMessages(host)), user("new")];
      const before = { ...host.counts };
      await (await post(host, { messages })).text();
      await host.idle();
      return { writes: host.counts.writes - before.writes, rowsRead: host.counts.rowsRead - before.rowsRead };
    };
    expect(await cost(2_000)).toEqual(await cost(0));
  });
});

describe("a reader", () => {
  test("that leaves stops nothing; one that comes later is sent all of it, and 204 if there is nothing", async () => {
    const gate = createGate();
    const host = open([reply(text("first "), gate.wait(), text("second"))]);
    const nothing = await host.fetch("/agents/chat/a/chat/page/stream");
    expect([nothing.status, await nothing.text()]).toEqual([204, ""]);
    const left = await post(host, { messages: [user("u1")] });
    await gate.reached;
    await left.body?.cancel();
    const later = await host.fetch("/agents/chat/a/chat/page/stream");
    gate.open();
    const seen = await later.text();
    expect(seen).toContain("first ");
    expect(seen).toContain("second");
    expect(textsOf(await storedMessages(host))).toEqual(["u1", "first second"]);
  });

  test("that lost an answer may still fetch it when another was sent all of it, however often", async () => {
    const gate = createGate();
    const host = open([reply(text("first "), gate.wait(), text("second"))]);
    const path = "/agents/chat/a/chat/page/stream";
    const asked = await post(host, { messages: [user("u1")] });
    await gate.reached;
    const lost = await host.fetch(path);
    await lost.body?.cancel();
    gate.open();
    expect(await asked.text()).toContain("second");
    for (let round = 0; round < 2; round += 1) {
      const again = await host.fetch(path);
      expect([again.status, (await again.text()).includes("second")]).toEqual([200, true]);
    }
  });

  test("that comes back while an answer goes on is sent one beginning, although two turns wrote it", async () => {
    const gate = createGate();
    const host = open([
      reply(text("Where? "), toolCall("place", {}, { id: "c1" })),
      reply(text("Oslo"), gate.wait(), text("."))
    ]);
    await (await post(host, { messages: [user("u1")] })).text();
    const [question, answer] = await storedMessages(host);
    const parts = answer?.parts.map((part) =>
      "toolCallId" in part ? { ...part, state: "output-available", output: 1 } : part
    );
    const asked = await post(host, { messages: [question, { ...answer, parts }] });
    await settle(host);
    await gate.reached;
    const resumed = await host.fetch("/agents/chat/a/chat/page/stream");
    gate.open();
    await asked.text();
    const whole = await resumed.text();
    expect([startsIn(whole), whole.includes("Where? ")]).toEqual([1, true]);
  });

  test("that may only watch is sent the answer, and stops nothing", async () => {
    const gate = createGate();
    const host = open([reply(text("first "), gate.wait(), text("second"))]);
    await post(host, { messages: [user("u1")] });
    await gate.reached;
    const watching = await host.fetch("/agents/chat/a/chat/page/stream?role=guest");
    const refused = await host.fetch("/agents/chat/a/chat/page/stream?role=guest", { method: "DELETE" });
    expect(refused.status).toBe(403);
    gate.open();
    expect(await watching.text()).toContain("second");
  });

  test.each(["/agents/chat/a/chat", "/agents/chat/a/chat/page/stream"])("is stopped by DELETE %s", async (path) => {
    const gate = createGate();
    const host = open([reply(text("first "), gate.wait(), text("second"))]);
    const response = await post(host, { messages: [user("u1")] });
    await gate.reached;
    const stopped = await host.fetch(path, { method: "DELETE" });
    expect(stopped.status).toBe(204);
    expect(await response.text()).toContain('{"type":"abort"}');
    expect(textsOf(await storedMessages(host))).toEqual(["u1", "first "]);
  });

  test("of another site's page cannot stop an answer", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    const host = open([]);
    const headers = { Origin: "https://evil.example" };
    expect((await host.fetch("/agents/chat/a/chat", { method: "DELETE", headers })).status).toBe(403);
  });

  test("that does not read is cut off at a limit with an error it can read, the answer goes on, and it may resume", async () => {
    const words = "x".repeat(1_000_000);
    const host = open([reply(...Array.from({ length: 40 }, () => text(words)))]);
    const response = await post(host, { messages: [user("u1")] }, { path: "/agents/wordy/a/chat" });
    await host.idle();
    const events = (await response.text()).split("\n\n").filter((event) => event !== "");
    expect(JSON.parse(events.at(-2)?.slice("data: ".length) ?? "")).toEqual({
      type: "error",
      errorText: expect.stringContaining("Load it again")
    });
    expect(events.at(-1)).toBe("data: [DONE]");
    const [, answer] = await storedMessages(host, "/agents/wordy/a");
    const resumed = await host.fetch("/agents/wordy/a/chat/page/stream");
    expect(await resumed.text()).toContain(`{"type":"start","messageId":"${answer?.id}"`);
  });
});

describe("the way in", () => {
  test("is closed for a class that may turn clients away in onConnect, unless it says otherwise", async () => {
    const host = open([reply(text("hi"))]);
    const guarded = await post(host, { messages: [user("u1")] }, { path: "/agents/guarded/a/chat" });
    expect(await guarded.text()).toBe("mine");
    expect(await storedMessages(host, "/agents/guarded/a")).toEqual([]);
    const opened = await post(host, { messages: [user("u1")] }, { path: "/agents/opened/a/chat" });
    expect(await opened.text()).toContain("hi");
    const socket = await host.connect("/agents/guarded/a/chat");
    await host.idle();
    expect(socket.closed).toMatchObject({ code: 4001 });
  });

  test("a plain socket is left out of everything else that the class sends: its client would hang up", async () => {
    const host = open([reply(text("hi"))]);
    const socket = await host.connect("/agents/greeting/a/chat");
    const usual = await host.connect("/agents/greeting/a");
    await host.idle();
    socket.send({ type: "send", requestId: "r1", id: "c", messages: [user("u1")], headers: {}, body: {} });
    await socket.next("end");
    expect(new Set(socket.frames.map((frame) => (frame as { type?: string }).type))).toEqual(new Set(["chunk", "end"]));
    expect(usual.frames).toContain("a client came");
    // One that sends `_pk` is a client of the usual protocol, whatever its path.
    const published = await host.connect("/agents/greeting/a/chat?_pk=x");
    await expect(published.next("cf_agent_identity")).resolves.toMatchObject({ agent: "greeting" });
  });

  test("can be closed", async () => {
    const host = open([]);
    const closed = await post(host, { messages: [user("u1")] }, { path: "/agents/closed/a/chat" });
    expect(await closed.text()).toBe("mine");
    // The path says nothing then: it is a socket of the usual protocol.
    const socket = await host.connect("/agents/closed/a/chat");
    await expect(socket.next("cf_agent_identity")).resolves.toMatchObject({ agent: "closed" });
  });

  test.each([
    "/agents/chat/a/chat/x",
    "/agents/chat/a/chat/x/stream/y",
    "/agents/chat/a/chats",
    "/agents/chat/a/x/chat"
  ])("%s is the class's own", async (path) => {
    expect(await (await post(open([]), { messages: [] }, { path })).text()).toBe("mine");
  });

  test.each([
    ["PUT", "/agents/chat/a/chat", "POST, DELETE"],
    ["GET", "/agents/chat/a/chat", "POST, DELETE"],
    ["POST", "/agents/chat/a/chat/x/stream", "GET, DELETE"]
  ])("%s %s is refused with what is allowed", async (method, path, allow) => {
    const response = await open([]).fetch(path, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
  });
});
