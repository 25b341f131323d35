// A list that getModel() itself returns, ids in it, and models that a step chooses: who is asked, who is said to have written,
// and what is counted.
import { generateText, tool, type LanguageModel } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { tokens, type BudgetLimit } from "../../src/core/budgets.ts";
import { ThinkCore, withCapabilities } from "../../src/core/index.ts";
import { models } from "../../src/core/models.ts";
import { chatServicesOf } from "../../src/feature/services.ts";
import { agent as defineAgent } from "../../src/framework/definition.ts";
import { Think, type StepConfig, type TurnContext } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  fail,
  failInBand,
  reply,
  text,
  toolCall,
  usage,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";
import type { JournalRecord } from "../../src/journal/records.ts";

beforeEach(() => {
  const spies = [vi.spyOn(console, "warn"), vi.spyOn(console, "error")].map((spy) => spy.mockReturnValue(undefined));
  return () => spies.forEach((spy) => spy.mockRestore());
});

const overloaded = fail(new Error("Overloaded"), { statusCode: 529 });
const counted = usage({ input: 40, output: 2 });

interface Scene {
  scripts: Record<string, Script>;
  list: (made: (name: string) => LanguageModel) => LanguageModel | readonly LanguageModel[];
  step: (stepNumber: number) => StepConfig | undefined;
  limits: readonly BudgetLimit[];
  asked: string[];
  effects: string[];
}

let scene: Scene;

function made(name: string, agent: object): LanguageModel {
  const script = scene.scripts[name];
  if (!script) throw new Error(`There is no script "${name}".`);
  const model = installedModel(script, {
    clock: chatServicesOf(agent).clock,
    provider: `${name}.chat`,
    modelId: "large"
  });
  const doStream = model.doStream.bind(model) as (options: object) => ReturnType<typeof model.doStream>;
  return Object.assign(model, {
    doStream: (options: object) => {
      scene.asked.push(name);
      return doStream(options);
    }
  });
}

class Listing extends Think {
  override workspaceTools = false;
  override modelFallback = { sendModels: true };
  override getModel(): LanguageModel | readonly LanguageModel[] {
    return scene.list((name) => made(name, this));
  }
  override resolveModel(id: string) {
    return id.startsWith("house/") ? made(id.slice("house/".length), this) : undefined;
  }
  override getBudgets() {
    return scene.limits;
  }
  override getTools() {
    return {
      count: tool({
        inputSchema: z.object({}),
        execute: async () => {
          scene.effects.push("count");
          return "counted";
        }
      })
    };
  }
  override beforeStep({ stepNumber }: { stepNumber: number }) {
    return scene.step(stepNumber);
  }
  async summarize(prompt: string) {
    return (await generateText({ model: this.budgeted("house/a"), prompt })).text;
  }
  async readRecords(): Promise<string> {
    const pages = [...chatServicesOf(this).journal.reader.pages()];
    return JSON.stringify(pages.flatMap(({ entries }) => entries.map(({ record }) => record)));
  }
}

function open(scripts: Record<string, Step[]>, given: Partial<Omit<Scene, "scripts">> = {}) {
  scene = {
    scripts: Object.fromEntries(Object.entries(scripts).map(([name, steps]) => [name, createScript(steps)])),
    list: (model) => Object.keys(scripts).map(model),
    step: () => undefined,
    limits: [],
    asked: [],
    effects: [],
    ...given
  };
  return createTestHost({ agents: { Listing } });
}

type Host = ReturnType<typeof open>;
const agentOf = (host: Host) => host.get(Listing, "a");
const stored = (host: Host) => storedMessages(host, "/agents/listing/a");
const ask = async (host: Host) => (await agentOf(host)).saveMessages([user("u", "Hi")]);

async function writers(host: Host) {
  const records = JSON.parse(await (await agentOf(host)).readRecords()) as JournalRecord[];
  return records.flatMap((record) => (record.type === "step-finished" ? [record.model] : []));
}

describe("getModel() that returns a list", () => {
  test("has the next model of it answer when one fails", async () => {
    const host = open({ a: [overloaded], b: [reply(text("Hello."))] });
    expect(await ask(host)).toMatchObject({ status: "completed" });
    expect(scene.asked).toEqual(["a", "b"]);
    expect(await writers(host)).toEqual(["b.chat/large"]);
    expect((await stored(host)).at(-1)?.metadata).toMatchObject({ models: ["b.chat/large"] });
  });

  test("remembers the provider that failed, over a restart", async () => {
    const host = open({ a: [overloaded], b: [reply(text("One.")), reply(text("Two."))] });
    await ask(host);
    await host.restart();
    await (await agentOf(host)).saveMessages([user("v", "Again")]);
    expect(scene.asked).toEqual(["a", "b", "b"]);
  });

  test("may hold ids, which resolveModel() is asked for first", async () => {
    const host = open({ a: [overloaded], b: [reply(text("Hello."))] }, { list: (model) => ["house/a", model("b")] });
    expect(await ask(host)).toMatchObject({ status: "completed" });
    expect(scene.asked).toEqual(["a", "b"]);
  });

  test("and names an id as it is written, whoever resolves it", async () => {
    const host = open({ a: [reply(text("Hello."))] }, { list: () => ["house/a", "house/b"] });
    Object.assign(scene.scripts, { b: createScript([]) });
    await ask(host);
    expect(await writers(host)).toEqual(["house/a"]);
  });

  test.each([
    ["is empty", []],
    ["is too long", Array<string>(9).fill("house/a")],
    ["holds something else", ["house/a", 7 as never]]
  ])("fails the turn by name when it %s", async (_, list) => {
    const host = open({ a: [] }, { list: () => list });
    expect(await ask(host)).toMatchObject({ status: "error", error: "This agent has no model to answer with." });
    expect(scene.asked).toEqual([]);
  });

  test("leaves one model what it was: no row, no name in its steps, and it is asked for once per attempt", async () => {
    let calls = 0;
    const host = open({ a: [reply(text("Hello."))] }, { list: (model) => (calls++, model("a")) });
    await ask(host);
    expect(calls).toBe(1);
    expect(await writers(host)).toEqual([undefined]);
    expect(host.sql(Listing, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_failing_providers'")).toEqual([]);
  });

  test("of agent() is a list of its option", async () => {
    open({ a: [overloaded], b: [reply(text("Hello."))] });
    const clocked = (name: "a" | "b") => {
      const script = scene.scripts[name];
      if (!script) throw new Error(name);
      return installedModel(script, { provider: `${name}.chat`, modelId: "large" });
    };
    const Defined = defineAgent({ model: () => [clocked("a"), clocked("b")] }).createClass("Defined");
    const host = createTestHost({ agents: { Defined } });
    const outcome = await (await host.get(Defined, "a")).saveMessages([user("u", "Hi")]);
    expect(outcome).toMatchObject({ status: "completed" });
  });

  test("needs the capability in a lean class, and the log says which", async () => {
    class Lean extends ThinkCore {
      override getModel() {
        return scene.list((name) => made(name, this));
      }
    }
    class Chosen extends withCapabilities(ThinkCore, models) {
      override getModel() {
        return scene.list((name) => made(name, this));
      }
    }
    open({ a: [overloaded], b: [reply(text("Hello."))] });
    const host = createTestHost({ agents: { Lean, Chosen } });
    expect(await (await host.get(Lean, "a")).saveMessages([user("u", "Hi")])).toMatchObject({ status: "error" });
    expect(JSON.stringify(vi.mocked(console.error).mock.calls)).toContain("everthink/core/models");
    expect(await (await host.get(Chosen, "a")).saveMessages([user("u", "Hi")])).toMatchObject({ status: "completed" });
  });
});

describe("a model that beforeStep returns", () => {
  const small = (name: string) => () => ({ model: `house/${name}` as LanguageModel });
  const scripts = (own: Step[]) => ({
    a: [reply(toolCall("count", {}, { id: "c1" }), counted), reply(text("By a."), counted)],
    own
  });
  const list: Scene["list"] = (model) => [model("a")];

  test("is who has written the step, and only that step", async () => {
    const host = open(scripts([reply(toolCall("count", {}, { id: "c1" }))]), {
      list,
      step: (stepNumber) => (stepNumber === 0 ? small("own")() : undefined)
    });
    scene.scripts["a"] = createScript([reply(text("By a."))]);
    await ask(host);
    expect(scene.asked).toEqual(["own", "a"]);
    expect(await writers(host)).toEqual(["house/own", "a.chat/large"]);
  });

  test("is metered, once per call, with or without a list", async () => {
    const limits: BudgetLimit[] = [{ per: "turn", limit: tokens(100_000) }];
    for (const given of [list, (model: (name: string) => LanguageModel) => model("a")]) {
      const host = open({ a: [], own: [reply(text("Own."), counted)] }, { list: given, limits, step: small("own") });
      await ask(host);
      expect(scene.asked).toEqual(["own"]);
      expect((await (await agentOf(host)).getCosts()).models).toMatchObject([
        { provider: "own.chat", calls: 1, tokens: 42 }
      ]);
    }
  });

  test("is stood in for by the list for the rest of the turn, and what failed is not laid to the model of the list", async () => {
    const host = open(scripts([reply(text("Half of"), failInBand(new Error("overloaded_error")))]), {
      list,
      step: small("own")
    });
    await ask(host);
    expect(scene.asked).toEqual(["own", "a", "a"]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:By a.");
    expect(await writers(host)).toEqual(["a.chat/large", "a.chat/large"]);
    expect(host.sql(Listing, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_failing_providers'")).toEqual([]);
  });

  test("is asked in place of the chosen one also when it stands in the list, and is counted once", async () => {
    const host = open(
      { a: [], b: [reply(text("By b."), counted)] },
      { step: small("b"), list: (model) => [model("a"), "house/b"], limits: [{ per: "turn", limit: tokens(100_000) }] }
    );
    await ask(host);
    expect(scene.asked).toEqual(["b"]);
    expect((await (await agentOf(host)).getCosts()).total).toMatchObject({ calls: 1, tokens: 42 });
  });

  test("killed anywhere: no half of its sentence stands before the words of another", async () => {
    const many = (step: Step) => Array<Step>(30).fill(step);
    await everyCrash({
      create: () =>
        open(
          {
            a: many(reply(text("A whole answer."))),
            own: many(reply(text("Half of"), failInBand(new Error("overloaded_error"))))
          },
          { list, step: small("own") }
        ),
      script: async (host) => {
        await ask(host);
      },
      finish: async (host) => {
        if ((await stored(host)).length === 0) await ask(host);
        await host.advance(300_000);
      },
      inspect: async (host) => linesOf(await stored(host)).map((line) => line.replace(/(A whole answer\.)+$/, "$1")),
      limit: 60
    });
  }, 90_000);
});

test("budgeted() takes an id that resolveModel() knows", async () => {
  const host = open(
    { a: [reply(text("Short."), counted)] },
    { limits: [{ per: "conversation", limit: tokens(100_000) }] }
  );
  expect(await (await agentOf(host)).summarize("Long.")).toBe("Short.");
  expect((await (await agentOf(host)).getCosts()).total).toMatchObject({ tokens: 42, calls: 1 });
});

test("what beforeTurn is shown as the model is the first of the list that may be asked", async () => {
  const seen: unknown[] = [];
  class Looking extends Listing {
    override beforeTurn({ model }: TurnContext) {
      seen.push(Reflect.get(Object(model), "provider"));
    }
  }
  open({ a: [reply(text("Hello."))], b: [] });
  const host = createTestHost({ agents: { Looking } });
  await (await host.get(Looking, "a")).saveMessages([user("u", "Hi")]);
  expect(seen).toEqual(["a.chat"]);
});
