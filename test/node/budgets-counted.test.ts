// What counts: every model call of the framework, by construction. A way in that asks a model without asking the budget first
// would be found here: where nothing fits, no script is ever asked; and where it fits, each call is in the accounts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { generateText, tool, type ToolSet } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { agentTool, createCompactFunction, Think, type Session, type ThinkScheduledTasks } from "../../src/index.ts";
import { usd, type BudgetLimit } from "../../src/core/budgets.ts";
import {
  createScript,
  createTestHost,
  fail,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  usage,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";
import { PRICE } from "./budgets-kit.ts";

beforeEach(() => {
  for (const method of ["warn", "error"] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
});

const KEY = "a-key-of-sixteen-characters";
const used = usage({ input: 40, output: 2 });

interface Scene {
  script: Script;
  limits: readonly BudgetLimit[];
  models: "one" | "two";
}

let scene: Scene;

class Everything extends Think {
  override openAIEndpoint = true;
  override plainChat = true;
  override maxConcurrentAgentTools = 10;
  override getModel() {
    const model = scriptedModel(scene.script);
    const failing = scriptedModel([fail("down", { statusCode: 503 })], { provider: "failing" });
    return scene.models === "one" ? model : [failing, model];
  }
  override getPrices() {
    return [PRICE, { ...PRICE, provider: "failing" }];
  }
  override getBudgets() {
    return scene.limits;
  }
  override beforeTurn() {
    return { maxOutputTokens: 500 };
  }
  override getTools(): ToolSet {
    return {
      look: tool({ inputSchema: z.object({}), execute: () => "seen" }),
      delegate: agentTool(Everything, { description: "Delegates.", inputSchema: z.object({ task: z.string() }) })
    };
  }
  override getScheduledTasks(): ThinkScheduledTasks {
    return { hourly: { schedule: "every 1 hour", prompt: "Report." } };
  }
  override configureSession(session: Session) {
    return session.onCompaction(createCompactFunction({ protectHead: 1, tailTokenBudget: 0 }));
  }
  override authorizeInspection(request: Request) {
    return request.headers.get("authorization") === `Bearer ${KEY}`;
  }
  async compactNow() {
    await this.addMessages(Array.from({ length: 8 }, (_, at) => user(`m${at}`, `words of ${at} `.repeat(20))));
    return (await this.session.compact())?.summary;
  }
  async judge() {
    const { text: said } = await generateText({
      model: this.budgeted(scriptedModel(scene.script)),
      prompt: "Is it good?",
      maxRetries: 0,
      maxOutputTokens: 500
    });
    return said;
  }
  async runInBackground() {
    await this.runAgentTool(Everything, { input: "dig", detached: true });
  }
}

function open(steps: readonly Step[], limits: readonly BudgetLimit[], models: Scene["models"] = "one") {
  scene = { script: createScript([...steps]), limits, models };
  return createTestHost({ agents: { Everything } });
}

type Host = ReturnType<typeof open>;
const agentOf = (host: Host) => host.get(Everything, "a");
const post = (host: Host, path: string, body: object, headers: Record<string, string> = {}) =>
  host.fetch(`/agents/everything/a/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body)
  });

/** Each way in to a model, with how often it asks one when all of it fits. */
const WAYS: readonly (readonly [name: string, calls: number, go: (host: Host) => Promise<unknown>])[] = [
  ["saveMessages()", 1, async (host) => (await agentOf(host)).saveMessages([user("q")])],
  ["runTurn()", 1, async (host) => (await agentOf(host)).runTurn({ input: "q" })],
  ["submitMessages()", 1, async (host) => (await agentOf(host)).submitMessages([user("q")])],
  [
    "chat()",
    1,
    async (host) =>
      (await agentOf(host)).chat("q", {
        onStart: () => undefined,
        onEvent: () => undefined,
        onDone: () => undefined,
        onError: () => undefined
      })
  ],
  [
    "chat over HTTP",
    1,
    async (host) => (await post(host, "chat", { id: "c", messages: [user("q")], trigger: "submit-message" })).text()
  ],
  [
    "the OpenAI endpoint",
    1,
    async (host) =>
      (await post(host, "v1/chat/completions", { model: "x", messages: [{ role: "user", content: "q" }] })).text()
  ],
  [
    "a scheduled task",
    1,
    async (host) => {
      await agentOf(host);
      await host.advance(3_600_000);
    }
  ],
  ["a compaction", 1, async (host) => (await agentOf(host)).compactNow()],
  ["budgeted()", 1, async (host) => (await agentOf(host)).judge()],
  ["a run in the background", 1, async (host) => (await agentOf(host)).runInBackground()]
];

async function went(host: Host, go: (host: Host) => Promise<unknown>) {
  const going = go(host).catch((error: unknown) => error);
  await host.advance(120_000);
  await going;
  await host.idle();
}

describe("every model call counts", () => {
  const small = Array.from({ length: 4 }, () => reply(text("ok"), used));

  test.each(WAYS)("of %s: where nothing fits, no model is asked", async (_name, _calls, go) => {
    const host = open(small, [{ per: { key: "all" }, limit: usd(0.000_001) }]);
    await went(host, go);
    expect(scene.script.callCount).toBe(0);
  });

  test.each(WAYS)("of %s: what it asked is in the accounts", async (_name, calls, go) => {
    const host = open(small, [{ per: { key: "all" }, limit: usd(500) }]);
    await went(host, go);
    expect(scene.script.callCount).toBe(calls);
    const { accounts, open: left } = await (await agentOf(host)).getCosts();
    expect(accounts.find(({ account }) => account === "key:all")?.usd).toBeCloseTo(calls * 0.042, 6);
    expect(left).toBe(0);
  });

  test("of a trial in Studio", async () => {
    const host = open(small, [{ per: { key: "all" }, limit: usd(500) }]);
    await (await agentOf(host)).saveMessages([user("q")]);
    const [turn] = (await (await agentOf(host)).getCosts()).turns;
    const authorization = { authorization: `Bearer ${KEY}` };
    expect((await post(host, "inspect/v1/try", { turnId: turn?.turnId }, authorization)).status).toBe(200);
    scene.limits = [{ per: { key: "all" }, limit: usd(0.000_001) }];
    expect((await post(host, "inspect/v1/try", { turnId: turn?.turnId }, authorization)).status).toBe(200);
    expect(scene.script.callCount).toBe(2);
  });

  test("of a run in the foreground, with what recovers it after a restart", async () => {
    const host = open(
      [reply(toolCall("delegate", { task: "dig" }), used), reply(text("half"), stall()), ...small],
      [{ per: { key: "all" }, limit: usd(500) }]
    );
    const asked = (await agentOf(host)).saveMessages([user("q")]).catch(() => undefined);
    await host.advance(1_000);
    expect(scene.script.callCount).toBe(2);
    await host.restart();
    await host.advance(120_000);
    await asked;
    const { accounts } = await (await agentOf(host)).getCosts();
    const [known] = accounts.filter(({ account }) => account === "key:all");
    // Each is there with what it reported, or, where its process died first, with all that it had reserved.
    expect(scene.script.callCount).toBeGreaterThan(3);
    expect(known?.usd).toBeGreaterThan((scene.script.callCount - 1) * 0.042 + 0.5);
  });

  test("of a compaction counts for the model of a list that wrote the summary", async () => {
    const host = open([reply(text("SUMMARY"), used)], [{ per: { key: "all" }, limit: usd(500) }], "two");
    await went(host, async (one) => expect(await (await agentOf(one)).compactNow()).toContain("SUMMARY"));
    expect((await (await agentOf(host)).getCosts()).models.map(({ provider }) => provider).sort()).toEqual([
      "failing",
      "scripted"
    ]);
  });

  test("of a compaction that does not fit leaves the conversation as it is, and asks no further model", async () => {
    const host = open([reply(text("SUMMARY"), used)], [{ per: { key: "all" }, limit: usd(0.000_001) }], "two");
    await went(host, async (one) => expect(await (await agentOf(one)).compactNow()).toBeUndefined());
    expect(scene.script.callCount).toBe(0);
    expect(await (await agentOf(host)).getCosts()).toMatchObject({ total: { calls: 0 }, open: 0 });
  });
});

// ── The source: a further place that asks a model must be entered here, with its meter ──

const ASKS =
  /\b(?:streamText|generateText|generateObject|streamObject|experimental_streamTextLowMemory)\(|\.do(?:Stream|Generate)\b|\bcallModel\(/;

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourcesOf(path);
    return /\.tsx?$/.test(entry.name) && !/\.(?:test|test-support|fixtures)\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** Without comments: samples in them are code of users. */
function codeOf(path: string): string {
  return readFileSync(path, "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

test("the package asks models in one place, and each caller of it says what measures the call", () => {
  const asking = sourcesOf("src").filter((path) => ASKS.test(codeOf(path)));
  expect(asking.filter((path) => !path.startsWith("src/testing/")).sort()).toEqual([
    // A model that is an agent: its turns are counted by the agent.
    "src/features/clients/ai-sdk/model.ts",
    // The callers, each with a meter: this, and the two at the end.
    "src/features/inspection/try-turn.ts",
    // Looks whether a value is a model.
    "src/features/models/model-names.ts",
    // Wrappers, which are given a model that is metered.
    "src/model/call.ts",
    "src/model/guarded-model.ts",
    "src/model/meter.ts",
    "src/model/sdk.ts",
    // Names of spans.
    "src/model/telemetry-spans.ts",
    "src/think/summarize.ts",
    "src/turn/attempt.ts"
  ]);
  const callers = asking.filter((path) => path !== "src/model/call.ts" && codeOf(path).includes("callModel("));
  expect(callers).toHaveLength(3);
  for (const path of callers) {
    const [, call = ""] = codeOf(path).split(/\bcallModel\(/);
    const options = call.slice(0, call.indexOf("});"));
    expect(options, path).toMatch(/\bmeter\b/);
    expect(options, path).not.toMatch(/\bmeter: undefined\b/);
  }
});
