// What the actions of a class promise while a turn runs: each test is named after one sentence of that promise.
import { jsonSchema, tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { action, isAction, type ActionContext } from "../../src/index.ts";
import { createTestHost, reply, text, toolCall } from "../../src/testing/index.ts";
import {
  agentOf,
  Clerk,
  connect,
  effect,
  eventsOf,
  ledger,
  open,
  outputAt,
  promptAt,
  say,
  scene,
  stored,
  storedPart
} from "./actions-kit.ts";
import { ask } from "../kit/frames.ts";
import { textOf, toolParts, user } from "../kit/messages.ts";
import { never } from "../kit/time.ts";

const charge = action({
  description: "Charge an invoice.",
  inputSchema: z.object({ invoiceId: z.string(), note: z.string().optional() }),
  idempotencyKey: ({ input }) => `invoice:${input.invoiceId}`,
  execute: async ({ invoiceId }) => {
    effect(`charge ${invoiceId}`);
    return { charged: invoiceId };
  }
});

const call = (name: string, input: object, id = "c1") => reply(toolCall(name, input, { id }));

describe("an action is a tool like any other", () => {
  test("the model calls it by the key of the map, with its description, and reads what it returned", async () => {
    const host = open([call("chargeInvoice", { invoiceId: "i1" }), reply(text("Charged."))], { chargeInvoice: charge });
    expect(await say(host, "u1")).toMatchObject({ status: "completed" });
    const offered = scene.script.calls[0]?.tools.find(({ name }) => name === "chargeInvoice");
    expect(offered).toMatchObject({ description: "Charge an invoice." });
    expect(promptAt(1)).toContain('"charged":"i1"');
    expect(textOf((await stored(host)).at(-1))).toBe("Charged.");
  });

  test("its own name wins over the key of the map", async () => {
    const named = action({
      name: "pay",
      description: "Pay.",
      inputSchema: z.object({}),
      execute: () => "paid"
    });
    const host = open([call("pay", {}), reply(text("ok"))], { somethingElse: named });
    await say(host, "u1");
    expect(await outputAt(host)).toBe("paid");
  });

  test("it stands beside the plain tools of the class", async () => {
    class Mixed extends Clerk {
      override getTools() {
        return { look: tool({ inputSchema: z.object({}), execute: async () => "seen" }) };
      }
    }
    open(
      [
        reply(toolCall("look", {}, { id: "l1" }), toolCall("charge", { invoiceId: "i1" }, { id: "c1" })),
        reply(text("ok"))
      ],
      { charge }
    );
    const host = createTestHost({ agents: { Mixed } });
    const agent = await host.get(Mixed, "a");
    await agent.saveMessages([user("u1", "go")]);
    const outputs = toolParts(await agent.getMessages()).map(({ output }) => output);
    expect(outputs).toEqual(["seen", { charged: "i1" }]);
  });

  test("its callback gets the agent, the request, the call, what the model read, and a signal", async () => {
    let seen: ActionContext | undefined;
    let agent: Clerk | undefined;
    const look = action({
      description: "Look.",
      inputSchema: jsonSchema<{ where: string }>({ type: "object", properties: { where: { type: "string" } } }),
      execute: ({ where }, ctx) => {
        seen = ctx;
        return where;
      }
    });
    const host = open([call("look", { where: "here" }), reply(text("ok"))], (self) => {
      agent = self;
      return { look };
    });
    const { requestId } = await say(host, "u1", { role: "admin" });
    expect(seen?.agent).toBe(agent);
    expect(seen).toMatchObject({ requestId, toolCallId: "c1" });
    expect(seen?.env).toBeDefined();
    expect(JSON.stringify(seen?.messages)).toContain("u1");
    expect(seen?.signal.aborted).toBe(false);
  });
});

describe("what goes wrong is an output the model reads, and the turn goes on", () => {
  const failing = (error: unknown) =>
    action({
      description: "Fail.",
      inputSchema: z.object({}),
      execute: () => {
        throw error;
      }
    });

  test.each([
    [new RangeError("too far"), { error: { name: "RangeError", message: "too far" } }],
    ["a text", { error: { name: "Error", message: "a text" } }]
  ])("a throw of %s", async (error, output) => {
    const host = open([call("fail", {}), reply(text("Sorry."))], { fail: failing(error) });
    expect(await say(host, "u1")).toMatchObject({ status: "completed" });
    expect(await storedPart(host)).toMatchObject({ state: "output-available", output });
    expect(ledger(host)).toEqual([]);
    expect(textOf((await stored(host)).at(-1))).toBe("Sorry.");
  });

  test("a timeout: 30 seconds unless the action says otherwise, and the signal fires", async () => {
    const signals: AbortSignal[] = [];
    const slow = (timeoutMs?: number) =>
      action({
        description: "Slow.",
        inputSchema: z.object({}),
        ...(timeoutMs !== undefined && { timeoutMs }),
        execute: (_input, { signal }) => {
          signals.push(signal);
          return never();
        }
      });
    const host = open(
      [reply(toolCall("slow", {}, { id: "c1" }), toolCall("quick", {}, { id: "c2" })), reply(text("Too slow."))],
      { slow: slow(), quick: slow(50) }
    );
    const turn = say(host, "u1");
    await host.advance(29_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    await host.advance(2_000);
    expect(await turn).toMatchObject({ status: "completed" });
    expect(await outputAt(host, "c1")).toMatchObject({ error: { message: "Action timed out after 30000ms" } });
    expect(await outputAt(host, "c2")).toMatchObject({ error: { message: "Action timed out after 50ms" } });
    expect(ledger(host)).toEqual([]);
  });

  test("cancelling the turn fires the signal", async () => {
    let signal: AbortSignal | undefined;
    const wait = action({
      description: "Wait.",
      inputSchema: z.object({}),
      execute: (_input, ctx) => {
        signal = ctx.signal;
        return never();
      }
    });
    const host = open([call("wait", {}), reply(text("never said"))], { wait });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    expect(signal?.aborted).toBe(true);
    expect(ledger(host)).toEqual([]);
    expect(scene.script.callCount).toBe(1);
  });
});

describe("what the model is shown of a long output", () => {
  const long = action({ description: "Long.", inputSchema: z.object({}), execute: () => "x".repeat(50_000) + "END" });

  test("is capped, and read_result gives the rest in pages", async () => {
    const host = open(
      [
        call("long", {}),
        (recorded) => {
          const id = /id \\+"(result_[^"\\]+)/.exec(JSON.stringify(recorded.prompt))?.[1] ?? "";
          return reply(toolCall("read_result", { id, from: 40_000 }, { id: "c2" }));
        },
        reply(text("Read."))
      ],
      { long }
    );
    await say(host, "u1");
    const output = String(await outputAt(host));
    expect(output.length).toBeLessThan(20_500);
    expect(output).toContain("truncated 30003 chars");
    const page = (await outputAt(host, "c2")) as { text: string; totalBytes: number };
    expect(page).toMatchObject({ totalBytes: 50_003 });
    expect(page.text.endsWith("END")).toBe(true);
  });
});

describe("an idempotency key runs once", () => {
  const twice = (first: object, second: object) => [
    call("charge", first, "c1"),
    call("charge", second, "c2"),
    reply(text("ok"))
  ];

  test("a settled key is replayed without running, in another step and in another turn", async () => {
    const host = open(
      [
        ...twice({ invoiceId: "i1" }, { invoiceId: "i1" }),
        call("charge", { invoiceId: "i1" }, "c3"),
        reply(text("ok"))
      ],
      { charge }
    );
    await say(host, "u1");
    await host.restart();
    await say(host, "u2");
    expect(scene.effects).toEqual(["charge i1"]);
    expect(await outputAt(host, "c2")).toEqual({ charged: "i1" });
    expect(await outputAt(host, "c3")).toEqual({ charged: "i1" });
    expect(ledger(host)).toEqual([{ key: "action:charge:invoice:i1", status: "settled" }]);
    expect(eventsOf("action:ledger:replayed")).toHaveLength(2);
  });

  test("the same key with another input is a conflict", async () => {
    const host = open(twice({ invoiceId: "i1" }, { invoiceId: "i1", note: "urgent" }), { charge });
    await say(host, "u1");
    expect(scene.effects).toHaveLength(1);
    expect(await outputAt(host, "c2")).toMatchObject({ error: { name: "ActionKeyConflict" } });
    expect(JSON.stringify(await outputAt(host, "c2"))).toContain("invoice:i1");
  });

  test("two calls of one step run once and give the same value", async () => {
    const input = { invoiceId: "i1" };
    const host = open(
      [reply(toolCall("charge", input, { id: "c1" }), toolCall("charge", input, { id: "c2" })), reply(text("ok"))],
      { charge }
    );
    await say(host, "u1");
    expect(scene.effects).toHaveLength(1);
    expect(await outputAt(host, "c1")).toEqual(await outputAt(host, "c2"));
  });

  test("without a key each call runs", async () => {
    const plain = action({
      description: "Ring.",
      inputSchema: z.object({}),
      execute: () => effect("ring")
    });
    const host = open([call("ring", {}, "c1"), call("ring", {}, "c2"), reply(text("ok"))], { ring: plain });
    await say(host, "u1");
    expect(scene.effects).toEqual(["ring", "ring"]);
  });

  test("without a key a call of a later turn runs, even if the provider gives both the same id", async () => {
    const ring = action({ description: "Ring.", inputSchema: z.object({}), execute: () => effect("ring") });
    const host = open([call("ring", {}, "call_0"), reply(text("ok")), call("ring", {}, "call_0"), reply(text("ok"))], {
      ring
    });
    await say(host, "u1");
    await say(host, "u2");
    expect(scene.effects).toEqual(["ring", "ring"]);
  });

  test("a failed call leaves no row: it can be made again", async () => {
    let attempts = 0;
    const flaky = action({
      description: "Flaky.",
      inputSchema: z.object({}),
      idempotencyKey: "once",
      execute: () => {
        attempts += 1;
        if (attempts === 1) throw new Error("not yet");
        return "done";
      }
    });
    const host = open([call("flaky", {}, "c1"), call("flaky", {}, "c2"), reply(text("ok"))], { flaky });
    await say(host, "u1");
    expect(await outputAt(host, "c2")).toBe("done");
    expect(attempts).toBe(2);
  });
});

describe("a process that dies in the middle of an effect", () => {
  const dies = (idempotencyKey?: string) =>
    action({
      description: "Send.",
      inputSchema: z.object({}),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      execute: () => {
        effect("send");
        return scene.effects.length === 1 ? never<string>() : "sent";
      }
    });

  /** The process dies while the effect runs; the model reads that the outcome is unknown and calls again. */
  async function afterDeath(host: ReturnType<typeof open>) {
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    await host.restart();
  }
  const steps = () => [
    call("send", {}, "c1"),
    call("send", {}, "c2"),
    reply(text("ok")),
    call("send", {}, "c3"),
    reply(text("ok"))
  ];

  test("leaves a row that is pending; a fresh one gives ActionPendingError", async () => {
    const host = open(steps(), { send: dies("s") });
    await afterDeath(host);
    await host.advance(60_000);
    expect(await outputAt(host, "c2")).toMatchObject({ error: { name: "ActionPendingError" } });
    expect(scene.effects).toEqual(["send"]);
    expect(await (await agentOf(host)).listActionLedger()).toMatchObject([{ status: "pending", effect: "unknown" }]);
  });

  test("and with an explicit key runs once more when the lease is over", async () => {
    const host = open(steps(), { send: dies("s") });
    await afterDeath(host);
    await host.advance(301_000);
    await say(host, "u2");
    expect(scene.effects).toEqual(["send", "send"]);
    expect(await outputAt(host, "c3")).toBe("sent");
    expect(eventsOf("action:ledger:reclaimed")).toHaveLength(1);
  });

  test("and then runs once, even if two calls ask for it at the same time", async () => {
    const two = reply(toolCall("send", {}, { id: "c3" }), toolCall("send", {}, { id: "c4" }));
    const host = open([...steps().slice(0, 3), two, reply(text("ok"))], { send: dies("s") });
    await afterDeath(host);
    await host.advance(301_000);
    await say(host, "u2");
    expect(scene.effects).toEqual(["send", "send"]);
    expect([await outputAt(host, "c3"), await outputAt(host, "c4")]).toEqual(["sent", "sent"]);
  });

  test("and never again by itself when the lease is switched off", async () => {
    const host = open(steps(), { send: dies("s") }, { actionLedgerPendingRetryLeaseMs: false });
    await afterDeath(host);
    await host.advance(3_000_000);
    await say(host, "u2");
    expect(scene.effects).toEqual(["send"]);
    expect(await outputAt(host, "c3")).toMatchObject({ error: { name: "ActionPendingError" } });
  });

  test("until an operator says what happened, or that it may run again", async () => {
    const settings = { actionLedgerPendingRetryLeaseMs: false } as const;
    const host = open(steps(), { send: dies("s") }, settings);
    await afterDeath(host);
    await host.advance(60_000);
    const agent = await agentOf(host);
    const key = "action:send:s";
    expect(await agent.resolveActionLedger("nothing", { retry: true })).toEqual({ ok: false, reason: "not-found" });
    expect(await agent.resolveActionLedger(key, { output: "it was sent", by: "ann" })).toEqual({ ok: true });
    expect(await agent.resolveActionLedger(key, { retry: true })).toEqual({ ok: false, reason: "not-pending" });
    await say(host, "u2");
    expect(await outputAt(host, "c3")).toBe("it was sent");
    expect(scene.effects).toEqual(["send"]);
    const again = open(steps(), { send: dies("s") }, settings);
    await afterDeath(again);
    await again.advance(60_000);
    await (await agentOf(again)).resolveActionLedger(key, { retry: true });
    await say(again, "u2");
    expect(scene.effects).toEqual(["send", "send"]);
  });

  test("without a key is never run again: the call's outcome is said to be unknown", async () => {
    const host = open([call("send", {}, "c1"), reply(text("I do not know."))], { send: dies() });
    await afterDeath(host);
    await host.advance(600_000);
    expect(scene.effects).toEqual(["send"]);
    expect((await storedPart(host)).state).toBe("output-error");
  });
});

describe("wrong definitions are refused", () => {
  const fine = { description: "Fine.", inputSchema: z.object({}), execute: () => 1 };

  test.each([
    ["without a description", { ...fine, description: " " }],
    ["without a schema", { ...fine, inputSchema: undefined }],
    ["without a body", { ...fine, execute: undefined }],
    ["of a durable pause that would never park", { ...fine, kind: "durable-pause", approval: false }],
    ["of a kind that would ignore its approval", { ...fine, kind: "server", approval: true }],
    ["of an unknown kind", { ...fine, kind: "later" }],
    ["of an unknown risk", { ...fine, approval: true, approvalRisk: "huge" }],
    ["with an empty key", { ...fine, idempotencyKey: "" }],
    ["with permissions that are no list", { ...fine, permissions: "billing" }],
    ["with a negative timeout", { ...fine, timeoutMs: -1 }],
    ["with a name no provider takes", { ...fine, name: "pay the bill" }]
  ])("when they are written: %s", (_what, config) => {
    expect(() => action(config as Parameters<typeof action>[0])).toThrow(/action/i);
  });

  test("isAction knows what action() made, which cannot be changed", () => {
    const made = action(fine);
    expect(isAction(made)).toBe(true);
    expect(isAction(fine)).toBe(false);
    expect(Object.isFrozen(made)).toBe(true);
  });

  const plainTool = tool({ inputSchema: z.object({}), execute: async () => "no" });
  test.each([
    ["a plain tool", { plain: plainTool }],
    ["a plain tool behind an action", { charge, plain: plainTool }],
    ["a plain tool before an action", { plain: plainTool, charge }],
    ["two actions of one name", { charge, other: action({ ...fine, name: "charge" }) }]
  ])("in the map of getActions(), they fail the turn and not the agent: %s", async (_what, map) => {
    const host = open([reply(text("never said"))], map as never);
    expect(await say(host, "u1")).toMatchObject({ status: "error" });
    expect(scene.script.callCount).toBe(0);
    expect((await host.fetch("/agents/clerk/a/get-messages")).status).toBe(200);
  });

  test("a getActions() that throws fails the turn and not the agent", async () => {
    const host = open([reply(text("never said"))], () => {
      throw new Error("no catalogue");
    });
    expect(await say(host, "u1")).toMatchObject({ status: "error", error: "no catalogue" });
    expect((await host.fetch("/agents/clerk/a/get-messages")).status).toBe(200);
    await host.restart();
    expect((await host.fetch("/agents/clerk/a/get-messages")).status).toBe(200);
  });

  test("an action that is left out is no mistake", async () => {
    const host = open([call("charge", { invoiceId: "i1" }), reply(text("ok"))], { refund: undefined, charge });
    await say(host, "u1");
    expect(scene.effects).toEqual(["charge i1"]);
  });
});
