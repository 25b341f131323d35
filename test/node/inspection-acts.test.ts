// Inspectors that take part as the developer: only in development or where the class says so; what they ask and run passes the
// same guards as everything else, and is recorded.
import { tool } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, usd } from "../../src/index.ts";
import type {
  ChatView,
  CostsView,
  InboxView,
  ShownReceipt,
  StartedRun,
  ToolsView,
  TurnsView,
  TurnTimeline
} from "../../src/features/inspection/index.ts";
import { reply, text } from "../../src/testing/index.ts";
import { ask, KEY, look, open, request, scene, Subject, type Host } from "./inspection-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  return () => void vi.restoreAllMocks();
});

const ACTS = { ask: { text: "hello" }, withdraw: { id: "x" }, stop: {}, run: { tool: "look", input: { at: "sea" } } };

const developed = (steps: Parameters<typeof open>[0] = []) => open(steps, { env: { EVERTHINK_DEVELOPMENT: "1" } });

async function act<View>(host: Host, path: keyof typeof ACTS, body: object): Promise<View> {
  const response = await request(host, path, KEY, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  await host.idle();
  return JSON.parse(text) as View;
}

const run = (host: Host, name: string, input: unknown) => act<StartedRun>(host, "run", { tool: name, input });

async function onlyCall(host: Host, { turnId }: StartedRun) {
  const turn = await look<TurnTimeline>(host, `turns/${turnId}`);
  const [call] = turn.attempts.flatMap(({ steps }) => steps.flatMap(({ calls }) => calls));
  return { turn, call };
}

describe.each(Object.entries(ACTS))("POST %s", (path, body) => {
  const refused = async (host: Host, token: string | null = KEY) => {
    const response = await request(host, path, token, body);
    await host.idle();
    expect(response.status).toBe(403);
    expect(scene.effects).toEqual([]);
    return response.text();
  };

  test("is refused in production, with the key as without, and whatever the class allows inspectors", async () => {
    expect(await refused(open([]))).toContain("inspectionActs");
    expect(await refused(open([]), null)).toBe('{"error":"Forbidden"}');
    vi.spyOn(Subject.prototype, "authorizeInspection").mockReturnValue(true);
    expect(await refused(open([]), null)).toContain("inspectionActs");
  });

  test("is refused in development without the key, from another machine, and where the class says never", async () => {
    expect(await refused(developed(), null)).toBe('{"error":"Forbidden"}');
    const headers = { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const elsewhere = await developed().fetch(`https://dev.example.com/agents/subject/a/inspect/v1/${path}`, init);
    expect(elsewhere.status).toBe(403);
    const host = developed();
    scene.acts = "never";
    expect(await refused(host)).toContain("never");
  });

  test("is asked for as act, and refused when the class refuses that", async () => {
    const asked = vi
      .spyOn(Subject.prototype, "authorizeInspection")
      .mockImplementation((_request, access) => access !== "act");
    expect(await refused(developed())).toBe('{"error":"Forbidden"}');
    expect(asked.mock.calls.map(([, access]) => access)).toEqual(["act"]);
  });
});

test("a class that says always is open to the key in production", async () => {
  const host = open([reply(text("Hi."))]);
  scene.acts = "always";
  await act(host, "ask", { text: "hello" });
  expect((await look<TurnsView>(host, "turns")).turns).toMatchObject([{ status: "completed", question: "hello" }]);
});

describe("a chat", () => {
  test("asks, and shows question and answer; the same message is asked once", async () => {
    const host = developed([reply(text("Hi there."))]);
    const receipt = await act<ShownReceipt>(host, "ask", { text: "hello", id: "one" });
    expect(receipt).toMatchObject({ id: "one", kind: "steer" });
    expect(await act<ShownReceipt>(host, "ask", { text: "hello", id: "one" })).toMatchObject({ id: "one" });
    const chat = await look<ChatView>(host, "chat");
    expect(chat).toMatchObject({ running: null, openTurns: 0, waiting: [], refusal: null, isCut: false });
    expect(chat.messages.map(({ role, parts }) => [role, parts[0]?.text.text])).toEqual([
      ["user", "hello"],
      ["assistant", "Hi there."]
    ]);
  });

  test("shows the answer while it is written, what waits with its place, and takes it back", async () => {
    const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const pause = {
      kind: "wait" as const,
      until: () => {
        reached.resolve();
        return goOn.promise;
      }
    };
    const host = developed([reply(text("Half"), pause, text(" and whole.")), reply(text("Second."))]);
    await request(host, "ask", KEY, { text: "hello" });
    await reached.promise;
    await request(host, "ask", KEY, { text: "and then?", kind: "follow-up", id: "f1" });
    await request(host, "ask", KEY, { text: "no, not this", kind: "follow-up", id: "f2" });
    const chat = await look<ChatView>(host, "chat");
    expect(chat.running?.answer?.parts).toMatchObject([{ type: "text", text: { text: "Half" } }]);
    expect(chat.waiting).toMatchObject([
      { id: "f1", kind: "follow-up", state: "queued", place: 1, text: { text: "and then?" } },
      { id: "f2", place: 2 }
    ]);
    expect(await (await request(host, "withdraw", KEY, { id: "f2" })).json()).toMatchObject({ state: "withdrawn" });
    expect((await look<ChatView>(host, "chat")).waiting.map(({ id }) => id)).toEqual(["f1"]);
    goOn.resolve();
    await host.idle();
    const texts = (await look<ChatView>(host, "chat")).messages.map(({ parts }) => parts[0]?.text.text);
    expect(texts).toEqual(["hello", "Half and whole.", "and then?", "Second."]);
    expect((await request(host, "withdraw", KEY, { id: "f1" })).status).toBe(400);
  });

  test("stops what runs", async () => {
    const [reached, never] = [Promise.withResolvers<void>(), new Promise<void>(() => undefined)];
    const until = () => {
      reached.resolve();
      return never;
    };
    const host = developed([reply(text("Half"), { kind: "wait", until })]);
    await request(host, "ask", KEY, { text: "hello" });
    await reached.promise;
    expect(await act(host, "stop", {})).toEqual({ stopped: true });
    expect(await act(host, "stop", {})).toEqual({ stopped: false });
    expect((await look<TurnsView>(host, "turns")).turns).toMatchObject([{ status: "aborted" }]);
  });

  test.each([{}, { text: " " }, { text: 5 }, { text: "x", kind: "other" }, { text: "x", id: 5 }])(
    "of %j nothing is asked",
    async (body) => {
      const host = developed();
      expect((await request(host, "ask", KEY, body)).status).toBe(400);
      expect((await look<TurnsView>(host, "turns")).turns).toEqual([]);
    }
  );
});

describe("tools", () => {
  test("are listed with their JSON schema, their layer, and whether they may be run", async () => {
    const view = await look<ToolsView>(developed(), "tools");
    const named = (name: string) => view.tools.find((one) => one.name === name);
    expect(view.refusal).toBeNull();
    expect(named("look")).toMatchObject({
      layer: "tools",
      description: { text: "Looks at a place." },
      inputSchema: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
      ...{ canRun: true, needsApproval: "never", isDeferred: false }
    });
    expect(named("ship")).toMatchObject({ layer: "actions", needsApproval: "sometimes" });
    expect(named("pay")).toMatchObject({ layer: "actions" });
    expect((await look<ToolsView>(open([]), "tools")).refusal).toContain("inspectionActs");
  });

  test("run by hand once, are recorded as that, and ask no model", async () => {
    const host = developed();
    const { turn, call } = await onlyCall(host, await run(host, "look", { at: "sea" }));
    expect(scene.effects).toEqual(["look sea"]);
    expect(turn).toMatchObject({ trigger: "by-hand", status: "completed", attempts: [{ modelId: "by-hand" }] });
    expect(call).toMatchObject({ toolName: "look", status: "output", output: { text: "seen sea" } });
    expect(turn.usage.totalTokens ?? 0).toBe(0);
    expect((await look<CostsView>(host, "costs")).withoutLimits.total).toEqual({ usd: 0, tokens: 0, calls: 0 });
    expect(scene.script.calls).toHaveLength(0);
    const { messages } = await look<ChatView>(host, "chat");
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    // The next question is the model's again.
    await ask(host, "hello").catch(() => undefined);
    expect(scene.script.calls).toHaveLength(1);
  });

  test("that need an approval wait for it, run once it is given, and nothing goes on by itself then", async () => {
    const host = developed();
    await run(host, "ship", { to: "Rome" });
    expect(scene.effects).toEqual([]);
    const [waiting] = (await look<InboxView>(host, "inbox")).approvals;
    expect(waiting).toMatchObject({ name: "ship", question: "Ship it?", isDecidable: true });
    expect((await request(host, "decide", KEY, { id: waiting?.id, decision: "approve" })).status).toBe(200);
    await host.advance(5_000);
    await host.idle();
    expect(scene.effects).toEqual(["ship Rome"]);
    expect((await look<TurnsView>(host, "turns")).turns.map(({ status }) => status)).toEqual([
      "completed",
      "completed"
    ]);
    expect(scene.script.calls).toHaveLength(0);
  });

  test("that park wait for their decision, too", async () => {
    const host = developed();
    await run(host, "pay", { euros: 5 });
    expect(scene.effects).toEqual([]);
    const [waiting] = (await look<InboxView>(host, "inbox")).approvals;
    const { id, inputHash } = waiting ?? {};
    expect((await request(host, "decide", KEY, { id, inputHash, decision: "approve" })).status).toBe(200);
    await host.idle();
    expect(scene.effects).toEqual(["pay 5"]);
    expect(scene.script.calls).toHaveLength(0);
  });

  test("are refused without their permissions, as for the model", async () => {
    vi.spyOn(Subject.prototype, "getActions").mockReturnValue({
      wipe: action({
        description: "Wipes.",
        inputSchema: z.object({}),
        permissions: ["admin"],
        execute: async () => void scene.effects.push("wipe")
      })
    });
    vi.spyOn(Subject.prototype, "authorizeTurn").mockReturnValue({
      allowed: true,
      grantedPermissions: ["user"]
    } as never);
    const host = developed();
    const { call } = await onlyCall(host, await run(host, "wipe", {}));
    expect(scene.effects).toEqual([]);
    expect(call?.output?.text).toMatch(/admin|not allowed|permission/i);
  });

  test("run once under the key of their action, however often they are run", async () => {
    vi.spyOn(Subject.prototype, "getActions").mockReturnValue({
      order: action({
        description: "Orders.",
        inputSchema: z.object({ what: z.string() }),
        idempotencyKey: ({ input }) => `order ${input.what}`,
        execute: async ({ what }: { what: string }) => {
          scene.effects.push(what);
          return "ordered";
        }
      })
    });
    const host = developed();
    await run(host, "order", { what: "tea" });
    const { call } = await onlyCall(host, await run(host, "order", { what: "tea" }));
    expect(scene.effects).toEqual(["tea"]);
    expect(call).toMatchObject({ output: { text: expect.stringContaining("ordered") } });
  });

  test("are stopped by beforeToolCall of the class, as for the model", async () => {
    const before = vi.fn(() => ({ action: "block", reason: "Not today." }));
    Object.assign(Subject.prototype, { beforeToolCall: before });
    try {
      const host = developed();
      await run(host, "look", { at: "sea" });
      expect([before.mock.calls.length, scene.effects]).toEqual([1, []]);
      const { messages } = await look<ChatView>(host, "chat");
      expect(messages.at(-1)?.parts).toMatchObject([
        { toolName: "look", text: { text: expect.stringContaining("Not today.") } }
      ]);
    } finally {
      Reflect.deleteProperty(Subject.prototype, "beforeToolCall");
    }
  });

  test("whose turn dies in the middle are not run again by hand of the recovery", async () => {
    const reached = Promise.withResolvers<void>();
    vi.spyOn(Subject.prototype, "getTools").mockReturnValue({
      slow: tool({
        inputSchema: z.object({}),
        execute: async () => {
          scene.effects.push("slow");
          reached.resolve();
          await new Promise(() => undefined);
        }
      })
    } as never);
    const host = developed();
    await request(host, "run", KEY, { tool: "slow", input: {} });
    await reached.promise;
    await host.restart();
    await host.get(Subject, "a");
    await host.advance(60_000);
    await host.idle();
    expect(scene.effects).toEqual(["slow"]);
    expect(scene.script.calls).toHaveLength(0);
    expect((await look<TurnsView>(host, "turns")).turns).toMatchObject([
      { trigger: "by-hand", status: "completed", deaths: 1 }
    ]);
  });

  test("run by hand under a limit in money: no model is asked, so none needs a price", async () => {
    vi.spyOn(Subject.prototype, "getBudgets").mockReturnValue([{ per: "turn", limit: usd(0.01) }]);
    const host = developed();
    const { turn } = await onlyCall(host, await run(host, "look", { at: "sea" }));
    expect([turn.status, scene.effects]).toEqual(["completed", ["look sea"]]);
  });

  test("that are deferred can be run by hand without a search", async () => {
    const host = developed();
    scene.discovery = { defer: () => true };
    const listed = await look<ToolsView>(host, "tools");
    expect(listed.tools.find(({ name }) => name === "look")).toMatchObject({ isDeferred: true, canRun: true });
    const { call } = await onlyCall(host, await run(host, "look", { at: "sea" }));
    expect([call?.output?.text, scene.effects]).toEqual(["seen sea", ["look sea"]]);
  });

  test.each([
    ["none", {}, "tool-not-runnable"],
    ["constructor", {}, "tool-not-runnable"],
    ["look", { at: 5 }, "hand-input-invalid"],
    ["look", "sea", "hand-input-invalid"]
  ])("%s with %j is refused before anything is recorded", async (name, input, code) => {
    const host = developed();
    const response = await request(host, "run", KEY, { tool: name, input });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, code]);
    expect((await look<TurnsView>(host, "turns")).turns).toEqual([]);
  });
});
