// What a turn has cost, where operators look: spans of OpenTelemetry in its conventions for generative AI, the record of each
// step, the class's hook, the answer's metadata per turn, and the totals of the agent.
import { tool } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { usd } from "../../src/core/budgets.ts";
import { chatServicesOf } from "../../src/feature/services.ts";
import { Think, type ChatResponseResult } from "../../src/index.ts";
import type { JournalRecord } from "../../src/journal/records.ts";
import {
  createScript,
  createTestHost,
  fail,
  reply,
  text,
  toolCall,
  usage,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { storedMessages, user } from "../kit/messages.ts";

beforeEach(() => {
  for (const method of ["warn", "error"] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
});

interface Ended {
  readonly name: string;
  readonly attributes: Record<string, unknown>;
  readonly events: readonly (readonly [name: string, attributes: unknown])[];
}

/** A tracer that keeps its spans when they end. */
class Tracer {
  readonly ended: Ended[] = [];
  startSpan(name: string, { attributes: given = {} }: { attributes?: Record<string, unknown> } = {}) {
    const attributes = { ...given };
    const events: [string, unknown][] = [];
    const span = {
      end: () => void this.ended.push({ name, attributes, events }),
      setAttribute: (key: string, value: unknown) => ((attributes[key] = value), span),
      setAttributes: (more: Record<string, unknown>) => (Object.assign(attributes, more), span),
      addEvent: (event: string, more: unknown) => (events.push([event, more]), span),
      setStatus: () => span,
      recordException: () => undefined,
      updateName: () => span,
      isRecording: () => true,
      spanContext: () => ({ traceId: "0", spanId: "0", traceFlags: 0 })
    };
    return span;
  }
  startActiveSpan(name: string, ...rest: unknown[]) {
    const [options] = rest;
    const work = rest.at(-1) as (span: object) => unknown;
    return work(this.startSpan(name, typeof options === "object" && options !== null ? options : {}));
  }
}

interface Scene {
  scripts: Readonly<Record<string, Script>>;
  isLimited: boolean;
  tracer: Tracer;
  responses: ChatResponseResult[];
}

let scene: Scene;

class Traced extends Think {
  override workspaceTools = false;
  override sendUsage = true;
  override getModel() {
    const { clock } = chatServicesOf(this);
    return Object.entries(scene.scripts).map(([provider, script]) =>
      installedModel(script, { clock, provider: `${provider}.chat`, modelId: "large" })
    );
  }
  override getPrices() {
    return [
      { provider: "a", model: "*", input: 1_000, output: 1_000 },
      { provider: "b", model: "*", input: 2_000, output: 2_000 }
    ];
  }
  override getBudgets() {
    return scene.isLimited ? [{ per: "conversation" as const, limit: usd(1_000) }] : [];
  }
  override getTools() {
    return { look: tool({ inputSchema: z.object({}), execute: () => "seen" }) };
  }
  override beforeTurn() {
    const { tracer } = scene;
    // A span is given by the tracer of the application.
    return {
      maxOutputTokens: 500,
      experimental_telemetry: { isEnabled: true, functionId: "f", tracer: tracer as never }
    };
  }
  override onChatResponse(result: ChatResponseResult) {
    scene.responses.push(result);
  }
  async readRecords(): Promise<string> {
    const pages = [...chatServicesOf(this).journal.reader.pages()];
    return JSON.stringify(pages.flatMap(({ entries }) => entries.map(({ record }) => record)));
  }
}

function open(scripts: Record<string, Step[]>, isLimited = true) {
  scene = {
    scripts: Object.fromEntries(Object.entries(scripts).map(([name, steps]) => [name, createScript(steps)])),
    isLimited,
    tracer: new Tracer(),
    responses: []
  };
  return createTestHost({ agents: { Traced } });
}

type Host = ReturnType<typeof open>;
const agentOf = (host: Host) => host.get(Traced, "a");
const requests = () => scene.tracer.ended.filter(({ name }) => name.endsWith("doStream"));
const used = usage({ input: 40, output: 2 });
const stepOf = async (host: Host) =>
  (JSON.parse(await (await agentOf(host)).readRecords()) as JournalRecord[]).filter(
    ({ type }) => type === "step-finished"
  );

const twoSteps = (): Step[] => [reply(toolCall("look", {}), used), reply(text("hi"), used)];

describe("spans", () => {
  test("of each request have its usage in the conventions for generative AI, its model and its cost", async () => {
    const host = open({ a: twoSteps(), b: [] });
    await (await agentOf(host)).saveMessages([user("q")]);
    expect(requests()).toHaveLength(2);
    for (const { attributes } of requests()) {
      expect(attributes).toMatchObject({
        "gen_ai.request.model": "large",
        "gen_ai.response.model": "large",
        "gen_ai.usage.input_tokens": 40,
        "gen_ai.usage.output_tokens": 2,
        "everthink.cost.usd": 0.042,
        "everthink.model": "a.chat/large"
      });
    }
  });

  test("of a call after a failure name the model that answered, and have an event that says which one failed", async () => {
    const host = open({ a: [fail("down", { statusCode: 503 })], b: [reply(text("hi"), used)] });
    await (await agentOf(host)).saveMessages([user("q")]);
    const calls = scene.tracer.ended.filter(({ name }) => name === "ai.streamText");
    expect(calls.at(-1)?.events).toContainEqual([
      "everthink.model.switched",
      { from: "a.chat/large", to: "b.chat/large", code: "transient" }
    ]);
    expect(requests().at(-1)?.attributes).toMatchObject({
      "everthink.model": "b.chat/large",
      "everthink.cost.usd": 0.084
    });
  });

  test("of a class without budgets say no cost", async () => {
    const host = open({ a: twoSteps(), b: [] }, false);
    await (await agentOf(host)).saveMessages([user("q")]);
    expect(requests()).toHaveLength(2);
    for (const { attributes } of requests()) expect(attributes).not.toHaveProperty("everthink.cost.usd");
  });
});

test("the record of each step has what its calls have cost, with those that failed", async () => {
  const host = open({ a: twoSteps(), b: [] });
  await (await agentOf(host)).saveMessages([user("q")]);
  expect(await stepOf(host)).toMatchObject([{ cost: 42_000_000 }, { cost: 42_000_000 }]);
  const other = open({ a: twoSteps(), b: [] }, false);
  await (await agentOf(other)).saveMessages([user("q")]);
  for (const step of await stepOf(other)) expect(step).not.toHaveProperty("cost");
});

test("the hook and clients are told of each turn alone, and the agent of all of them", async () => {
  const host = open({ a: [reply(text("one"), used), reply(text("two"), used)], b: [] });
  const agent = await agentOf(host);
  await agent.saveMessages([user("q1")]);
  await agent.saveMessages([user("q2")]);
  await host.idle();
  expect(scene.responses).toMatchObject([
    { usage: { totalTokens: 42 }, cost: { usd: 0.042 } },
    { usage: { totalTokens: 42 }, cost: { usd: 0.042 } }
  ]);
  const answers = (await storedMessages(host, "/agents/traced/a")).filter(({ role }) => role === "assistant");
  expect(answers.map(({ metadata }) => metadata)).toMatchObject([{ cost: { usd: 0.042 } }, { cost: { usd: 0.042 } }]);
  const { total, turns } = await agent.getCosts();
  expect(total.usd).toBeCloseTo(0.084, 9);
  expect(turns).toHaveLength(2);
});
