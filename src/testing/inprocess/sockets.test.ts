// WebSockets that outlive their object's memory.
import { expect, test } from "vitest";
import { DurableObject, openSocketPair, platformOf } from "#platform";
import { createTestHost } from "../index.ts";
import { standIn } from "./stand-in.ts";

class Room extends DurableObject {
  readonly log: string[] = [];
  seen = new Set<WebSocket>();

  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (request.headers.get("Upgrade") !== "websocket") return new Response("no socket here", { status: 426 });
    const { server, response } = openSocketPair();
    if (url.searchParams.has("plain")) {
      server.accept();
      server.addEventListener("message", (event) => server.send(`plain ${event.data}`));
      server.addEventListener("close", (event) => this.log.push(`plain close ${event.code}`));
      return response;
    }
    this.ctx.acceptWebSocket(server, url.searchParams.getAll("tag"));
    server.serializeAttachment({ who: url.searchParams.get("who") });
    server.send("welcome");
    return response;
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer) {
    this.seen.add(socket);
    if (typeof message !== "string") return socket.send(message);
    if (message === "slow") await platformOf(this.ctx).clock.sleep(100);
    if (message === "throw") throw new Error("handler failed");
    if (message === "bye") {
      socket.close(4001, "server says bye");
      socket.close(4002, "ignored");
      return this.tryTo(() => socket.send("too late"));
    }
    this.log.push(message);
    const { who } = socket.deserializeAttachment();
    socket.send({ toString: () => JSON.stringify({ type: "echo", message, who, sockets: this.seen.size }) } as never);
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string, wasClean: boolean) {
    const open = this.ctx.getWebSockets().length;
    this.log.push(`close ${code} ${reason} ${wasClean} state=${socket.readyState} open=${open}`);
    if (code === 4100) socket.close(4101, "answer");
  }

  override webSocketError(_socket: WebSocket, error: unknown) {
    this.log.push(`error ${String(error)}`);
  }

  entries() {
    return this.log;
  }
  openSockets(tag?: string) {
    return this.ctx.getWebSockets(tag).map((socket) => [socket.readyState, this.ctx.getTags(socket)]);
  }
  broadcast(text: string) {
    for (const socket of this.ctx.getWebSockets()) socket.send(text);
  }
  stop() {
    this.ctx.abort("stopped");
  }
  autoRespond() {
    this.ctx.setWebSocketAutoResponse({ request: "ping", response: "pong" } as WebSocketRequestResponsePair);
  }
  tryTo(work: () => unknown) {
    try {
      work();
    } catch (error) {
      this.log.push(String(error));
    }
  }
  limits() {
    const { server } = openSocketPair();
    this.tryTo(() => this.ctx.getTags(server));
    this.tryTo(() => server.serializeAttachment("x".repeat(17_000)));
    const elevenTags = Array.from({ length: 11 }, (_, index) => `t${index}`);
    this.tryTo(() => this.ctx.acceptWebSocket(server, elevenTags));
    this.tryTo(() => this.ctx.acceptWebSocket(server, ["x".repeat(257)]));
    this.ctx.acceptWebSocket(server);
    this.tryTo(() => this.ctx.acceptWebSocket(server));
    this.tryTo(() => server.close(1005));
    this.tryTo(() => server.close(1000, "x".repeat(124)));
    return this.log;
  }
  async connectTo(name: string) {
    const rooms = standIn<{ Room: DurableObjectNamespace<Room> }>(this.env);
    const response = await rooms.Room.getByName(name).fetch("http://x/?who=object", {
      headers: { Upgrade: "websocket" }
    });
    const socket = response.webSocket;
    if (socket === null) throw new Error("no socket");
    const first = new Promise<string>((resolve) =>
      socket.addEventListener("message", (event) => resolve(String(event.data)))
    );
    socket.accept();
    return [response.status, await first] as [number, string];
  }
}

const open = () => createTestHost({ agents: { Room } });

test("a socket carries text and bytes both ways, in order, what was sent before the upgrade included", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a?who=ann");
  socket.send("one");
  socket.send("two");
  socket.send(new Uint8Array([1, 2, 3]));
  await host.idle();
  expect(socket.frames).toEqual([
    "welcome",
    { type: "echo", message: "one", who: "ann", sockets: 1 },
    { type: "echo", message: "two", who: "ann", sockets: 1 },
    new Uint8Array([1, 2, 3])
  ]);
});

test("handlers of one socket start in frame order and interleave where they await", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  for (const message of ["slow", "b", "c"]) socket.send(message);
  await host.advance(100);
  expect(await (await host.get(Room, "a")).entries()).toEqual(["b", "c", "slow"]);
});

test("a throwing handler leaves the socket open", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  socket.send("throw");
  socket.send("next");
  expect(await socket.next("echo")).toMatchObject({ message: "next" });
});

test("a socket survives eviction with tags and attachment; the next message builds the object anew", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a?who=ann&tag=red&tag=red&tag=blue");
  socket.send("before");
  await host.evict(Room, "a");
  socket.send("after");
  expect(await socket.next((frame) => frame["message"] === "after")).toMatchObject({ who: "ann", sockets: 1 });
  const room = await host.get(Room, "a");
  expect(await room.entries()).toEqual(["after"]);
  expect(await room.openSockets("red")).toEqual([[1, ["red", "blue"]]]);
  expect(await room.openSockets("green")).toEqual([]);
});

test("a client's close reaches the handler while the socket is closing; the client ends only when answered", async () => {
  const host = open();
  const room = await host.get(Room, "a");
  const unanswered = await host.connect("/agents/room/a");
  unanswered.close(4200, "mine");
  const answered = await host.connect("/agents/room/a");
  await host.idle();
  answered.close(4100, "please answer");
  await host.idle();
  expect(await room.entries()).toEqual([
    "close 4200 mine true state=2 open=2",
    "close 4100 please answer true state=2 open=1"
  ]);
  expect([unanswered.closed, answered.closed]).toEqual([undefined, { code: 4101, reason: "answer" }]);
  expect(await room.openSockets()).toEqual([]);
});

test("a server's close reaches the client, then the handler; sending afterwards throws", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  socket.send("bye");
  await host.idle();
  expect(socket.closed).toEqual({ code: 4001, reason: "server says bye" });
  expect(await (await host.get(Room, "a")).entries()).toEqual([
    "TypeError: Can't call WebSocket send() after close().",
    "close 4001  true state=3 open=1"
  ]);
});

test("a lost connection is a close with 1006; a broken one is an error", async () => {
  const host = open();
  (await host.connect("/agents/room/a")).drop();
  (await host.connect("/agents/room/a")).fail(new Error("reset by peer"));
  await host.idle();
  const room = await host.get(Room, "a");
  expect(await room.entries()).toEqual([
    expect.stringContaining("close 1006 WebSocket disconnected without sending Close frame. false state=3"),
    "error Error: reset by peer"
  ]);
  expect(await room.openSockets()).toEqual([]);
});

test("abort and restart break clients with 1006, and the object is not told", async () => {
  const host = open();
  const first = await host.connect("/agents/room/a");
  await expect((await host.get(Room, "a")).stop()).rejects.toThrow("stopped");
  await host.idle();
  expect(first.closed).toEqual({ code: 1006, reason: "" });
  const second = await host.connect("/agents/room/a");
  await host.restart();
  expect(second.closed).toEqual({ code: 1006, reason: "" });
  expect(await (await host.get(Room, "a")).entries()).toEqual([]);
});

test("auto-response answers without waking the object", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  await (await host.get(Room, "a")).autoRespond();
  await host.evict(Room, "a");
  const before = host.counts.awaits;
  socket.send("ping");
  await host.idle();
  expect(socket.frames.at(-1)).toBe("pong");
  expect(host.counts.awaits).toBe(before);
});

test("limits and misuse fail with the platform's words", async () => {
  const host = open();
  expect(await (await host.get(Room, "a")).limits()).toEqual([
    "Error: you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket.",
    "Error: A WebSocket 'attachment' cannot be larger than 16384 bytes.'attachment' was 17006 bytes.",
    "Error: a Hibernatable WebSocket cannot have more than 10 tags",
    expect.stringContaining("is longer than the max tag length (256 characters)."),
    "Error: Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`",
    "InvalidAccessError: Invalid WebSocket close code: 1005.",
    "SyntaxError: WebSocket close reason must not be longer than 123 bytes when UTF-8 encoded."
  ]);
});

test("a plainly accepted socket talks to its listeners", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a?plain");
  socket.send("hello");
  await host.idle();
  expect(socket.frames).toEqual(["plain hello"]);
});

test("an object can be the client of another object's socket", async () => {
  const host = open();
  expect(await (await host.get(Room, "a")).connectTo("b")).toEqual([101, "welcome"]);
});

test("next rejects with what is unread once the host is idle; a refused upgrade shows the answer", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  await expect(socket.next("nothing")).rejects.toThrow('no frame matches type "nothing". Unread: ["welcome"]');
  await expect(host.connect("/elsewhere")).rejects.toThrow("/elsewhere answered 404 instead of a WebSocket: Not found");
});

test("frames can be duplicated, and reordered without losing one or letting a close overtake", async () => {
  const host = open();
  const socket = await host.connect("/agents/room/a");
  socket.duplicateNext(2);
  socket.send("x");
  await host.idle();
  const room = await host.get(Room, "a");
  expect(await room.entries()).toEqual(["x", "x", "x"]);
  host.reorderFrames(3);
  const sent = Array.from({ length: 20 }, (_, index) => `m${index}`);
  for (const message of sent) socket.send(message);
  socket.close(4100, "");
  await host.idle();
  const arrived = (await room.entries()).slice(3);
  expect(arrived.slice(0, -1)).not.toEqual(sent);
  expect(arrived.slice(0, -1).toSorted()).toEqual(sent.toSorted());
  expect(arrived.at(-1)).toContain("close 4100");
});
