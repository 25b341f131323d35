// How people decide about parked actions: through every entry the same, late, twice, at once, and only if they may.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { getCurrentAgent } from "../../src/agent-class/index.ts";
import { action, type ApprovalAuthorizationContext, type TurnContext } from "../../src/index.ts";
import { createGate, createTestHost, reply, text } from "../../src/testing/index.ts";
import {
  agentOf,
  callFromClient,
  Clerk,
  clientEntry,
  firstWaiting,
  httpEntry,
  open,
  outputAt,
  post,
  promptAt,
  say,
  scene,
  soon,
  stored,
  stubEntry,
  waiting,
  type Entry,
  type Host
} from "./actions-kit.ts";
import { STEPS, parked, CONTINUED, deploy } from "./actions-deployment.ts";
import { linesOf, user } from "../kit/messages.ts";
import { DAY_MS } from "../kit/time.ts";

describe.each<[string, Entry]>([
  ["over the stub", stubEntry],
  ["from a client", clientEntry],
  ["over HTTP", httpEntry]
])("decided %s", (_name, entry) => {
  test("yes: it runs once with its input, its output takes the place of the pause, and the answer goes on", async () => {
    const { host, executionId } = await parked();
    expect(await entry.approve(host, executionId)).toEqual({ deployed: "main" });
    await soon(host);
    expect(scene.effects).toEqual(["deploy main"]);
    expect(await outputAt(host)).toEqual({ deployed: "main" });
    expect(promptAt(2)).toContain('"deployed":"main"');
    expect(linesOf(await stored(host))).toEqual(CONTINUED);
    expect(await waiting(host)).toEqual([]);
  });

  test("no: it never runs, the model reads the reason, and the answer goes on", async () => {
    const { host, executionId } = await parked();
    const output = { status: "rejected", executionId, action: "deploy", reason: "Not this release" };
    expect(await entry.reject(host, executionId, "Not this release")).toEqual(output);
    await soon(host);
    expect(scene.effects).toEqual([]);
    expect(await outputAt(host)).toEqual(output);
    expect(linesOf(await stored(host))).toEqual(CONTINUED);
    expect(await (await agentOf(host)).listActionLedger()).toMatchObject([{ status: "refused", effect: "refused" }]);
  });

  test("twice: the second time changes nothing", async () => {
    const { host, executionId } = await parked();
    await entry.approve(host, executionId);
    expect(await entry.approve(host, executionId)).toMatchObject({ status: "error", executionId });
    expect(await entry.reject(host, executionId)).toMatchObject({ status: "error", executionId });
    await soon(host);
    expect(scene.effects).toEqual(["deploy main"]);
    expect(scene.script.callCount).toBe(3);
  });

  test("an unknown id is an answer, not a failure", async () => {
    const { host } = await parked();
    expect(await entry.approve(host, "actpause_nothing")).toMatchObject({ status: "error" });
    expect(await entry.approve(host, "something else")).toMatchObject({ status: "error" });
  });

  test("days later, after restarts", async () => {
    const { host, executionId } = await parked();
    await host.restart();
    await host.advance(9 * DAY_MS);
    await host.restart();
    await entry.approve(host, executionId);
    await soon(host);
    expect(scene.effects).toEqual(["deploy main"]);
    expect(linesOf(await stored(host))).toEqual(CONTINUED);
  });

  test("after the object was evicted", async () => {
    const { host, executionId } = await parked();
    await host.evict(Clerk, "a");
    await entry.approve(host, executionId);
    await soon(host);
    expect(linesOf(await stored(host))).toEqual(CONTINUED);
  });
});

test("a class with callables of its own still lets clients decide", async () => {
  class Own extends Clerk {
    static override callables = ["ping"];
    ping() {
      return "pong";
    }
  }
  open(STEPS, { deploy });
  const host = createTestHost({ agents: { Own } });
  const agent = await host.get(Own, "a");
  await agent.saveMessages([user("u1")]);
  const [waiting] = await agent.pendingApprovals();
  const socket = await host.connect("/agents/own/a");
  socket.send({ type: "rpc", id: "1", method: "ping", args: [] });
  socket.send({ type: "rpc", id: "2", method: "approveExecution", args: [waiting?.executionId] });
  expect(await socket.next("rpc")).toMatchObject({ result: "pong" });
  expect(await socket.next("rpc")).toMatchObject({ result: { deployed: "main" } });
});

test("a class without actions has nothing to approve", async () => {
  const host = open([reply(text("hi"))], {});
  await say(host, "u1");
  expect(await waiting(host)).toEqual([]);
  expect(await stubEntry.approve(host, "actpause_x")).toMatchObject({ status: "error" });
  expect(await stubEntry.reject(host, "actpause_x")).toMatchObject({ status: "error" });
  const agent = await agentOf(host);
  expect(await agent.replyAttachments()).toEqual([]);
  expect(await agent.listActionLedger()).toEqual([]);
  expect(await agent.resolveActionLedger("k", { retry: true })).toEqual({ ok: false, reason: "not-found" });
});

describe("two people at once", () => {
  test.each<[string, (entry: Entry, host: Host, id: string) => Promise<unknown>]>([
    ["approve", (entry, host, id) => entry.approve(host, id)],
    ["reject", (entry, host, id) => entry.reject(host, id)]
  ])("approve and %s: one wins, the other is told, and the effect happens at most once", async (_name, other) => {
    for (const [first, second] of [
      [stubEntry, httpEntry],
      [clientEntry, stubEntry],
      [httpEntry, clientEntry]
    ] as const) {
      const { host, executionId } = await parked();
      const answers = await Promise.all([first.approve(host, executionId), other(second, host, executionId)]);
      await soon(host);
      const losers = answers.filter((answer) => (answer as { status?: string }).status === "error");
      expect(losers).toHaveLength(1);
      expect(scene.effects.length).toBeLessThanOrEqual(1);
      expect(scene.script.callCount).toBe(3);
      expect(linesOf(await stored(host))).toEqual(CONTINUED);
    }
  });
});

test("two people who are checked at the same time: one wins", async () => {
  const gate = createGate();
  let asked = 0;
  const { host, executionId } = await parked({
    authorizeApproval: async () => {
      asked += 1;
      if (asked === 2) gate.open();
      await gate.opened;
      return true;
    }
  });
  const agent = await agentOf(host);
  const answers = await Promise.all([agent.approveExecution(executionId), agent.rejectExecution(executionId)]);
  await soon(host);
  const statuses = answers.map((answer) => (answer as { status?: string }).status ?? "ran");
  expect(statuses.filter((status) => status === "error")).toHaveLength(1);
  expect(scene.effects).toHaveLength(statuses.includes("ran") ? 1 : 0);
  expect(scene.script.callCount).toBe(3);
});

test("what follows belongs to the client that approved, and to no client if none did", async () => {
  const turns: string[] = [];
  const authorizeTurn = ({ continuation }: TurnContext) => {
    if (continuation) turns.push(getCurrentAgent().connection ? "a client's" : "nobody's");
    return true;
  };
  for (const entry of [clientEntry, stubEntry]) {
    const { host, executionId } = await parked({ authorizeTurn });
    await entry.approve(host, executionId);
    await soon(host);
  }
  expect(turns).toEqual(["a client's", "nobody's"]);
});

describe("who decides", () => {
  test("is recorded", async () => {
    const { host, executionId } = await parked();
    await (await agentOf(host)).approveExecution(executionId, { by: "ann" });
    expect(await (await agentOf(host)).listActionLedger()).toMatchObject([{ approver: "ann", status: "settled" }]);
  });

  test("is recorded over HTTP and from a client as that client's claim, also for a refusal", async () => {
    const first = await parked();
    await post(first.host, first.executionId, { decision: "reject", by: "bob" });
    expect(await (await agentOf(first.host)).listActionLedger()).toMatchObject([
      { approver: "unverified:bob", status: "refused" }
    ]);
    const second = await parked();
    await callFromClient(second.host, "approveExecution", second.executionId, { by: "eve" });
    expect(await (await agentOf(second.host)).listActionLedger()).toMatchObject([{ approver: "unverified:eve" }]);
  });

  test("must be allowed to by authorizeApproval, which is told what the turn was granted", async () => {
    const asked: ApprovalAuthorizationContext[] = [];
    const { host, executionId } = await parked({
      authorizeTurn: () => ({ allowed: true, grantedPermissions: ["deploy:run"] }),
      authorizeApproval: (context) => {
        asked.push(context);
        return context.by === "boss" ? true : { allowed: false, reason: "Ask the boss." };
      }
    });
    const agent = await agentOf(host);
    expect(await agent.approveExecution(executionId, { by: "ann" })).toMatchObject({
      status: "error",
      error: "Ask the boss."
    });
    expect((await post(host, executionId, { decision: "approve" })).status).toBe(409);
    expect(scene.effects).toEqual([]);
    expect(await waiting(host)).toHaveLength(1);
    await agent.approveExecution(executionId, { by: "boss" });
    expect(scene.effects).toEqual(["deploy main"]);
    expect(asked[0]).toMatchObject({
      executionId,
      decision: "approve",
      by: "ann",
      descriptor: { action: "deploy", input: { ref: "main" } },
      grant: { allowed: true, grantedPermissions: ["deploy:run"] }
    });
  });

  test("can be told by their connection or their request", async () => {
    const entries: string[] = [];
    const { host, executionId } = await parked({
      authorizeApproval: () => {
        const { connection, request } = getCurrentAgent();
        entries.push(connection ? "client" : request ? `HTTP ${request.headers.get("x-user")}` : "stub");
        return false;
      }
    });
    await clientEntry.approve(host, executionId);
    const headers = { "x-user": "ann", "Content-Type": "application/json" };
    const init = { method: "POST", body: '{"decision":"approve"}', headers };
    await host.fetch(`/agents/clerk/a/approvals/${executionId}`, init);
    await stubEntry.approve(host, executionId);
    expect(entries).toEqual(["client", "HTTP ann", "stub"]);
  });

  test("decides about the input that was shown: another hash is refused", async () => {
    const { host, executionId } = await parked();
    const { inputHash } = await firstWaiting(host);
    expect(inputHash).toMatch(/^[0-9a-f]{64}$/);
    const agent = await agentOf(host);
    expect(await agent.approveExecution(executionId, { inputHash: "0".repeat(64) })).toMatchObject({ status: "error" });
    expect(scene.effects).toEqual([]);
    await agent.approveExecution(executionId, { inputHash: inputHash ?? "" });
    expect(scene.effects).toEqual(["deploy main"]);
  });
});

describe("over HTTP", () => {
  test("what waits is listed, all of it or one", async () => {
    const { host, executionId } = await parked();
    const list = await host.fetch("/agents/clerk/a/approvals");
    expect(list.headers.get("Cache-Control")).toBe("no-store");
    expect(await list.json()).toEqual(await waiting(host));
    expect(await (await host.fetch(`/agents/clerk/a/approvals/${executionId}`)).json()).toHaveLength(1);
    expect(await (await host.fetch("/agents/clerk/a/approvals/other")).json()).toEqual([]);
  });

  test("what makes no sense is refused and decides nothing", async () => {
    const { host, executionId } = await parked();
    for (const body of ["", "[]", "{}", { decision: "maybe" }, { decision: true }, `"${"x".repeat(20_000)}"`]) {
      expect((await post(host, executionId, body)).status).toBe(400);
    }
    expect((await post(host, "%E0%A4%A", { decision: "approve" })).status).toBe(409);
    expect((await host.fetch("/agents/clerk/a/approvals", { method: "POST", body: "{}" })).status).toBe(405);
    expect((await host.fetch(`/agents/clerk/a/approvals/${executionId}`, { method: "DELETE" })).status).toBe(405);
    expect((await post(host, "actpause_x", { decision: "approve" })).status).toBe(409);
    expect(await waiting(host)).toHaveLength(1);
  });

  test("a changed input may be as long as a document", async () => {
    const { host, executionId } = await parked();
    const input = { ref: "v".repeat(300_000) };
    expect((await post(host, executionId, { decision: "approve", input })).status).toBe(200);
    expect(scene.effects).toEqual([expect.stringContaining(input.ref)]);
  });

  test("a body is read up to the limit of a decision and no further", async () => {
    const { host, executionId } = await parked();
    const sent = { chunks: 0, isCancelled: false };
    const body = new ReadableStream({
      pull(controller) {
        sent.chunks += 1;
        if (sent.chunks <= 1_000) controller.enqueue(new TextEncoder().encode(" ".repeat(64 * 1_024)));
        else controller.close();
      },
      cancel: () => void (sent.isCancelled = true)
    });
    const headers = { "Content-Type": "application/json" };
    const init = { method: "POST", body, headers, duplex: "half" } as const;
    const response = await host.fetch(`/agents/clerk/a/approvals/${executionId}`, init);
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual({ error: expect.stringContaining("1048576 bytes") });
    expect(sent.isCancelled).toBe(true);
    // 16 of them are within the limit; streams in between ask for a few ahead.
    expect(sent.chunks).toBeLessThan(32);
    expect(await waiting(host)).toHaveLength(1);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", ""])(
    "a decision of type %j is refused: a form of any page could send it",
    async (type) => {
      const { host, executionId } = await parked();
      const init = { method: "POST", body: new TextEncoder().encode('{"decision":"approve"}') };
      const headers = new Headers(type === "" ? undefined : { "Content-Type": type });
      const response = await host.fetch(`/agents/clerk/a/approvals/${executionId}`, { ...init, headers });
      expect(response.status).toBe(415);
      expect([await waiting(host), scene.effects]).toMatchObject([[{ executionId }], []]);
    }
  );

  test("an action's own failure is an outcome, not an HTTP error", async () => {
    const failing = action({
      description: "Deploy.",
      inputSchema: z.object({ ref: z.string() }),
      kind: "durable-pause",
      execute: () => {
        throw new Error("no servers");
      }
    });
    const host = open(STEPS, { deploy: failing });
    await say(host, "u1");
    const { executionId } = await firstWaiting(host);
    const response = await post(host, executionId, { decision: "approve" });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ output: { error: { name: "Error", message: "no servers" } } });
    await soon(host);
    expect(linesOf(await stored(host))).toEqual(CONTINUED);
  });
});
