// Budgets over a tree of agents: the root keeps the accounts, and what sub-agents spend for a turn counts for that turn.
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { agentTool, Think } from "../../src/index.ts";
import { ThinkCore, withCapabilities } from "../../src/core/index.ts";
import { agentTools } from "../../src/core/agent-tools.ts";
import { usd, type BudgetLimit } from "../../src/core/budgets.ts";
import { createTestHost, reply, scriptedModel, text, toolCall, usage, type Step } from "../../src/testing/index.ts";
import { createScript, type Script } from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";
import { PRICE } from "./budgets-kit.ts";

interface Scene {
  parent: Script;
  child: Script;
  limits: readonly BudgetLimit[];
  childLimits: readonly BudgetLimit[];
}

const scene: Scene = { parent: createScript([]), child: createScript([]), limits: [], childLimits: [] };

class Worker extends Think {
  override workspaceBash = false;
  override getModel() {
    return scriptedModel(scene.child);
  }
  override getPrices() {
    return [PRICE];
  }
  override getBudgets() {
    return scene.childLimits;
  }
  override beforeTurn() {
    return { maxOutputTokens: 500 };
  }
  say(id: string) {
    return this.saveMessages([user(id)]);
  }
}

class Lean extends withCapabilities(ThinkCore, agentTools) {
  override getModel() {
    return scriptedModel(scene.child);
  }
}

class Boss extends Think {
  override maxConcurrentAgentTools = 50;
  override getModel() {
    return scriptedModel(scene.parent);
  }
  override getPrices() {
    return [PRICE];
  }
  override getBudgets() {
    return scene.limits;
  }
  override beforeTurn() {
    return { maxOutputTokens: 500 };
  }
  override getTools() {
    return {
      work: agentTool(Worker, { description: "Works.", inputSchema: z.object({ task: z.string() }) }),
      lean: agentTool(Lean, { description: "Works.", inputSchema: z.object({ task: z.string() }) })
    };
  }
  async askWorker(name: string, id: string) {
    const worker = await this.subAgent(Worker, name);
    return worker.say(id);
  }
  async runAll(count: number) {
    const runs = Array.from({ length: count }, (_, index) => this.runAgentTool(Worker, { input: `task ${index}` }));
    return (await Promise.all(runs)).map(({ status }) => status);
  }
}

function open(given: Partial<Record<"parent" | "child", Step[]>>, limits: readonly BudgetLimit[]) {
  Object.assign(scene, {
    parent: createScript(given.parent ?? []),
    child: createScript(given.child ?? []),
    limits,
    childLimits: []
  });
  return createTestHost({ agents: { Boss, Worker, Lean } });
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

const small = usage({ input: 40, output: 2 });
const large = usage({ input: 30_000, output: 0 });
const call = (name: string) => reply(toolCall(name, { task: "dig" }), small);

test("what a child run spends counts for the turn that it works for", async () => {
  const host = open({ parent: [call("work"), reply(text("done"), small)], child: [reply(text("dug"), large)] }, [
    { per: "turn", limit: usd(60) }
  ]);
  const boss = await host.get(Boss, "a");
  expect(await boss.saveMessages([user("q")])).toMatchObject({ status: "completed" });
  const { accounts, turns, open: left } = await boss.getCosts();
  expect(accounts.find(({ account }) => account.startsWith("turn:"))?.usd).toBeCloseTo(30.084, 6);
  expect(turns.map(({ agent }) => agent === "")).toContain(false);
  expect(left).toBe(0);
});

test("a child's call that does not fit into its parent's limit is not made, and then the parent's is not", async () => {
  const host = open({ parent: [call("work"), reply(text("never"))], child: [reply(text("dug"), large)] }, [
    { per: "turn", limit: usd(9) }
  ]);
  const boss = await host.get(Boss, "a");
  await boss.saveMessages([user("q")]);
  // With so little left, no call of either fits.
  scene.limits = [{ per: "conversation", limit: usd(0.05) }];
  expect(await boss.runAll(2)).toEqual(["error", "error"]);
  expect((await boss.getCosts()).open).toBe(0);
});

test("fifty children at once spend no more than their parent may", async () => {
  const honest = usage({ input: 4_000, output: 100 });
  const children = Array.from({ length: 50 }, () => reply(text("dug"), honest));
  const host = open({ child: children }, [{ per: { key: "ann", each: "day" }, limit: usd(60) }]);
  const boss = await host.get(Boss, "a");
  const all = boss.runAll(50);
  await host.advance(300_000);
  const statuses = await all;
  const { accounts, open: left } = await boss.getCosts();
  const ann = accounts.find(({ account }) => account.startsWith("key:ann:"));
  expect(ann?.usd).toBeLessThanOrEqual(60);
  expect(statuses.filter((status) => status === "completed").length).toBe(scene.child.callCount);
  expect(scene.child.callCount).toBeGreaterThan(8);
  expect(scene.child.callCount).toBeLessThan(50);
  expect(left).toBe(0);
});

test("a key is one account for all agents of the tree", async () => {
  const host = open({ child: [reply(text("one"), large), reply(text("two"), large)] }, []);
  scene.childLimits = [{ per: { key: "ann" }, limit: usd(35) }];
  const boss = await host.get(Boss, "a");
  expect(await boss.askWorker("w1", "q")).toMatchObject({ status: "completed" });
  expect(await boss.askWorker("w2", "q")).toMatchObject({ status: "error" });
  expect((await boss.getCosts()).accounts).toContainEqual(expect.objectContaining({ account: "key:ann", usd: 30 }));
});

test("limits that a run has inherited hold after a restart of the child", async () => {
  const host = open({ child: [reply(text("one"), large), reply(text("two"), large)] }, [
    { per: { key: "ann" }, limit: usd(35) }
  ]);
  const boss = await host.get(Boss, "a");
  expect(await boss.runAll(1)).toEqual(["completed"]);
  await host.restart();
  expect(await (await host.get(Boss, "a")).runAll(1)).toEqual(["error"]);
  expect(scene.child.callCount).toBe(1);
});

test("a child whose class cannot be held to the limits is not started", async () => {
  const host = open({ parent: [call("lean"), reply(text("ok"), small)], child: [reply(text("dug"), small)] }, [
    { per: "turn", limit: usd(60) }
  ]);
  const boss = await host.get(Boss, "a");
  await boss.saveMessages([user("q")]);
  expect(scene.child.callCount).toBe(0);
});
