import type { ThinkAppContext } from "everthink/server-entry";
import { createTestHost } from "everthink/testing";
import { expect, test } from "vitest";
import server from "../src/server.ts";
import { Scripted } from "./scripted.ts";

const app = { router: { buildPath: () => "/agents/assistant/default" } } as unknown as ThinkAppContext;

function open(env: { WEBHOOK_SECRET?: string }) {
  const host = createTestHost({
    agents: { ThinkAgent_Assistant: Scripted },
    env,
    worker: {
      fetch: async (request: Request, given: object) =>
        (await server.fetch(request, given as Cloudflare.Env, {} as ExecutionContext, app)) ??
        new Response("Not found", { status: 404 })
    }
  });
  return (id: string, headers: Record<string, string> = {}) =>
    host.fetch("/webhook", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ id, text: "A parcel has arrived." })
    });
}

test("takes an event of a sender with the secret once, and of no other sender", async () => {
  const send = open({ WEBHOOK_SECRET: "secret" });
  const known = { authorization: "Bearer secret" };
  expect((await send("1", known)).status).toBe(202);
  expect((await send("1", known)).status).toBe(200);
  expect((await send("2")).status).toBe(401);
  expect((await send("2", { authorization: "Bearer guessed" })).status).toBe(401);
});

test("takes nothing while the secret is not set", async () => {
  for (const env of [{}, { WEBHOOK_SECRET: "" }]) {
    const send = open(env);
    for (const authorization of ["", "Bearer ", "Bearer undefined"]) {
      expect((await send("1", { authorization })).status).toBe(503);
    }
  }
});
