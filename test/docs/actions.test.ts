// The examples of docs/actions.md do what the page says.
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { action } from "everthink";
import { createScript, createTestHost, reply, scriptedModel, text, toolCall, type Script } from "everthink/testing";
import { Billing, reconcile, releaseEverything, Support, world } from "./examples/actions.ts";
import { user } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

let script: Script;

class ScriptedBilling extends Billing {
  override getModel() {
    return scriptedModel(script);
  }
}

class ScriptedSupport extends Support {
  override getModel() {
    return scriptedModel(script);
  }
  override getActions() {
    const purge = action({
      description: "Purges an account.",
      inputSchema: z.object({ userId: z.string() }),
      permissions: ["accounts:purge"],
      execute: ({ userId }) => void world.push(`purge ${userId}`)
    });
    return { ...super.getActions(), purge };
  }
  texts() {
    return this.delivered;
  }
}

beforeEach(() => {
  world.length = 0;
});

test("an invoice is charged once, under its key", async () => {
  const charge = reply(toolCall("chargeInvoice", { invoiceId: "i1" }));
  script = createScript([charge, reply(text("Charged.")), charge, reply(text("It was."))]);
  const host = createTestHost({ agents: { ScriptedBilling } });
  const agent = await host.get(ScriptedBilling, "a");
  await agent.saveMessages([user("u1")]);
  await agent.saveMessages([user("u2")]);
  expect(world).toEqual(["charge i1 under i1"]);
  expect(await agent.listActionLedger()).toMatchObject([{ key: "action:chargeInvoice:invoice:i1", effect: "ran" }]);
});

test("what is unknown is settled by hand", async () => {
  script = createScript([reply(toolCall("chargeInvoice", { invoiceId: "i0" })), reply(text("Charged."))]);
  const host = createTestHost({ agents: { ScriptedBilling } });
  const agent = await host.get(ScriptedBilling, "a");
  await agent.saveMessages([user("u0")]);
  host.sql(
    ScriptedBilling,
    "a",
    `INSERT INTO cf_action_ledger (key, action, input_hash, is_explicit, status, attempt, request_id, tool_call_id,
       started_at, leased_at) VALUES ('action:chargeInvoice:invoice:i1', 'chargeInvoice', '', 1, 'pending', 1, 'r', 'c', 0, 0)`
  );
  // Comparing the two stub types is too deep for the compiler.
  await reconcile(agent as object as Parameters<typeof reconcile>[0]);
  const output = { id: "receipt-found-by-hand" };
  const [found] = (await agent.listActionLedger()).filter(({ key }) => key.endsWith(":i1"));
  expect(found).toMatchObject({ status: "settled", approver: "ann", output });
});

test("a deployment waits, is approved by a person, and is told; who does not say who they are decides nothing", async () => {
  script = createScript([reply(toolCall("deploy", { ref: "main" })), reply(text("Waiting.")), reply(text("Out."))]);
  const host = createTestHost({ agents: { ScriptedSupport } });
  const agent = await host.get(ScriptedSupport, "a");
  await agent.saveMessages([user("u1")]);
  const [waiting] = await agent.pendingApprovals();
  expect(await agent.approveExecution(waiting?.executionId ?? "")).toMatchObject({ error: "Log in to decide." });
  const claim = await host.fetch(`/agents/scripted-support/a/approvals/${waiting?.executionId}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ decision: "approve", by: "ann" })
  });
  expect([claim.status, world]).toEqual([409, []]);
  await releaseEverything(agent as object as Parameters<typeof releaseEverything>[0]);
  await host.idle();
  expect(world).toEqual(["ship main"]);
  expect(await agent.pendingApprovals()).toEqual([]);
});

test.each([
  ["session=root", ["purge test-account"]],
  ["session=other", []]
])("the role is the login's (%s), whatever the client says in its body", async (cookie, done) => {
  script = createScript([reply(toolCall("purge", { userId: "test-account" })), reply(text("Well."))]);
  const host = createTestHost({ agents: { ScriptedSupport } });
  const socket = await host.connect("/agents/scripted-support/a", { headers: { Cookie: cookie } });
  sendChat(socket, "r1", [user("u1")], { role: "admin" });
  await host.idle();
  expect(world).toEqual(done);
});

test("an account is deleted only after a yes, and a draft is delivered as text", async () => {
  script = createScript([
    reply(toolCall("draftReply", { to: "a@x.example", subject: "Bye" })),
    reply(toolCall("deleteAccount", { userId: "u7" }))
  ]);
  const host = createTestHost({ agents: { ScriptedSupport } });
  const agent = await host.get(ScriptedSupport, "a");
  await agent.saveMessages([user("u1")]);
  expect(world).toEqual([]);
  expect(await agent.texts()).toEqual(["**Email draft**\n\nTo: a@x.example\nSubject: Bye"]);
});
