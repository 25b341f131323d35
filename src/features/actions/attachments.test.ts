import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it, test } from "vitest";
import { z } from "zod";
import type { ReplyAttachment } from "../../feature/approval-contract.ts";
import { action } from "./feature.ts";
import { Process, World } from "./actions.test-support.ts";
import { MAX_ATTACHMENT_TURNS, MAX_ATTACHMENTS } from "./attachments.ts";

let world: World;
const card = (n: number): ReplyAttachment => ({ type: "card", n });
const inputSchema = z.object({
  from: z.number().default(0),
  count: z.number().default(1),
  fails: z.boolean().default(false)
});

const actions = () => ({
  attach: action({
    description: "Attaches.",
    inputSchema,
    idempotencyKey: ({ input, ctx }) => {
      ctx.attachReply({ type: "from-a-policy" });
      return `${input.from}:${input.count}:${input.fails}`;
    },
    permissions: ({ ctx }) => {
      ctx.attachReply({ type: "from-a-policy" });
      return [];
    },
    execute: ({ from, count, fails }, ctx) => {
      for (let n = from; n < from + count; n++) ctx.attachReply(card(n));
      if (fails) throw new Error("after attaching");
      return "ok";
    }
  }),
  attachAnything: action({
    description: "Attaches what is no attachment.",
    inputSchema: z.object({}),
    execute: (_input, ctx) => {
      const loop: Record<string, unknown> = { type: "loop", big: 1n };
      loop["self"] = loop;
      for (const value of [null, 1, "text", [], {}, { type: 5 }, () => 1, loop]) ctx.attachReply(value as never);
    }
  })
});

const boot = () => new Process(world, actions);

beforeEach(() => {
  world = new World(new DatabaseSync(":memory:"));
});

describe("attachments", () => {
  it("belong to the turn that recorded them, survive a restart, and are copies", async () => {
    await boot().call("attach", { count: 2 });
    const { actions } = boot();
    expect(actions.attachmentsOf("turn-1")).toEqual([card(0), card(1)]);
    expect(actions.replyAttachments()).toEqual([card(0), card(1)]);
    expect(actions.replyAttachments("request-of-turn-1")).toHaveLength(2);
    expect(actions.replyAttachments("another")).toEqual([]);
    actions.replyAttachments()[0]!["n"] = "changed";
    expect(actions.replyAttachments()[0]).toEqual(card(0));
    expect(
      world.events.filter((event) => event.type === "action:reply-attached").map((event) => event.payload)
    ).toEqual([
      { action: "attach", attachmentType: "card" },
      { action: "attach", attachmentType: "card" }
    ]);
  });

  it("of one turn are not the next one's, and stay readable by their turn", async () => {
    const process = boot();
    process.actions.beginTurn("turn-1");
    await process.call("attach", {});
    process.actions.beginTurn("turn-2");
    expect(process.actions.replyAttachments()).toEqual([]);
    expect(boot().actions.replyAttachments()).toEqual([]);
    expect(process.actions.attachmentsOf("turn-1")).toEqual([card(0)]);
  });

  it("of an interrupted turn are kept by its next attempt", async () => {
    await boot().call("attach", {});
    const recovered = boot();
    recovered.actions.beginTurn("turn-1");
    await recovered.call("attach", { from: 5 }, { toolCallId: "call-2" });
    expect(recovered.actions.attachmentsOf("turn-1")).toEqual([card(0), card(5)]);
  });

  it("are at most thirty-two per turn, over all its calls", async () => {
    const process = boot();
    await process.call("attach", { count: 20 });
    await process.call("attach", { from: 20, count: 13 }, { toolCallId: "call-2" });
    expect(process.actions.attachmentsOf("turn-1")).toHaveLength(MAX_ATTACHMENTS);
    await process.call("attach", { from: 50, count: 33 }, { toolCallId: "call-3", turnId: "turn-2" });
    expect(process.actions.attachmentsOf("turn-2")).toEqual(Array.from({ length: 32 }, (_, n) => card(50 + n)));
  });

  it("of a failing execution do not count", async () => {
    const process = boot();
    await process.call("attach", { fails: true });
    expect(process.actions.replyAttachments()).toEqual([]);
    expect(world.eventTypes()).not.toContain("action:reply-attached");
  });

  it("are not fired again by a replay", async () => {
    const process = boot();
    await process.call("attach", {});
    process.actions.beginTurn("turn-2");
    await process.call("attach", {}, { toolCallId: "call-2", turnId: "turn-2" });
    expect(process.actions.attachmentsOf("turn-2")).toEqual([]);
  });

  it("are JSON objects with a type, and nothing else is", async () => {
    const process = boot();
    await process.call("attachAnything", {});
    expect(process.actions.replyAttachments()).toEqual([{ type: "loop", big: "1n", self: "[Circular]" }]);
  });

  it("are kept for a few turns only", async () => {
    const process = boot();
    for (let turn = 0; turn < MAX_ATTACHMENT_TURNS + 2; turn++) {
      await process.call("attach", { from: turn }, { toolCallId: `call-${turn}`, turnId: `turn-${turn}` });
    }
    expect(world.rows("SELECT turn_id FROM cf_action_attachments")).toHaveLength(MAX_ATTACHMENT_TURNS);
    expect(process.actions.replyAttachments()).toEqual([card(MAX_ATTACHMENT_TURNS + 1)]);
  });
});

test("a turn without attachments writes nothing for them", () => {
  const process = boot();
  const before = process.sql.writes;
  process.actions.beginTurn("turn-1");
  process.actions.settled({ turnId: "turn-1" });
  expect(process.sql.writes).toBe(before);
});
