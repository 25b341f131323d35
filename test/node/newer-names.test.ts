// Names of newer versions of @cloudflare/think and of AI SDK 7, beside the ones that this package had first.
import type { ToolSet } from "ai";
import { afterEach, beforeEach, expect, expectTypeOf, test, vi } from "vitest";
import {
  Think,
  type ContextOverflowConfig,
  type MessageMetadataCallback,
  type StepContext,
  type StepResult,
  type StopCondition,
  type TextStreamPart,
  type ThinkModel,
  type TypedToolCall,
  type PrepareStepFunction,
  type PrepareStepResult,
  type TurnConfig,
  type TurnContext
} from "../../src/index.ts";
import { createScript, createTestHost, reply, scriptedModel, text, type Script } from "../../src/testing/index.ts";

let script: Script;
let log: string[];
let config: TurnConfig;
let seen: TurnContext[];
beforeEach(() => {
  log = [];
  config = {};
  seen = [];
  script = createScript([reply(text("Hello")), reply(text("Again"))]);
});
afterEach(() => void vi.restoreAllMocks());

class Base extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override beforeTurn(context: TurnContext) {
    seen.push(context);
    return config;
  }
  /** As JSON, whose type an RPC stub does not change. */
  async answer() {
    const { metadata, parts } = this.getMessages().at(-1) ?? {};
    return JSON.stringify({ metadata, text: parts?.map((part) => (part.type === "text" ? part.text : "")).join("") });
  }
  async say(words: string) {
    return this.runTurn({ input: words });
  }
}

class Finish extends Base {
  override onStepFinish({ text: words }: StepContext) {
    log.push(`finish ${words}`);
  }
}
class End extends Base {
  override onStepEnd({ text: words }: StepContext) {
    log.push(`end ${words}`);
  }
}
class Both extends Finish {
  override onStepEnd({ text: words }: StepContext) {
    log.push(`end ${words}`);
  }
}
class Passing extends Finish {
  override async onStepEnd(context: StepContext) {
    log.push(`end ${context.text}`);
    await super.onStepEnd(context);
  }
}

async function said<Agent extends Base>(agentClass: new (...args: ConstructorParameters<typeof Base>) => Agent) {
  const host = createTestHost({ agents: { Agent: agentClass } });
  const agent = await host.get(agentClass, "a");
  await agent.say("Hi");
  return agent;
}

test.each([
  ["onStepFinish", Finish, ["finish Hello"], 0],
  ["onStepEnd", End, ["end Hello"], 0],
  ["onStepEnd, which is said once", Both, ["end Hello"], 1],
  ["both, where one calls the other", Passing, ["end Hello", "finish Hello"], 1]
] as const)(
  "of the two names of the step hook, a class has called: %s",
  async (_name, agentClass, expected, warnings) => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const agent = await said(agentClass);
    expect(log).toEqual(expected);
    await agent.say("And?");
    const about = warned.mock.calls.filter(([line]) => String(line).includes("onStepEnd is called"));
    expect(about).toHaveLength(warnings);
  }
);

test("beforeTurn is told the system prompt under both names, and how the turn was started", async () => {
  await said(Base);
  expect(seen[0]?.system).toMatch(/\S/);
  expect(seen[0]).toMatchObject({ instructions: seen[0]?.system, trigger: "programmatic" });
});

test.each([
  ["instructions", { instructions: "Be kind." }, "Be kind."],
  ["system, of both", { system: "Be brief.", instructions: "Be kind." }, "Be brief."]
] as const)(
  "what beforeTurn returns as system prompt is what the model is given: %s",
  async (_name, given, expected) => {
    config = given;
    await said(Base);
    expect(script.calls[0]?.prompt[0]).toEqual({ role: "system", content: expected });
  }
);

class Stamped extends Base {
  override messageMetadata: MessageMetadataCallback = ({ part }) => {
    if (part.type === "start") return { room: this.name, at: new Date(0), n: 1 };
    return part.type === "finish" ? { n: 2, reason: part.finishReason } : undefined;
  };
}

test("messageMetadata gives every answer metadata, key by key, and beforeTurn may have another", async () => {
  const agent = await said(Stamped);
  const metadata = { room: "a", at: "1970-01-01T00:00:00.000Z", n: 2, reason: "stop" };
  expect(JSON.parse(await agent.answer())).toEqual({ metadata, text: "Hello" });
  config = { messageMetadata: ({ part }) => (part.type === "text-delta" ? { only: part.text } : undefined) };
  await agent.say("Again?");
  expect(JSON.parse(await agent.answer())).toEqual({ metadata: { only: "Again" }, text: "Again" });
});

test("metadata that fails, or is none, changes nothing of the turn", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  config = {
    messageMetadata: ({ part }) => {
      if (part.type === "start") throw new Error("broken");
      // What a caller without types may return.
      return (part.type === "finish" ? { big: 1n } : "text") as object as Record<string, unknown>;
    }
  };
  const agent = await said(Base);
  expect(JSON.parse(await agent.answer())).toEqual({ text: "Hello" });
  const lines = logged.mock.calls.filter(([line]) => String(line).includes("messageMetadata failed"));
  expect(lines).toHaveLength(2);
});

test("types that the original exports are here under its names", () => {
  class Typed extends Think {
    override contextOverflow: ContextOverflowConfig = { reactive: true };
    override getModel(): ThinkModel {
      return "openai/gpt-5";
    }
  }
  expectTypeOf<Typed>().toExtend<Think>();
  expectTypeOf<StepContext>().toExtend<StepResult<ToolSet>>();
  expectTypeOf<NonNullable<TurnConfig["stopWhen"]>>().extract<StopCondition<ToolSet>>().not.toBeNever();
  expectTypeOf<Parameters<MessageMetadataCallback>[0]["part"]>().toEqualTypeOf<TextStreamPart<ToolSet>>();
  expectTypeOf<TypedToolCall<ToolSet>>().toHaveProperty("toolName");
  expectTypeOf<Awaited<ReturnType<PrepareStepFunction<ToolSet>>>>().toEqualTypeOf<PrepareStepResult<ToolSet>>();
});
