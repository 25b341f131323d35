import { jsonSchema } from "ai";
import { describe, expect, expectTypeOf, it, test } from "vitest";
import { z } from "zod";
import { FEATURE } from "../../feature/feature.ts";
import type { Think } from "../../think/think.ts";
import type { ActionContext } from "./descriptor.ts";
import { action } from "./feature.ts";
import { isAction, namedActions, type ActionConfig } from "./descriptor.ts";

const base = { description: "Refunds.", inputSchema: z.object({ id: z.string() }), execute: () => 1 };

describe("an action", () => {
  it("is a frozen descriptor that carries its feature", () => {
    const refund = action(base);
    expect(isAction(refund)).toBe(true);
    expect(Object.isFrozen(refund) && Object.isFrozen(refund.config)).toBe(true);
    expect(typeof refund[FEATURE]).toBe("function");
    expect(refund.timeoutMs).toBe(30_000);
    for (const other of [null, undefined, {}, base, "action", () => base]) expect(isAction(other)).toBe(false);
  });

  test.each<[string, Partial<ActionConfig<{ id: string }, number>>, string]>([
    ["no approval", {}, "server"],
    ["approval: true", { approval: true }, "approval-gated"],
    ["approval: false", { approval: false }, "server"],
    ["an approval predicate", { approval: () => false }, "approval-gated"],
    ["a kind that says so", { kind: "durable-pause" }, "durable-pause"],
    ["a kind and a predicate", { kind: "durable-pause", approval: () => true }, "durable-pause"]
  ])("with %s is of the kind it should be", (_what, config, kind) => {
    expect(action({ ...base, ...config }).kind).toBe(kind);
  });

  test.each<[string, object]>([
    ["no description", { description: "" }],
    ["a blank description", { description: "  " }],
    ["no input schema", { inputSchema: undefined }],
    ["no execute", { execute: undefined }],
    ["a durable pause that never pauses", { kind: "durable-pause", approval: false }],
    ["a gate that never asks", { kind: "approval-gated", approval: false }],
    ["an approval that its kind ignores", { kind: "server", approval: true }],
    ["an unknown kind", { kind: "later" }],
    ["an approval that is a text", { approval: "yes" }],
    ["an unknown risk", { approvalRisk: "extreme" }],
    ["a name with a space", { name: "refund order" }],
    ["an empty name", { name: "" }],
    ["a name of 65 characters", { name: "a".repeat(65) }],
    ["an empty key", { idempotencyKey: "" }],
    ["a key that is a number", { idempotencyKey: 7 }],
    ["permissions that are a text", { permissions: "billing" }],
    ["an empty permission", { permissions: [""] }],
    ["a negative timeout", { timeoutMs: -1 }],
    ["an endless timeout", { timeoutMs: Infinity }],
    ["a timeout that is no number", { timeoutMs: Number.NaN }],
    ["a timeout longer than timers", { timeoutMs: 2 ** 31 }],
    ["an output schema that is none", { outputSchema: "string" }]
  ])("with %s is refused where it is written", (_what, wrong) => {
    expect(() => action({ ...base, ...wrong })).toThrow(expect.objectContaining({ code: "action-definition" }));
  });

  it("may have no timeout", () => {
    expect(action({ ...base, timeoutMs: 0 }).timeoutMs).toBe(0);
  });
});

describe("the map of getActions()", () => {
  it("names actions by their key or their own name, and leaves out what is undefined", () => {
    const named = namedActions({ a: action(base), b: action({ ...base, name: "other" }), c: undefined });
    expect([...named.keys()]).toEqual(["a", "other"]);
  });

  test.each<[string, unknown]>([
    ["a list", [action(base)]],
    ["null", null],
    ["a plain tool", { a: base }],
    ["a symbol as key", { [Symbol("a")]: action(base) }],
    ["a key that is no tool name", { "refund order": action(base) }],
    ["two actions of one name", { a: action(base), b: action({ ...base, name: "a" }) }]
  ])("with %s is refused", (_what, map) => {
    expect(() => namedActions(map)).toThrow(expect.objectContaining({ code: "action-definition" }));
  });
});

test("inputs are typed by their schema, in execute and in every policy", () => {
  action({
    description: "Zod.",
    inputSchema: z.object({ orderId: z.string(), cents: z.number().default(0) }),
    idempotencyKey: ({ input }) => {
      expectTypeOf(input).toEqualTypeOf<{ orderId: string; cents: number }>();
      return input.orderId;
    },
    permissions: ({ input, ctx }) => {
      expectTypeOf(ctx).toEqualTypeOf<ActionContext>();
      return [input.orderId];
    },
    approval: ({ input }) => input.cents > 100,
    execute: async (input, ctx) => {
      expectTypeOf(input).toEqualTypeOf<{ orderId: string; cents: number }>();
      expectTypeOf(ctx.agent).toEqualTypeOf<Think>();
      expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>();
      ctx.attachReply({ type: "email_draft", to: ["a@b.example"], subject: "Hello" });
      return { done: true };
    }
  });
  const typed = action({
    description: "JSON schema.",
    inputSchema: jsonSchema<{ city: string }>({ type: "object" }),
    execute: ({ city }) => city.length
  });
  expectTypeOf(typed.config.execute).returns.toEqualTypeOf<number | PromiseLike<number>>();
  // @ts-expect-error the schema has no such field
  action({ ...base, execute: ({ missing }) => missing });
});
