// Chat over a plain WebSocket against clients that are hostile or too many: what is refused, what stops an answer, and what
// is ignored. The limits are those of HTTP readers, too.
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Connection, ConnectionContext } from "../../src/agent-class/index.ts";
import { READER_LIMIT } from "../../src/features/clients/plain/plain-chat.ts";
import { Think } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { postChat } from "./plain-kit.ts";
import { storedMessages, textsOf, user } from "../kit/messages.ts";

// A thousand readers are a thousand requests.
vi.setConfig({ testTimeout: 60_000 });

let script: Script;

class Chat extends Think {
  override openAIEndpoint = true;

  override getModel() {
    return scriptedModel(script);
  }

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.get("role") === "guest";
  }
}

afterEach(() => void vi.restoreAllMocks());

function open(...steps: Step[]): TestHost<object> {
  script = createScript(steps);
  return createTestHost({ agents: { Chat } });
}

const PATH = "/agents/chat/a/chat";
const STREAM = `${PATH}/page/stream`;
const ask = (socket: TestSocket, requestId: string, id = "u1") =>
  socket.send({ type: "send", requestId, messages: [user(id)], trigger: "submit-message", headers: {}, body: {} });
const words = async (host: TestHost<object>) => textsOf(await storedMessages(host));

interface Frame {
  readonly type: string;
  readonly requestId: string;
  readonly errorText?: string;
}

const framesOf = (socket: TestSocket, id: string) =>
  (socket.frames as Frame[]).filter((frame) => frame.requestId === id);

/** An answer in its middle, and a socket that has asked for it. */
async function openAnswer() {
  const gate = createGate();
  const host = open(reply(text("first "), gate.wait(), text("second")));
  const socket = await host.connect(PATH);
  ask(socket, "r1");
  await gate.reached;
  return { gate, host, socket };
}

describe("a socket of a client that may only watch", () => {
  test("asks nothing", async () => {
    const host = open();
    const socket = await host.connect(`${PATH}?role=guest`);
    ask(socket, "r1");
    expect(await socket.next("error")).toMatchObject({ requestId: "r1", errorText: "Connection is readonly" });
    expect(await words(host)).toEqual([]);
  });

  test("is sent the answer, and cannot stop it", async () => {
    const { gate, host, socket } = await openAnswer();
    const guest = await host.connect(`${PATH}?role=guest`);
    guest.send({ type: "resume", requestId: "w1" });
    await guest.next("start");
    guest.send({ type: "abort", requestId: "w1" });
    await host.idle();
    gate.open();
    await socket.next("end");
    expect(await words(host)).toEqual(["u1", "first second"]);
    expect(JSON.stringify(framesOf(guest, "w1"))).not.toContain("second");
  });
});

describe("a frame", () => {
  test("of a page of another site never comes in", async () => {
    vi.spyOn(console, "warn").mockReturnValue();
    await expect(open().connect(PATH, { headers: { Origin: "https://evil.example" } })).rejects.toThrow("403");
  });

  test.each([
    "",
    "no JSON",
    "[]",
    { type: "send" },
    { type: "send", requestId: 5, messages: [user("u1")] },
    { type: "send", requestId: "", messages: [user("u1")] },
    { type: "later", requestId: "r0" },
    { type: "abort", requestId: "r0" },
    { type: "cf_agent_chat_clear", requestId: "r0" }
  ])("that means nothing here is ignored: %j", async (frame) => {
    const host = open(reply(text("hi")));
    const socket = await host.connect(PATH);
    socket.send(frame);
    ask(socket, "r1");
    await socket.next("end");
    expect(framesOf(socket, "r1")).toEqual(socket.frames);
    expect(await words(host)).toEqual(["u1", "hi"]);
  });

  test("with messages that cannot be read is answered with what is wrong", async () => {
    const host = open();
    const socket = await host.connect(PATH);
    socket.send({ type: "send", requestId: "r1", messages: "hi" });
    expect(await socket.next("error")).toMatchObject({ errorText: expect.stringContaining("could not be read") });
    expect(await words(host)).toEqual([]);
  });

  test("that is delivered twice asks once and is answered once", async () => {
    const { gate, host, socket } = await openAnswer();
    ask(socket, "r1");
    await host.idle();
    gate.open();
    await socket.next("end");
    expect(framesOf(socket, "r1").filter(({ type }) => type === "end")).toHaveLength(1);
    expect(JSON.stringify(framesOf(socket, "r1")).match(/first /g)).toHaveLength(1);
    expect(await words(host)).toEqual(["u1", "first second"]);
  });

  test("stops the request of its own socket, and none of another's", async () => {
    const { gate, host, socket } = await openAnswer();
    const other = await host.connect(PATH);
    other.send({ type: "abort", requestId: "r1" });
    await host.idle();
    expect(framesOf(socket, "r1").map(({ type }) => type)).not.toContain("end");
    socket.send({ type: "abort", requestId: "r1" });
    await host.idle();
    gate.open();
    await host.idle();
    expect(await words(host)).toEqual(["u1", "first "]);
  });
});

describe("too many", () => {
  test("requests of one socket: the next is refused, the others are answered", async () => {
    const { gate, host, socket } = await openAnswer();
    for (let count = 0; count < 100; count += 1) socket.send({ type: "resume", requestId: `w${count}` });
    await host.idle();
    expect(framesOf(socket, "w98").map(({ type }) => type)).toContain("start");
    expect(framesOf(socket, "w99")).toEqual([
      { type: "error", requestId: "w99", errorText: expect.stringContaining("Too many clients") }
    ]);
    gate.open();
    await host.idle();
    expect(framesOf(socket, "w98").at(-1)?.type).toBe("end");
  });

  test("readers of one agent: the next is told to come back, in the words of its encoding", async () => {
    const { gate, host, socket } = await openAnswer();
    const streams: Response[] = [];
    while (streams.length < READER_LIMIT - 1) streams.push(await host.fetch(STREAM));
    const refused = await host.fetch(STREAM);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect((await postChat(host, { messages: [user("u2")] })).status).toBe(503);
    const messages = [{ role: "user", content: "hi" }];
    const completion = await postChat(host, { messages }, { path: "/agents/chat/a/v1/chat/completions" });
    expect([completion.status, await completion.json()]).toMatchObject([503, { error: { type: "server_error" } }]);
    socket.send({ type: "resume", requestId: "w1" });
    expect(await socket.next("error")).toMatchObject({ requestId: "w1" });
    // One that leaves makes room.
    await streams.pop()?.body?.cancel();
    const taken = await host.fetch(STREAM);
    expect(taken.status).toBe(200);
    gate.open();
    expect(await taken.text()).toContain("second");
    for (const { body } of streams) await body?.cancel();
    expect(await words(host)).toEqual(["u1", "first second"]);
  });
});

test("a socket that outlived a process in the middle of an answer is closed, so that its client resumes", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const host = open(reply(text("One.")), reply(text("Two.")));
  const [socket, idle] = [await host.connect(PATH), await host.connect("/agents/chat/b/chat")];
  ask(socket, "r1");
  ask(idle, "r1");
  await host.idle();
  await host.evictAll();
  // As an object that was reset by the platform leaves it: sockets that can hibernate stay.
  const [row] = host.sql<{ generation: number }>(Chat, "a", "SELECT generation FROM cf_conversations");
  const left = [{ turnId: "t9", requestId: "r9", generation: row?.generation, firstSequence: 1 }];
  host.sql(Chat, "a", "UPDATE cf_conversations SET open_turns = ?", JSON.stringify(left));
  for (const name of ["a", "b"]) await host.fetch(`/agents/chat/${name}/get-messages`);
  await host.idle();
  expect(socket.closed).toMatchObject({ code: 1012 });
  // One that was sent nothing stays.
  expect(idle.closed).toBeUndefined();
});
