import { createTestHost } from "everthink/testing";
import { expect, test } from "vitest";
import { Scripted } from "./scripted.ts";

const env = { APPROVERS: "grace@example.com, ada@example.com" };
const LARGE = "Pay 400 to Grace";

/** A request as src/server.ts passes it on, of a person who is logged in. */
function request(path: string, user: string, body?: object) {
  const headers = { "x-everthink-user": encodeURIComponent(user), "content-type": "application/json" };
  const url = `http://localhost/agents/scripted/ada%40example.com/${path}`;
  return new Request(url, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
}

async function asking(user: string) {
  const host = createTestHost({ agents: { Scripted }, env });
  const headers = { "x-everthink-user": encodeURIComponent(user) };
  const socket = await host.connect("/agents/scripted/ada%40example.com", { headers });
  return { host, socket, agent: await host.get(Scripted, "ada@example.com") };
}

const said = (text: string) => ({
  type: "cf_agent_use_chat_request",
  id: crypto.randomUUID(),
  init: {
    method: "POST",
    body: JSON.stringify({ messages: [{ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] }] })
  }
});

const DECISION = { decision: "approve" };

interface Conversation {
  getMessages(): unknown;
}

const text = async (agent: Conversation) => JSON.stringify(await agent.getMessages());

const hasPaid = async (agent: Conversation) => (await text(agent)).includes('"paid":400');

test("a large payment waits for another person: neither the asker nor a stranger can approve it", async () => {
  const { host, socket, agent } = await asking("ada@example.com");
  socket.send(said(LARGE));
  await host.idle();
  const [, id = ""] = /"toolCallId":"([^"]+)"/.exec(await text(agent)) ?? [];
  const decide = (user: string) => host.fetch(request(`approvals/${id}`, user, DECISION));
  for (const [user, reason] of [
    ["ada@example.com", "Another person has to decide"],
    ["eve@example.com", "APPROVERS does not name you"]
  ] as const) {
    const refused = await decide(user);
    expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining(reason)]);
  }
  const input = { amount: 900, payee: "Grace" };
  const changed = await host.fetch(request(`approvals/${id}`, "grace@example.com", { ...DECISION, input }));
  expect([changed.status, await changed.text()]).toEqual([409, expect.stringContaining("as it was asked for")]);
  expect(await text(agent)).not.toContain('"paid"');
  await host.restart();
  expect((await decide("grace@example.com")).status).toBe(200);
  await host.advance(10_000);
  expect(await hasPaid(await host.get(Scripted, "ada@example.com"))).toBe(true);
});

test("an approver who opens the page of another person cannot ask there, so not approve what they asked for", async () => {
  const { host, socket, agent } = await asking("grace@example.com");
  socket.send(said(LARGE));
  await host.idle();
  expect(await text(agent)).toContain("Only ada@example.com can ask for payments here.");
  expect(await hasPaid(agent)).toBe(false);
});
