// Steering over HTTP, and who may: the same doors as chat over HTTP.
import { tool } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import type { Connection, ConnectionContext } from "../../src/agent-class/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";

let script: Script;
let held: PromiseWithResolvers<void>;

class Chat extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override getTools() {
    return { search: tool({ inputSchema: z.object({}), execute: async () => held.promise.then(() => "found") }) };
  }
  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return new URL(request.url).searchParams.get("role") === "guest";
  }
}

/** Turns clients away where sockets come in. */
class Guarded extends Chat {
  override onConnect(connection: Connection) {
    connection.close(4001, "Log in first");
  }
}

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));

async function open() {
  held = Promise.withResolvers();
  script = createScript([reply(text("Looking. "), toolCall("search", {}, { id: "c1" })), reply(text("In Oslo."))]);
  const host = createTestHost({ agents: { Chat, Guarded } });
  const call = async (path: string, method = "GET", body?: unknown, agent = "chat") => {
    const headers = { "Content-Type": "application/json" };
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const response = await host.fetch(`/agents/${agent}/a/steer${path}`, init);
    const answer = await response.text();
    return { status: response.status, body: answer.startsWith("{") ? JSON.parse(answer) : answer };
  };
  return { host, call };
}

test("a script steers, asks what became of it, changes and withdraws it", async () => {
  const { host, call } = await open();
  const socket = await host.connect("/agents/chat/a");
  ask(socket, "r1");
  await host.idle();
  const given = await call("", "POST", { input: "in Rome", id: "s1" });
  expect(given).toMatchObject({ status: 202, body: { id: "s1", state: "accepted", kind: "steer" } });
  expect(await call("", "POST", { input: user("u9", "and then?"), kind: "follow-up", id: "f1" })).toMatchObject({
    status: 202,
    body: { state: "queued" }
  });
  expect(await call("/s1", "PUT", { input: "in Oslo" })).toMatchObject({ status: 200, body: { state: "accepted" } });
  expect(await call("/f1", "DELETE")).toMatchObject({ status: 200, body: { state: "withdrawn" } });
  expect(await call("")).toMatchObject({ body: { receipts: [{ id: "s1" }] } });
  held.resolve();
  await host.idle();
  expect(await call("/s1")).toMatchObject({ status: 200, body: { state: "applied", to: "r1", step: 1 } });
  expect(await call("/s1", "DELETE")).toMatchObject({ status: 409, body: { code: "not-waiting" } });
  expect(linesOf(await storedMessages(host))).toEqual([
    "user:u-r1",
    "assistant:Looking. ",
    "user:in Oslo",
    "assistant:In Oslo."
  ]);
});

test("what cannot be read is refused by name, and a class that guards its sockets has no such address", async () => {
  const { call } = await open();
  expect(await call("", "POST", { input: "" })).toMatchObject({ status: 400 });
  expect(await call("", "POST", { input: "x", kind: "dance" })).toMatchObject({ status: 400 });
  expect(await call("", "POST", { input: { role: "assistant", id: "x", parts: [] } })).toMatchObject({ status: 400 });
  expect(await call("", "DELETE")).toMatchObject({ status: 405 });
  expect(await call("/unknown")).toMatchObject({ status: 404 });
  expect(await call("", "POST", { input: "x".repeat(300_000) })).toMatchObject({ status: 413 });
  expect(await call("", "POST", { input: "hi" }, "guarded")).toMatchObject({ status: 404 });
});

test("a connection that may only watch is refused, on its socket and over HTTP", async () => {
  const { host, call } = await open();
  expect(await call("?role=guest", "POST", { input: "hi" })).toMatchObject({ status: 403 });
  const guest = await host.connect("/agents/chat/a?role=guest");
  for (const what of ["steer", "withdraw", "stop-after-step"]) {
    guest.send({ type: "cf_agent_chat_steering", key: what, do: what, id: "s1", message: user("u1") });
  }
  await host.idle();
  const results = framesOf(guest).filter(({ type }) => type === "cf_agent_chat_steering_result");
  expect(results).toHaveLength(3);
  for (const one of results) expect(one["failed"]).toMatchObject({ code: "steer-refused" });
  expect(linesOf(await storedMessages(host))).toEqual([]);
});
