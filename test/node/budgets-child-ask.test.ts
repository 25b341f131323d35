// A run of a sub-agent that needs more than it may spend: a person is asked at the sub-agent, as for its other approvals, the
// run stays open, and goes on once when more was granted. Its parent has the whole answer, or is told what is waited for.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { tool } from "ai";
import { z } from "zod";
import { agentTool, Think } from "../../src/index.ts";
import { usd, type BudgetLimit } from "../../src/core/budgets.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  toolCall,
  usage,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { PRICE } from "./budgets-kit.ts";

beforeEach(() => {
  for (const method of ["warn", "error"] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
});

interface Scene {
  parent: Script;
  child: Script;
  limits: readonly BudgetLimit[];
  childLimits: readonly BudgetLimit[];
  events: AgentEvent[];
}

const scene: Scene = { parent: createScript([]), child: createScript([]), limits: [], childLimits: [], events: [] };

class Worker extends Think {
  override workspaceTools = false;
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };
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
    return { maxOutputTokens: 1_000 };
  }
  override getTools() {
    return { look: tool({ description: "Looks.", inputSchema: z.object({}), execute: () => "blue" }) };
  }
}

class Boss extends Think {
  override workspaceTools = false;
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
    return { work: agentTool(Worker, { description: "Works.", inputSchema: z.object({ task: z.string() }) }) };
  }
  runs() {
    return this.listAgentToolRuns().map(({ runId, status }) => ({ runId, status }));
  }
  async stopRuns() {
    for (const { runId } of this.listAgentToolRuns()) await this.cancelAgentToolRun(runId, "no longer needed");
  }
  async result(runId: string) {
    const { status, summary } = await this.runAgentTool(Worker, { input: { task: "dig" }, runId });
    return { status, summary };
  }
}

const small = usage({ input: 40, output: 2 });
const large = usage({ input: 5_000, output: 10 });
const ASKS: BudgetLimit = { per: { key: "ann", each: "day" }, limit: usd(6), then: "ask", grant: usd(20) };
const callsWork = reply(toolCall("work", { task: "dig" }, { id: "c1" }), small);
const asksMore: ReturnType<typeof reply>[] = [
  reply(text("Let me look. "), toolCall("look", {}, { id: "k1" }), large),
  reply(text("It is blue."), small)
];

function open({
  parent,
  child,
  limits,
  childLimits
}: Partial<Record<"parent" | "child", Step[]>> & Partial<Pick<Scene, "limits" | "childLimits">>) {
  Object.assign(scene, {
    parent: createScript(parent ?? [callsWork, reply(text("The worker says so."), small)]),
    child: createScript(child ?? asksMore),
    limits: limits ?? [],
    childLimits: childLimits ?? [],
    events: []
  });
  return createTestHost({ agents: { Boss, Worker } });
}

type Host = ReturnType<typeof open>;
const bossOf = (host: Host) => host.get(Boss, "a");

/** The address of the newest run below the agent. */
async function childUrl(host: Host) {
  const runId = (await (await bossOf(host)).runs()).at(-1)?.runId ?? "";
  return `/agents/boss/a/sub/worker/${encodeURIComponent(runId)}`;
}

interface Waiting {
  readonly executionId: string;
  readonly source: string;
  readonly descriptor: { readonly summary: string };
}

async function waiting(host: Host): Promise<readonly Waiting[]> {
  const response = await host.fetch(`${await childUrl(host)}/approvals`);
  return response.status === 200 ? ((await response.json()) as readonly Waiting[]) : [];
}

async function decide(host: Host, executionId: string, decision: "approve" | "reject") {
  const response = await host.fetch(`${await childUrl(host)}/approvals/${executionId}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ decision })
  });
  return response.status;
}

/** The question of the child, after the parent was asked something. */
async function parked(host: Host) {
  const asked = (await bossOf(host)).saveMessages([user("q")]).catch(() => undefined);
  await host.advance(5_000);
  return { asked, question: (await waiting(host))[0] };
}

const stored = (host: Host) => storedMessages(host, "/agents/boss/a");
const grants = (host: Host) =>
  host.sql(Boss, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_budget_grants'").length === 0
    ? []
    : host.sql(Boss, "a", "SELECT amount FROM cf_budget_grants");

describe.each([
  ["a limit of its own", { childLimits: [ASKS] }],
  ["a limit that it inherits", { limits: [ASKS] }]
] as const)("a run that needs more than %s", (_, limits) => {
  test("asks at the sub-agent, and its parent gets the whole answer in the same turn", async () => {
    const host = open(limits);
    const { asked, question } = await parked(host);
    expect(question).toMatchObject({
      source: "budget",
      descriptor: { summary: expect.stringContaining("by ann today") as string }
    });
    expect(scene.child.callCount).toBe(1);
    expect(await decide(host, question!.executionId, "approve")).toBe(200);
    await host.advance(30_000);
    expect(await asked).toMatchObject({ status: "completed" });
    expect(JSON.stringify(await stored(host))).toContain("It is blue.");
    expect(linesOf(await stored(host)).at(-1)).toContain("The worker says so.");
    expect(scene.child.callCount).toBe(2);
    expect(grants(host)).toHaveLength(1);
    expect(await (await bossOf(host)).getCosts()).toMatchObject({ open: 0 });
  });
});

test("the live view of the run goes on where it stopped, numbered through, also for a client that comes later", async () => {
  const host = open({ childLimits: [ASKS] });
  const socket = await host.connect("/agents/boss/a");
  ask(socket, "r1");
  await host.advance(5_000);
  await decide(host, (await waiting(host))[0]!.executionId, "approve");
  await host.advance(30_000);
  const late = await host.connect("/agents/boss/a");
  await host.idle();
  for (const one of [socket, late]) {
    const events = framesOf(one).filter(({ type }) => type === "agent-tool-event") as unknown as {
      readonly sequence: number;
      readonly event: { readonly kind: string; readonly body?: string };
    }[];
    const numbers = events.map(({ sequence }) => sequence);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((first, second) => first - second));
    const words = events
      .map(({ event }) => (JSON.parse(event.body ?? "{}") as { delta?: string }).delta ?? "")
      .join("");
    expect(words).toBe("Let me look. It is blue.");
    expect(events.map(({ event }) => event.kind)).not.toContain("rewritten");
  }
});

test("a run whose question is rejected ends, and its parent goes on with that", async () => {
  const host = open({ childLimits: [ASKS] });
  const { asked, question } = await parked(host);
  expect(await decide(host, question!.executionId, "reject")).toBe(200);
  await host.advance(30_000);
  expect(await asked).toMatchObject({ status: "completed" });
  expect(JSON.stringify(await stored(host))).toContain("which was not granted");
  expect(scene.child.callCount).toBe(1);
  expect(await waiting(host)).toEqual([]);
});

test("a parent that has waited long enough is told what for; the run goes on when it is granted, and a later call has its answer", async () => {
  const host = open({ childLimits: [ASKS] });
  const { asked, question } = await parked(host);
  await host.advance(20 * 60_000);
  expect(await asked).toMatchObject({ status: "completed" });
  expect(JSON.stringify(await stored(host))).toContain("waits for a person to grant more budget");
  await host.restart();
  await host.advance(24 * 3_600_000);
  expect(await decide(host, question!.executionId, "approve")).toBe(200);
  await host.advance(60_000);
  expect(scene.child.callCount).toBe(2);
  const [run] = await (await bossOf(host)).runs();
  expect(await (await bossOf(host)).result(run!.runId)).toEqual({
    status: "completed",
    summary: "Let me look. \nIt is blue."
  });
});

test("a run that is cancelled while it waits asks no more", async () => {
  const host = open({ childLimits: [ASKS] });
  const { asked, question } = await parked(host);
  await (await bossOf(host)).stopRuns();
  await host.advance(30_000);
  await asked;
  expect((await (await bossOf(host)).runs()).map(({ status }) => status)).toEqual(["aborted"]);
  expect(await waiting(host)).toEqual([]);
  expect(await decide(host, question!.executionId, "approve")).toBe(409);
  expect(scene.child.callCount).toBe(1);
});

test("a question that no one answers ends the run after thirty days", async () => {
  const host = open({ childLimits: [ASKS] });
  await parked(host);
  await host.advance(31 * 24 * 3_600_000);
  expect(await waiting(host)).toEqual([]);
  const [run] = await (await bossOf(host)).runs();
  expect(await (await bossOf(host)).result(run!.runId)).toMatchObject({ status: "error" });
});

/** Turns that went on, each counted once over its attempts. */
function continuations(): number {
  const started = scene.events
    .filter(({ type }) => type === "chat:turn:start")
    .map(({ payload }) => payload as { requestId: string; continuation?: boolean });
  return new Set(started.flatMap((one) => (one.continuation ? [one.requestId] : []))).size;
}

test("Must hold 3, in a tree: killed at any write or await, the run goes on exactly once after the grant", async () => {
  const many = (step: Step) => Array<Step>(20).fill(step);
  await everyCrash({
    create: async () => {
      const host = open({
        childLimits: [ASKS],
        // Whatever was lost: what it is asked for is the look, and then the answer.
        child: many((call) =>
          promptOf(call).includes("tool-result") ? reply(text("It is blue."), small) : asksMore[0]!
        ),
        parent: [callsWork, ...many(reply(text("The worker says so."), small))]
      });
      await bossOf(host);
      return host;
    },
    script: async (host) => {
      const { question } = await parked(host);
      if (question) await decide(host, question.executionId, "approve");
      await host.advance(30_000);
    },
    finish: async (host) => {
      for (let tries = 0; tries < 4; tries++) {
        await host.advance(45_000);
        // Not waited for: it waits for the person.
        if ((await stored(host)).length === 0)
          void (await bossOf(host)).saveMessages([user("q")]).catch(() => undefined);
        await host.advance(5_000);
        for (const { executionId } of await waiting(host)) await decide(host, executionId, "approve");
      }
      await host.advance(180_000);
    },
    limit: 30,
    inspect: async (host) => ({
      continuationsPerGrant: continuations() / grants(host).length,
      runs: (await (await bossOf(host)).runs()).map(({ status }) => (status === "interrupted" ? "completed" : status)),
      waiting: (await waiting(host)).length,
      open: (await (await bossOf(host)).getCosts()).open
    })
  });
}, 300_000);
