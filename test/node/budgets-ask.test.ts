// A turn that does not fit waits for a person: the question is answerable wherever approvals are, the grant is one record, and the
// turn goes on once.
import { tool } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { usd, type BudgetLimit } from "../../src/core/budgets.ts";
import { everyCrash, reply, text, toolCall, usage } from "../../src/testing/index.ts";
import { linesOf, user } from "../kit/messages.ts";
import { agentOf, costs, open, rowsOf, say, scene, stored, waiting, type Host } from "./budgets-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const ASKS: BudgetLimit = { per: { key: "ann", each: "day" }, limit: usd(10), then: "ask" };
const spent = usage({ input: 5_000, output: 10 });
const small = usage({ input: 40, output: 2 });
const look = tool({
  description: "Looks.",
  inputSchema: z.object({}),
  execute: () => {
    scene.effects.push("looked");
    return "seen";
  }
});

/** Answers with a tool's call, after which there is no room for another step. */
const STEPS = [
  reply(text("Let me look. "), toolCall("look", {}), spent),
  reply(text("It is blue."), small),
  reply(text("never said"), small)
];

function parked() {
  return open(STEPS, { limits: () => [ASKS], tools: () => ({ look }) });
}

async function onlyId(host: Host): Promise<string> {
  const [first] = await waiting(host);
  if (!first) throw new Error("Nothing waits.");
  return first.executionId;
}

async function approve(host: Host, executionId: string, decision = {}) {
  return (await agentOf(host)).approveExecution(executionId, { by: "boss", ...decision });
}

const soon = (host: Host) => host.advance(1_000);

describe("a turn that asks for budget", () => {
  test("ends with what it has, and the question says what it needs and what was spent", async () => {
    const host = parked();
    expect(await say(host, "q")).toMatchObject({ status: "completed" });
    expect(scene.script.callCount).toBe(1);
    const [asked] = await waiting(host);
    expect(asked).toMatchObject({ source: "budget", descriptor: { action: "budget", kind: "durable-pause" } });
    expect(asked?.descriptor.summary).toMatch(/^needs \$\d+\.\d\d more; spent \$5\.01 of \$10\.00 by ann today$/);
    expect(linesOf(await stored(host))).toEqual(["user:q", "assistant:Let me look. "]);
    expect(scene.events.filter(({ type }) => type === "budget:asked")).toHaveLength(1);
  });

  test("goes on once when it is granted, in the same answer, without repeating a tool", async () => {
    const host = parked();
    await say(host, "q");
    const [{ executionId: id, inputHash } = { executionId: "" }] = await waiting(host);
    expect(await approve(host, id, { inputHash })).toMatchObject({ status: "granted", unit: "usd" });
    await soon(host);
    expect(linesOf(await stored(host))).toEqual(["user:q", "assistant:Let me look. It is blue."]);
    expect(scene.effects).toEqual(["looked"]);
    expect(await waiting(host)).toEqual([]);
    // A decision that is sent again is the same decision.
    expect(await approve(host, id, { inputHash })).toMatchObject({ status: "granted" });
    await soon(host);
    expect(scene.script.callCount).toBe(2);
    expect(rowsOf(host, "SELECT granted_by FROM cf_budget_grants")).toEqual([{ granted_by: expect.any(String) }]);
    expect(rowsOf(host, "SELECT answer FROM cf_decisions")).toEqual([{ answer: "approved" }]);
    expect((await costs(host)).open).toBe(0);
  });

  test("goes on over HTTP, too", async () => {
    const host = parked();
    await say(host, "q");
    const id = await onlyId(host);
    const listed: { executionId: string }[] = await (await host.fetch("/agents/spender/a/approvals")).json();
    expect(JSON.stringify(listed)).toContain(id);
    const response = await host.fetch(`/agents/spender/a/approvals/${id}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ decision: "approve" })
    });
    expect(response.status).toBe(200);
    await soon(host);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:Let me look. It is blue.");
  });

  test("is granted another amount by a changed input, and nothing but an amount", async () => {
    const host = parked();
    await say(host, "q");
    const id = await onlyId(host);
    expect(await approve(host, id, { input: { amount: -1 } })).toMatchObject({ status: "error" });
    expect(await approve(host, id, { input: { amount: 1, unit: "tokens" } })).toMatchObject({ status: "error" });
    expect(await approve(host, id, { input: { amount: 50 } })).toMatchObject({ status: "granted", amount: 50 });
    await soon(host);
    expect(rowsOf(host, "SELECT amount FROM cf_budget_grants")).toEqual([{ amount: 50e9 }]);
  });

  test("does not go on when it is rejected", async () => {
    const host = parked();
    await say(host, "q");
    const id = await onlyId(host);
    expect(await (await agentOf(host)).rejectExecution(id)).toMatchObject({ status: "rejected" });
    await soon(host);
    expect(scene.script.callCount).toBe(1);
    expect(await waiting(host)).toEqual([]);
    expect(rowsOf(host, "SELECT * FROM cf_budget_grants")).toEqual([]);
    expect(rowsOf(host, "SELECT * FROM cf_budget_limits")).toEqual([]);
  });

  test("expires after thirty days, and no turn goes on", async () => {
    const host = parked();
    await say(host, "q");
    await host.advance(31 * 24 * 3_600_000);
    expect(await waiting(host)).toEqual([]);
    expect(scene.script.callCount).toBe(1);
    expect(rowsOf(host, "SELECT answer FROM cf_decisions")).toEqual([{ answer: "expired" }]);
  });

  test("goes on also when it is answered weeks later, over restarts", async () => {
    const host = parked();
    await say(host, "q");
    const id = await onlyId(host);
    await host.advance(20 * 24 * 3_600_000);
    await host.restart();
    expect(await approve(host, id)).toMatchObject({ status: "granted" });
    await soon(host);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:Let me look. It is blue.");
    expect(scene.script.callCount).toBe(2);
  });

  test("answers its question when nothing of it was said yet", async () => {
    const host = open([reply(text("It is blue."), small)], { limits: () => [{ ...ASKS, limit: usd(1) }] });
    await say(host, "q");
    expect(linesOf(await stored(host))).toEqual(["user:q"]);
    await approve(host, await onlyId(host));
    await soon(host);
    expect(linesOf(await stored(host))).toEqual(["user:q", "assistant:It is blue."]);
  });

  test("goes on at the end of a conversation that went on meanwhile", async () => {
    const host = open([...STEPS.slice(0, 1), reply(text("cheap"), small), reply(text("It is blue."), small)], {
      limits: ({ requestId: _ }) => (scene.effects.length === 0 ? [ASKS] : []),
      tools: () => ({ look })
    });
    await say(host, "q1");
    await say(host, "q2");
    await approve(host, await onlyId(host));
    await soon(host);
    const lines = linesOf(await stored(host));
    expect(lines.slice(0, 4)).toEqual(["user:q1", "assistant:Let me look. ", "user:q2", "assistant:cheap"]);
    expect(lines.slice(4)).toEqual(["assistant:It is blue."]);
  });

  test("is asked about no more when the conversation is cleared", async () => {
    const host = parked();
    await say(host, "q");
    const id = await onlyId(host);
    await (await agentOf(host)).clearMessages();
    expect(await waiting(host)).toEqual([]);
    expect(await approve(host, id)).toMatchObject({ status: "error" });
    await soon(host);
    expect(scene.script.callCount).toBe(1);
  });

  test("shares the account of its turn with the turn that goes on", async () => {
    const host = open(STEPS, {
      limits: () => [{ per: "turn", limit: usd(10), then: "ask" }],
      tools: () => ({ look })
    });
    await say(host, "q");
    await approve(host, await onlyId(host));
    await soon(host);
    const { accounts } = await costs(host);
    const turns = accounts.filter(({ account }) => account.startsWith("turn:"));
    expect(turns).toMatchObject([{ usd: 5.052 }]);
  });

  test("asks only where a grant would help: a limit that stops comes first", async () => {
    const host = open(STEPS, {
      limits: () => [ASKS, { per: "turn", limit: usd(10) }],
      tools: () => ({ look })
    });
    expect(await say(host, "q")).toMatchObject({ status: "error" });
    expect(await waiting(host)).toEqual([]);
  });
});

/** Sends again what has no answer yet, as a person does. */
async function insist(host: Host): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    await host.advance(120_000);
    const agent = await agentOf(host);
    if ((await stored(host)).length === 0) await agent.saveMessages([user("q")]);
    await host.idle();
    for (const { executionId } of await waiting(host)) await approve(host, executionId);
  }
  await host.advance(120_000);
}

/** Turns that went on, each counted once over its attempts. */
function continuations(): number {
  const started = scene.events
    .filter(({ type }) => type === "chat:turn:start")
    .map(({ payload }) => payload as Started);
  return new Set(started.flatMap((one) => (one.trigger === "auto-continuation" ? [one.requestId] : []))).size;
}

interface Started {
  readonly requestId: string;
  readonly trigger: string;
}

test("Must hold 3: a process that dies at any write or await goes on once after the grant, and leaks no reservation", async () => {
  await everyCrash({
    create: () =>
      open([...STEPS.slice(0, 1), ...Array.from({ length: 20 }, () => reply(text("It is blue."), small))], {
        limits: () => [ASKS],
        tools: () => ({ look })
      }),
    script: async (host) => {
      await say(host, "q");
      await approve(host, await onlyId(host));
      await soon(host);
    },
    finish: insist,
    limit: 60,
    inspect: async (host) => ({
      continuationsPerGrant: continuations() / rowsOf(host, "SELECT * FROM cf_budget_grants").length,
      answers: (await stored(host)).filter(({ role }) => role === "assistant").length,
      open: (await costs(host)).open,
      waiting: (await waiting(host)).length,
      limits: rowsOf(host, "SELECT * FROM cf_budget_limits").length
    })
  });
}, 120_000);
