import { authorizeByGrant } from "../../feature/approval-contract.ts";
import { DatabaseSync } from "node:sqlite";
import type { ModelMessage } from "ai";
import { beforeEach, describe, expect, it, test } from "vitest";
import { z } from "zod";
import type { ActionAuthorizationContext } from "../../feature/approval-contract.ts";
import type { ActionContext } from "./descriptor.ts";
import { action } from "./feature.ts";
import { Process, settle, World, type CallInit, type HostOverrides } from "./actions.test-support.ts";
import type { ActionConfig } from "./descriptor.ts";

const inputSchema = z.object({ id: z.string() });
type Config = ActionConfig<{ id: string }, unknown>;
let world: World;

beforeEach(() => {
  world = new World(new DatabaseSync(":memory:"));
});

/** One action, "act", which counts its effect. */
function boot(config: Partial<Config> = {}, overrides: HostOverrides = {}): Process {
  const act = action({
    description: "Acts.",
    inputSchema,
    execute: (): unknown => world.count("act"),
    ...config
  });
  return new Process(world, () => ({ act }), overrides);
}

const ledger = () => world.rows("SELECT key, status FROM cf_action_ledger");

/** A conversation in which a human has answered about call-1. */
function answered(approved: boolean, input: unknown = { id: "1" }): ModelMessage[] {
  return [
    { role: "user", content: "do it" },
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "call-1", toolName: "act", input },
        { type: "tool-approval-request", approvalId: "approval-1", toolCallId: "call-1" }
      ]
    },
    { role: "tool", content: [{ type: "tool-approval-response", approvalId: "approval-1", approved }] }
  ];
}

async function asks(process: Process, init: CallInit = {}): Promise<boolean> {
  const { needsApproval } = process.compile(init).tools["act"] ?? {};
  if (typeof needsApproval !== "function") return needsApproval === true;
  return needsApproval({ id: "1" }, { toolCallId: "call-1", messages: init.messages ?? [], context: undefined });
}

describe("a call", () => {
  it("gets the checked input and its context, and its result is what the model reads", async () => {
    let seen: ActionContext | undefined;
    const process = boot({
      execute: (input, ctx) => {
        seen = ctx;
        return { got: input };
      }
    });
    const messages: ModelMessage[] = [{ role: "user", content: "hi" }];
    expect(await process.call("act", { id: "1", extra: true }, { messages })).toEqual({ got: { id: "1" } });
    expect(seen).toMatchObject({
      agent: { name: "the agent" },
      env: { NAME: "the environment" },
      requestId: "request-of-turn-1",
      toolCallId: "call-1",
      messages
    });
    expect(ledger()).toEqual([{ key: "tool:request-of-turn-1:call-1", status: "settled" }]);
  });

  test.each<[string, unknown, { name: string; message: string }]>([
    ["an error", new RangeError("too far"), { name: "RangeError", message: "too far" }],
    ["a text", "just text", { name: "Error", message: "just text" }],
    ["nothing", undefined, { name: "Error", message: "undefined" }],
    ["what cannot be printed", Object.create(null), { name: "Error", message: expect.any(String) }]
  ])("that throws %s is an output with name and message, and leaves no row", async (_what, thrown, error) => {
    const process = boot({
      execute: () => {
        throw thrown;
      }
    });
    expect(await process.call("act", { id: "1" })).toEqual({ error });
    expect(ledger()).toEqual([]);
  });

  it("that takes too long is stopped with that reason, and leaves no row", async () => {
    let signal: AbortSignal | undefined;
    const process = boot({
      timeoutMs: 500,
      execute: (_input, ctx) => {
        signal = ctx.signal;
        return new Promise(() => undefined);
      }
    });
    const call = process.call("act", { id: "1" });
    await world.advance(499);
    expect(signal?.aborted).toBe(false);
    await world.advance(1);
    expect(await call).toEqual({ error: { name: "ActionTimeoutError", message: "Action timed out after 500ms" } });
    expect(signal?.aborted).toBe(true);
    expect(ledger()).toEqual([]);
    expect(world.timers).toEqual([]);
  });

  it("has thirty seconds if it does not say, and no end if it says 0", async () => {
    const calls = [boot({ execute: () => new Promise(() => undefined) }).call("act", { id: "1" })];
    await world.advance(30_000);
    expect(await calls[0]).toMatchObject({ error: { message: "Action timed out after 30000ms" } });
    let isOver = false;
    void boot({ timeoutMs: 0, execute: () => new Promise(() => undefined) })
      .call("act", { id: "1" }, { toolCallId: "call-2" })
      .then(() => (isOver = true));
    await world.advance(10_000_000);
    expect(isOver).toBe(false);
  });

  it("of a cancelled turn is stopped", async () => {
    const controller = new AbortController();
    const call = boot({ execute: () => new Promise(() => undefined) }).call("act", { id: "1" }, controller);
    await settle();
    controller.abort();
    expect(await call).toMatchObject({ error: { name: "AbortError" } });
    expect(ledger()).toEqual([]);
  });

  it("made after the turn was cancelled does not run", async () => {
    const output = await boot().call("act", { id: "1" }, { signal: AbortSignal.abort() });
    expect(output).toMatchObject({ error: { name: "AbortError" } });
    expect(world.effects).toEqual({});
  });

  it("that fails late, when no caller waits any more, disturbs nothing", async () => {
    const gate = Promise.withResolvers<unknown>();
    const call = boot({ timeoutMs: 10, execute: () => gate.promise }).call("act", { id: "1" });
    await world.advance(10);
    gate.reject(new Error("late"));
    await settle();
    expect(await call).toMatchObject({ error: { name: "ActionTimeoutError" } });
  });

  test.each<[string, Partial<Config>]>([
    ["a key callback that throws", { idempotencyKey: () => JSON.parse("{") as string }],
    ["an empty key", { idempotencyKey: () => "" }],
    ["permissions that throw", { permissions: () => JSON.parse("{") as string[] }],
    ["permissions that are no list", { permissions: () => "all" as never }],
    ["an approval that throws", { approval: () => JSON.parse("{") as boolean }],
    ["an approval that is no boolean", { approval: () => "yes" as never }],
    ["a durable pause whose approval throws", { kind: "durable-pause", approval: () => JSON.parse("{") as boolean }]
  ])("with %s does not run and does not fail the turn", async (_what, config) => {
    const process = boot(config);
    expect(await asks(process)).toBe(false);
    expect(await process.call("act", { id: "1" })).toEqual({
      error: { name: expect.any(String), message: expect.any(String) }
    });
    expect(world.effects).toEqual({});
    expect(ledger()).toEqual([]);
  });

  it("whose result breaks its schema is an error the model reads, and an effect that happened", async () => {
    const config: Partial<Config> = {
      idempotencyKey: "k",
      outputSchema: z.object({ ok: z.boolean() }),
      execute: (_input, ctx) => {
        ctx.attachReply({ type: "card" });
        return { ok: `no ${world.count("act")}` };
      }
    };
    const first = await boot(config).call("act", { id: "1" });
    expect(first).toMatchObject({ error: { name: "ActionOutputError" } });
    expect(boot().actions.replyAttachments()).toEqual([]);
    expect(await boot(config).call("act", { id: "1" }, { toolCallId: "call-2" })).toEqual(first);
    expect(world.effects).toEqual({ act: 1 });
  });

  it("whose result has no JSON is settled as such: its effect is not run again", async () => {
    const config: Partial<Config> = {
      idempotencyKey: "k",
      execute: () => {
        world.count("act");
        return { toJSON: () => JSON.parse("{") as unknown };
      }
    };
    expect(await boot(config).call("act", { id: "1" })).toMatchObject({ serialized: false });
    expect(await boot(config).call("act", { id: "1" }, { toolCallId: "call-2" })).toMatchObject({ serialized: false });
    expect(world.effects).toEqual({ act: 1 });
    expect(world.eventTypes()).toContain("action:ledger:serialize_failed");
  });

  it("with a long result shows its beginning, and the whole can be read by the id it names", async () => {
    const long = "y".repeat(50_000);
    const process = boot({ idempotencyKey: "k", execute: () => ({ list: [long], n: 1 }) });
    const output = await process.call("act", { id: "1" });
    expect(output).toMatchObject({ truncated: true, resultId: expect.any(String) });
    expect(await boot({ idempotencyKey: "k" }).call("act", { id: "1" }, { toolCallId: "call-2" })).toEqual(output);
    expect(world.rows("SELECT size_bytes FROM cf_action_results")).toEqual([
      { size_bytes: JSON.stringify({ list: [long], n: 1 }).length }
    ]);
  });
});

describe("authorization", () => {
  const permissions = ["billing:refund"];

  test.each<[string, CallInit["grant"], boolean]>([
    ["allows everything where the turn has no list", { allowed: true }, true],
    ["allows what is in the turn's list", { allowed: true, grantedPermissions: ["billing:refund", "x"] }, true],
    ["denies what is not", { allowed: true, grantedPermissions: ["billing:read"] }, false],
    ["denies everything in a denied turn", { allowed: false, grantedPermissions: ["billing:refund"] }, false]
  ])("by the turn's grant %s", async (_what, grant, isAllowed) => {
    const output = await boot({ permissions }).call("act", { id: "1" }, grant ? { grant } : {});
    expect(world.effects).toEqual(isAllowed ? { act: 1 } : {});
    if (isAllowed) return;
    expect(output).toMatchObject({ error: { name: "ActionAuthorizationError", permissions } });
    expect(ledger()).toEqual([]);
  });

  it("names what is missing, or gives the turn's reason", async () => {
    const process = boot({ permissions: ({ input }) => [`refund:${input.id}`] });
    expect(await process.call("act", { id: "1" }, { grant: { allowed: true, grantedPermissions: [] } })).toMatchObject({
      error: { message: expect.stringContaining("refund:1"), permissions: ["refund:1"] }
    });
    expect(await process.call("act", { id: "1" }, { grant: { allowed: false, reason: "Closed." } })).toMatchObject({
      error: { message: "Closed." }
    });
  });

  it("of a class that decides call by call is asked with everything it needs", async () => {
    const seen: ActionAuthorizationContext[] = [];
    const process = boot(
      { permissions },
      {
        authorizeAction: (context) => {
          seen.push(context);
          return { allowed: context.action !== "act", reason: "Not that one." };
        }
      }
    );
    const grant = { allowed: true, grantedPermissions: ["x"] };
    expect(await process.call("act", { id: "1" }, { grant })).toMatchObject({ error: { message: "Not that one." } });
    expect(seen).toMatchObject([
      {
        requestId: "request-of-turn-1",
        toolCallId: "call-1",
        action: "act",
        kind: "server",
        input: { id: "1" },
        requiredPermissions: permissions,
        grantedPermissions: ["x"],
        grant,
        messages: [],
        agent: { name: "the agent" },
        env: { NAME: "the environment" }
      }
    ]);
    expect(authorizeByGrant(seen[0]!)).toMatchObject({ allowed: false });
  });

  test.each<[string, HostOverrides["authorizeAction"]]>([
    ["throws", () => JSON.parse("{") as boolean],
    ["answers nonsense", () => "yes" as never],
    ["answers nothing", () => undefined as never]
  ])("that %s allows nothing", async (_what, authorizeAction) => {
    await boot({}, authorizeAction ? { authorizeAction } : {}).call("act", { id: "1" });
    expect(world.effects).toEqual({});
  });
});

describe("an approval-gated action", () => {
  const gated: Partial<Config> = {
    approval: true,
    approvalSummary: "Act now",
    approvalRisk: "high",
    permissions: ["p"]
  };

  it("asks first, with a descriptor that says everything a prompt needs", async () => {
    const process = boot(gated);
    const compiled = process.compile();
    const { needsApproval } = compiled.tools["act"] ?? {};
    if (typeof needsApproval !== "function") throw new Error("no gate");
    expect(await needsApproval({ id: "1" }, { toolCallId: "call-1", messages: [], context: undefined })).toBe(true);
    expect(compiled.descriptorOf("call-1")).toEqual({
      requestId: "request-of-turn-1",
      toolCallId: "call-1",
      action: "act",
      summary: "Act now",
      input: { id: "1" },
      permissions: ["p"],
      risk: "high",
      kind: "approval-gated"
    });
  });

  it("asks only about the inputs its predicate names", async () => {
    expect(await asks(boot({ approval: ({ input }) => input.id !== "1" }))).toBe(false);
    expect(await asks(boot({ approval: async ({ input }) => input.id === "1" }))).toBe(true);
  });

  it("is the only kind that asks through the SDK", () => {
    for (const config of [{}, { kind: "durable-pause" as const }]) {
      expect(boot(config).compile().tools["act"]).not.toHaveProperty("needsApproval");
    }
  });

  it("runs once approved, and keeps saying that it needed approval", async () => {
    const process = boot({ approval: ({ ctx }) => ctx.messages.length === 0 });
    const messages = answered(true);
    expect(await asks(process, { messages })).toBe(true);
    expect(await process.call("act", { id: "1" }, { messages })).toBe(1);
  });

  it("does not run unapproved, even if it is called", async () => {
    for (const messages of [[], answered(false)]) {
      expect(await boot(gated).call("act", { id: "1" }, { messages })).toMatchObject({
        error: { name: "ActionNotApprovedError" }
      });
    }
    expect(world.effects).toEqual({});
  });

  it("is not asked about when it is denied anyway: it ends in the denial", async () => {
    const grant = { allowed: true, grantedPermissions: [] };
    expect(await asks(boot(gated), { grant })).toBe(false);
    expect(await boot(gated).call("act", { id: "1" }, { grant })).toMatchObject({
      error: { name: "ActionAuthorizationError" }
    });
    expect(ledger()).toEqual([]);
  });

  it("whose grant was taken back after the approval is accepted by the SDK and does not run", async () => {
    const init = { messages: answered(true), grant: { allowed: true, grantedPermissions: [] } };
    expect(await asks(boot(gated), init)).toBe(true);
    expect(await boot(gated).call("act", { id: "1" }, init)).toMatchObject({
      error: { name: "ActionAuthorizationError" }
    });
    expect(world.effects).toEqual({});
  });

  it("whose approved input was rewritten does not run", async () => {
    expect(await boot(gated).call("act", { id: "2" }, { messages: answered(true) })).toMatchObject({
      error: { name: "ActionApprovalInputError" }
    });
    expect(world.effects).toEqual({});
    expect(ledger()).toEqual([]);
  });
});

test("an answer further back is not an answer about a new call of the same id and input", async () => {
  const process = boot({ approval: true });
  const done: ModelMessage[] = [
    ...answered(true),
    { role: "assistant", content: "Done." },
    { role: "user", content: "Again." }
  ];
  expect(await asks(process, { messages: done })).toBe(true);
  expect(await process.call("act", { id: "1" }, { messages: done })).toMatchObject({
    error: { name: "ActionNotApprovedError" }
  });
});

test("an answer about another call is not an answer about this one", async () => {
  const process = boot({ approval: true });
  expect(await process.call("act", { id: "1" }, { toolCallId: "call-9", messages: answered(true) })).toMatchObject({
    error: { name: "ActionNotApprovedError" }
  });
});
