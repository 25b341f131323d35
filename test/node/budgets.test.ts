// Budgets of a class, on the host in this process: a call that does not fit is not made, and what is reserved is settled.
import { generateText, tool } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, Think } from "../../src/index.ts";
import { tokens, usd, type BudgetLimit } from "../../src/core/budgets.ts";
import {
  createGate,
  createScript,
  createTestHost,
  cutStream,
  fail,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  usage
} from "../../src/testing/index.ts";
import { ask } from "../kit/frames.ts";
import { user } from "../kit/messages.ts";
import { agentOf, costs, open, rowsOf, say, scene, stored } from "./budgets-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const look = tool({ description: "Looks.", inputSchema: z.object({}), execute: () => "seen" });
const small = usage({ input: 40, output: 2 });
const MORE_THAN_A_CALL = 20;

function limits(...given: BudgetLimit[]) {
  return { limits: () => given };
}

describe("what a call has used", () => {
  test("is settled with the counts that the provider reports", async () => {
    const host = open([reply(text("hi"), small)], limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }));
    expect(await say(host, "q")).toMatchObject({ status: "completed" });
    expect(await costs(host)).toMatchObject({ total: { usd: 0.042, tokens: 42, calls: 1 }, open: 0 });
  });

  test("is all that was reserved when the provider reports nothing", async () => {
    const host = open([reply(text("hi"))], limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }));
    await say(host, "q");
    const { total, open: left } = await costs(host);
    // The bound of the prompt, and the longest answer.
    expect(total.tokens).toBeGreaterThan(2_000);
    expect(total.usd).toBeCloseTo(total.tokens / 1_000, 9);
    expect(left).toBe(0);
  });

  test.each([
    ["negative", usage({ input: -5, output: 2 }), "more"],
    ["no number", usage({ input: Number.NaN, output: 2 }), "more"]
  ])("counts that are %s are taken for what was reserved", async (_, reported) => {
    const host = open([reply(text("hi"), reported)], limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }));
    await say(host, "q");
    expect((await costs(host)).total.tokens).toBeGreaterThan(1_000);
  });

  test("is nothing when the provider refuses the request", async () => {
    const host = open([fail("no key", { statusCode: 401 })], limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }));
    expect(await say(host, "q")).toMatchObject({ status: "error" });
    expect(await costs(host)).toMatchObject({ total: { usd: 0 }, open: 0 });
  });

  test("is all that was reserved when the stream breaks off", async () => {
    const host = open([reply(text("hi"), cutStream())], {
      ...limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) })
    });
    const asked = say(host, "q");
    await host.advance(600_000);
    await asked;
    const { total, open: left } = await costs(host);
    expect(total.usd).toBeGreaterThan(1);
    expect(left).toBe(0);
  });

  test("counts each retry of the SDK as a call of its own", async () => {
    const host = open(
      [fail("slow down", { statusCode: 429, retryAfterMs: 0 }), reply(text("hi"), small)],
      limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) })
    );
    const asked = say(host, "q");
    await host.advance(120_000);
    expect(await asked).toMatchObject({ status: "completed" });
    expect(await costs(host)).toMatchObject({ total: { usd: 0.042, calls: 2 }, open: 0 });
  });
});

describe("a call that does not fit", () => {
  test("is not made: the turn ends with a named reason", async () => {
    const host = open([], limits({ per: "turn", limit: usd(0.5) }));
    const result = await say(host, "q");
    expect(result).toMatchObject({ status: "error" });
    expect(result.error).toMatch(/reached its budget and ends here: .* more; spent \$0.00 of \$0.50 in this turn/);
    expect(scene.script.callCount).toBe(0);
    expect(await costs(host)).toMatchObject({ total: { calls: 0 }, open: 0 });
  });

  test("is not made after a step: the turn keeps what it has", async () => {
    const first = reply(text("Let me look."), toolCall("look", {}), usage({ input: 5_000, output: 10 }));
    const host = open([first], { ...limits({ per: "turn", limit: usd(10) }), tools: () => ({ look }) });
    const result = await say(host, "q");
    expect(result).toMatchObject({
      status: "error",
      error: expect.stringContaining("spent $5.01 of $10.00") as string
    });
    expect(scene.script.callCount).toBe(1);
    const answer = (await stored(host)).at(-1);
    expect(answer?.parts).toContainEqual(expect.objectContaining({ type: "text", text: "Let me look." }));
    expect(answer?.parts).toContainEqual(expect.objectContaining({ type: "tool-look", output: "seen" }));
  });

  test("is made with a shorter answer when that fits", async () => {
    const host = open([reply(text("hi"), small)], {
      ...limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }),
      maxOutputTokens: 100_000
    });
    await say(host, "q");
    const asked = scene.script.calls[0]?.settings.maxOutputTokens ?? 0;
    expect(asked).toBeGreaterThan(1_000);
    expect(asked).toBeLessThan(MORE_THAN_A_CALL * 1_000);
  });

  test("is not repeated by recovery", async () => {
    const host = open([reply(text("hi"), small)], limits({ per: "turn", limit: usd(0.5) }));
    await say(host, "q");
    await host.advance(600_000);
    await host.restart();
    await host.advance(600_000);
    expect(scene.script.callCount).toBe(0);
  });
});

describe("limits", () => {
  test("of tokens need no price", async () => {
    const host = open([reply(text("hi"), small)], { ...limits({ per: "turn", limit: tokens(20_000) }), prices: [] });
    expect(await say(host, "q")).toMatchObject({ status: "completed" });
    expect(await costs(host)).toMatchObject({ total: { tokens: 42, usd: 0 } });
  });

  test("of money refuse a model without a price, by a named error", async () => {
    const host = open([reply(text("hi"), small)], { ...limits({ per: "turn", limit: usd(5) }), prices: [] });
    expect(await say(host, "q")).toMatchObject({
      status: "error",
      error: expect.stringContaining("its price is not known") as string
    });
    expect(scene.script.callCount).toBe(0);
  });

  test("of money allow it by an explicit option", async () => {
    const host = open([reply(text("hi"), small)], {
      ...limits({ per: "turn", limit: usd(5) }),
      prices: [],
      unpriced: "allow"
    });
    expect(await say(host, "q")).toMatchObject({ status: "completed" });
  });

  test.each([
    ["no list", null],
    ["a limit without an amount", [{ per: "turn" }]],
    ["an unknown period", [{ per: "week", limit: usd(1) }]],
    ["a key without a name", [{ per: { key: "" }, limit: usd(1) }]],
    ["an unknown time zone", [{ per: "day", limit: usd(1), timeZone: "Moon/Base" }]]
  ])("that cannot be read fail the turn, and no model is called: %s", async (_, given) => {
    const host = open([reply(text("hi"), small)], { limits: () => given as never });
    expect(await say(host, "q")).toMatchObject({ status: "error" });
    expect(scene.script.callCount).toBe(0);
  });

  test("of a conversation add its turns up", async () => {
    const spent = usage({ input: 3_000, output: 0 });
    const host = open(
      [reply(text("one"), spent), reply(text("two"), spent)],
      limits({ per: "conversation", limit: usd(12) })
    );
    expect(await say(host, "q1")).toMatchObject({ status: "completed" });
    expect(await say(host, "q2")).toMatchObject({ status: "completed" });
    expect(await say(host, "q3")).toMatchObject({ status: "error" });
    expect(scene.script.callCount).toBe(2);
  });

  test("of a day begin anew at midnight of their time zone", async () => {
    const spent = usage({ input: 4_000, output: 0 });
    const host = open(
      [reply(text("one"), spent), reply(text("two"), spent)],
      limits({ per: "day", limit: usd(10), timeZone: "Asia/Tokyo" })
    );
    expect(await say(host, "q1")).toMatchObject({ status: "completed" });
    expect(await say(host, "q2")).toMatchObject({ status: "error" });
    await host.advance(24 * 3_600_000);
    expect(await say(host, "q3")).toMatchObject({ status: "completed" });
  });

  test("of a step hold for each step alone", async () => {
    const spent = usage({ input: 4_000, output: 0 });
    const host = open([reply(toolCall("look", {}), spent), reply(text("done"), spent)], {
      ...limits({ per: "step", limit: usd(10) }),
      tools: () => ({ look })
    });
    expect(await say(host, "q")).toMatchObject({ status: "completed" });
    expect(await costs(host)).toMatchObject({ total: { usd: 8, calls: 2 } });
  });

  test("of a key are those of the person who asked, also after a restart", async () => {
    const asked: unknown[] = [];
    const host = open([reply(text("half"), stall()), reply(text(" done"), small)], {
      limits: ({ requestId }) => {
        asked.push(requestId);
        return asked.length === 1 ? [{ per: { key: "ann", each: "day" }, limit: usd(50) }] : [];
      }
    });
    void say(host, "q").catch(() => undefined);
    await host.advance(1_000);
    await host.restart();
    await host.advance(120_000);
    expect(asked).toHaveLength(1);
    const { accounts } = await costs(host);
    const ann = accounts.find(({ account }) => account.startsWith("key:ann:"));
    // The call that was cut off counts with all that it had reserved.
    expect(ann?.usd).toBeGreaterThan(1.042);
    expect((await costs(host)).open).toBe(0);
  });
});

test("calls at the same time wait for each other's reservations, and all that fit are made", async () => {
  const gate = createGate();
  const script = createScript([reply(text("a"), gate.wait(), small), reply(text("b"), small)]);
  class Pair extends Think {
    override getModel() {
      return scriptedModel(script);
    }
    override getPrices() {
      return scene.prices;
    }
    override getBudgets(): BudgetLimit[] {
      return [{ per: "conversation", limit: usd(2.5) }];
    }
    async ask(prompt: string) {
      return (await generateText({ model: this.budgeted(this.getModel()), prompt, maxOutputTokens: 1_000 })).text;
    }
  }
  const host = createTestHost({ agents: { Pair } });
  const agent = await host.get(Pair, "a");
  const both = Promise.all([agent.ask("one"), agent.ask("two")]);
  await host.idle();
  expect(script.callCount).toBe(1);
  gate.open();
  expect(await both).toEqual(["a", "b"]);
  expect(script.callCount).toBe(2);
  expect(await agent.getCosts()).toMatchObject({ total: { usd: 0.084 }, open: 0 });
});

describe("costs of tools", () => {
  test("count for the turn, and keep a later call from being made", async () => {
    const host = open([reply(toolCall("search", {}), small), reply(text("never"))], {
      ...limits({ per: "turn", limit: usd(10) }),
      tools: (agent) => ({
        search: tool({
          description: "Searches.",
          inputSchema: z.object({}),
          execute: async () => {
            await agent.spend(usd(5), { id: "search-1" });
            await agent.spend(usd(5), { id: "search-1" });
            return "found";
          }
        })
      })
    });
    expect(await say(host, "q")).toMatchObject({ status: "error" });
    expect(scene.script.callCount).toBe(1);
    expect(await costs(host)).toMatchObject({ total: { usd: 5.042 } });
  });
});

describe("what a turn has cost", () => {
  test("is in onChatResponse, with its usage", async () => {
    const host = open([reply(text("hi"), small)], limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }));
    await host.connect("/agents/spender/a").then((socket) => ask(socket, "r1"));
    await host.idle();
    expect(scene.responses).toMatchObject([
      { usage: { inputTokens: 40, outputTokens: 2 }, cost: { usd: 0.042, tokens: 42 } }
    ]);
  });

  test("is with the end of the answer for clients of a class that sends its usage", async () => {
    const host = open([reply(toolCall("look", {}), small), reply(text("hi"), small)], {
      ...limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }),
      tools: () => ({ look }),
      sendsUsage: true
    });
    await say(host, "q");
    expect((await stored(host)).at(-1)?.metadata).toMatchObject({ usage: { totalTokens: 84 }, cost: { usd: 0.084 } });
  });

  test("is not said of a class without limits", async () => {
    const host = open([reply(text("hi"), small)], { sendsUsage: true });
    await host.connect("/agents/spender/a").then((socket) => ask(socket, "r1"));
    await host.idle();
    expect(scene.responses[0]).not.toHaveProperty("cost");
    expect((await stored(host)).at(-1)?.metadata).not.toHaveProperty("cost");
  });
});

test("an action counts a cost of its own once, however often it is run", async () => {
  const host = open([reply(toolCall("search", {}), small), reply(text("found"), small)], {
    ...limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }),
    actions: {
      search: action({
        description: "Searches.",
        inputSchema: z.object({}),
        execute: async (_input, ctx) => {
          await ctx.spend(usd(0.5));
          await ctx.spend(usd(0.5));
          await ctx.spend(usd(0.25), "page 2");
          return "found";
        }
      })
    }
  });
  expect(await say(host, "q")).toMatchObject({ status: "completed" });
  expect((await costs(host)).total.usd).toBeCloseTo(0.834, 9);
});

describe("Must hold 5: a class without budgets and with one model", () => {
  class Plain extends Think {
    override workspaceTools = false;
    override getModel() {
      return scriptedModel(scene.script);
    }
  }
  class Counted extends Plain {
    override getBudgets(): BudgetLimit[] {
      return [{ per: "conversation", limit: tokens(1_000_000) }];
    }
  }
  class Listed extends Plain {
    override getModels() {
      return [this.getModel()];
    }
  }
  /** Of the second turn: the first one makes the tables. */
  async function rowsOfTurn(Agent: typeof Plain): Promise<number> {
    Object.assign(scene, { script: createScript([reply(text("one"), small), reply(text("two"), small)]) });
    const host = createTestHost({ agents: { Agent } });
    const agent = await host.get(Agent, "a");
    await agent.saveMessages([user("q1")]);
    const before = host.counts.rowsWritten;
    await agent.saveMessages([user("q2")]);
    await host.idle();
    return host.counts.rowsWritten - before;
  }

  test("pays no row: a turn is seven, as before there were budgets", async () => {
    expect(await rowsOfTurn(Plain)).toBe(7);
    expect(await rowsOfTurn(Listed)).toBe(7);
    // What budgets cost is paid by who has them.
    expect(await rowsOfTurn(Counted)).toBeGreaterThan(7);
  });

  test("is not asked for limits or prices, and its calls are not wrapped", async () => {
    const asked = vi.fn(() => []);
    class Watched extends Plain {
      override getPrices = asked;
    }
    await rowsOfTurn(Watched);
    expect(asked).not.toHaveBeenCalled();
  });
});

test("Must hold 2: an idle agent has no reservation, and what was reserved and not used is free again", async () => {
  const host = open(
    [reply(text("hi"), small), reply(text("again"), small)],
    limits({ per: "conversation", limit: usd(10) })
  );
  expect(await say(host, "q")).toMatchObject({ status: "completed" });
  expect(await costs(host)).toMatchObject({ open: 0, total: { usd: 0.042 } });
  // More than half of it was reserved for the first.
  expect(await say(host, "q2")).toMatchObject({ status: "completed" });
  await host.restart();
  expect(await costs(host)).toMatchObject({ open: 0, total: { usd: 0.084 } });
});

test("a class without limits writes no row and asks no account", async () => {
  const host = open([reply(text("hi"), small)]);
  await say(host, "q");
  const names = rowsOf(host, "SELECT name FROM sqlite_master WHERE name LIKE 'cf_budget%'");
  expect(names).toEqual([]);
});

test("a turn that is over keeps no limits", async () => {
  const host = open([reply(text("hi"), small)], limits({ per: "turn", limit: usd(MORE_THAN_A_CALL) }));
  await say(host, "q");
  expect(rowsOf(host, "SELECT * FROM cf_budget_limits")).toEqual([]);
  expect(await (await agentOf(host)).saveMessages([user("q2")])).toMatchObject({ status: "error" });
});
