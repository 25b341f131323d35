// Schedules, the queue and fibers belong to every agent: they begin before its conversation, also when that cannot be opened.
import { expect, test, vi } from "vitest";
import { Think, type Session } from "../../src/index.ts";
import { capability } from "../../src/feature/capability.ts";
import { withCapabilities } from "../../src/core/index.ts";
import { fibers } from "../../src/features/fibers/capability.ts";
import { queue } from "../../src/features/queue/capability.ts";
import { schedules } from "../../src/features/schedules/capability.ts";
import { ThinkCore } from "../../src/think/think-core.ts";
import { createScript, createTestHost, reply, scriptedModel, text, toolCall } from "../../src/testing/index.ts";
import { tool, type ToolSet } from "ai";
import { z } from "zod";

test("a capability that opens with the agent starts before the conversation, and wakes it although that cannot be opened", async () => {
  vi.spyOn(console, "error").mockReturnValue(undefined);
  const seen: string[] = [];
  const early = capability({
    name: "early",
    opensWithAgent: true,
    feature: () => ({ name: "early", start: () => void seen.push("early"), nextWake: () => 42_000_000 })
  });
  const late = capability({
    name: "late",
    feature: () => ({ name: "late", start: () => void seen.push("late") })
  });
  const state = { isBroken: true };
  class Moody extends withCapabilities(ThinkCore, late, early) {
    declare getModel: ThinkCore["getModel"];
    override configureSession(session: Session) {
      seen.push("conversation");
      if (state.isBroken) throw new Error("not today");
      return session;
    }
    async ping() {
      return "up";
    }
  }
  const host = createTestHost({ agents: { Moody }, now: 40_000_000 });
  await expect(host.get(Moody, "a").then((agent) => agent.ping())).rejects.toThrow("not today");
  expect(seen).toEqual(["early", "conversation"]);
  state.isBroken = false;
  seen.length = 0;
  await host.restart();
  expect(await (await host.get(Moody, "a")).ping()).toBe("up");
  expect(seen).toEqual(["early", "conversation", "late"]);
});

test("schedules, the queue and fibers open with the agent", () => {
  expect([schedules, queue, fibers].filter(({ opensWithAgent }) => !opensWithAgent)).toEqual([]);
});

test("what a fiber of a conversation stashes is the fiber's, and what a tool stashes is the turn's", async () => {
  const recovered: unknown[] = [];
  const script = createScript([reply(toolCall("count", {})), reply(text("Done."))]);
  class Counter extends Think {
    override getModel() {
      return scriptedModel(script);
    }
    override getTools(): ToolSet {
      return {
        count: tool({
          inputSchema: z.object({}),
          execute: async () => {
            this.stash("of the turn");
            return "counted";
          }
        })
      };
    }
    override onFiberRecovered({ snapshot }: { snapshot: unknown }) {
      recovered.push(snapshot);
    }
    async work() {
      void this.runFiber("work", async () => {
        this.stash("of the fiber");
        await new Promise(() => undefined);
      });
    }
  }
  const host = createTestHost({ agents: { Counter } });
  const counter = await host.get(Counter, "a");
  expect(await counter.runTurn({ input: "Count." })).toMatchObject({ status: "completed" });
  await counter.work();
  await host.restart();
  await host.get(Counter, "a");
  await host.idle();
  expect(recovered).toEqual(["of the fiber"]);
});
