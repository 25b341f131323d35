import { expect, test } from "vitest";
import { DurableObject, openSocketPair } from "#platform";
import { createTestHost } from "../index.ts";
import { ChatClient } from "./chat-client.ts";

/** A server that says what a test tells it to, and keeps what it hears. */
class Puppet extends DurableObject {
  #heard: string[] = [];

  override async fetch() {
    const { server, response } = openSocketPair();
    this.ctx.acceptWebSocket(server);
    return response;
  }

  override webSocketMessage(_socket: WebSocket, data: string) {
    this.#heard.push(data);
  }

  say(frame: object) {
    for (const socket of this.ctx.getWebSockets()) socket.send(JSON.stringify(frame));
  }

  heard() {
    return this.#heard.map((text): { type: string; id?: string; probeId?: string } => JSON.parse(text));
  }
}

async function open() {
  const worker = {
    fetch: (request: Request, env: { Puppet: DurableObjectNamespace<Puppet> }) =>
      env.Puppet.getByName("p").fetch(request)
  };
  const host = createTestHost({ agents: { Puppet }, worker });
  const client = new ChatClient({ connect: () => host.connect("/"), fetchMessages: async () => [] });
  await client.open();
  await host.idle();
  const puppet = await host.get(Puppet, "p");
  const say = async (frame: object) => {
    await puppet.say(frame);
    await host.idle();
  };
  return { host, client, puppet, say };
}

const chunk = (seq: number, extra: object = {}) => ({
  type: "cf_agent_use_chat_response",
  id: "r",
  body: '{"type":"finish-step"}',
  done: false,
  seq,
  ...extra
});
const done = (extra: object = {}) => ({ type: "cf_agent_use_chat_response", id: "r", body: "", done: true, ...extra });

test("a client asks on every connection, and is idle only when its own question was answered so", async () => {
  const { client, puppet, say } = await open();
  expect((await puppet.heard()).map(({ type }) => type)).toEqual(["cf_agent_stream_resume_request"]);
  await say({ type: "cf_agent_stream_resume_none", reason: "idle", probeId: "somebody-else" });
  expect(client.isIdle).toBe(false);
  await say({ type: "cf_agent_stream_resume_none", reason: "idle", probeId: "probe-1" });
  expect(client.isIdle).toBe(true);
  client.ask();
  expect(client.isIdle).toBe(false);
});

test("an offer is acknowledged once per socket; a failure already heard is no reason to wait", async () => {
  const { client, puppet, say } = await open();
  await say({ type: "cf_agent_stream_resuming", id: "r" });
  await say({ type: "cf_agent_stream_resuming", id: "r", probeId: "probe-1" });
  expect((await puppet.heard()).filter(({ type }) => type === "cf_agent_stream_resume_ack")).toHaveLength(1);
  expect(client.isIdle).toBe(false);
  await say(done({ error: true, outcome: "error", body: "sorry" }));
  await say({ type: "cf_agent_stream_resuming", id: "r" });
  expect(client.isIdle).toBe(true);
});

test("a second live end of one request on one socket is noticed, a replayed one is right", async () => {
  const { client, say } = await open();
  await say(done());
  await say(done({ replay: true }));
  expect([...client.repeatedEnds]).toEqual([]);
  await say(done());
  expect([...client.repeatedEnds]).toEqual(["r"]);
});

test("a chunk left out or sent twice is noticed; a replay begins anew and may leave out what was taken back", async () => {
  const { client, say } = await open();
  const start = { body: '{"type":"start","messageId":"a"}' };
  const replayed = [chunk(0, { ...start, replay: true }), chunk(1, { replay: true }), chunk(4, { replay: true })];
  const nextAttempt = [chunk(1, start), chunk(2)];
  for (const frame of [chunk(0, start), chunk(1), ...replayed, chunk(5), ...nextAttempt]) await say(frame);
  expect(client.gaps).toEqual([]);
  await say(chunk(4));
  await say(chunk(4));
  expect(client.gaps).toEqual(["r: chunk 4 instead of 3", "r: chunk 4 instead of 5"]);
});

test("a client notices the death of its server and opens again with what it knew", async () => {
  const { host, client, say } = await open();
  await say({ type: "cf_agent_chat_messages", messages: [{ id: "u", role: "user", parts: [] }] });
  await host.restart();
  expect(client.isOpen).toBe(false);
  await client.open();
  expect(client.isOpen).toBe(true);
  expect(client.messages).toHaveLength(1);
});
