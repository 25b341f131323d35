// Names of newer versions of @cloudflare/think and of AI SDK 7, beside the ones that this package had first.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Think, type StepContext } from "../../src/index.ts";
import { createScript, createTestHost, reply, scriptedModel, text, type Script } from "../../src/testing/index.ts";

let script: Script;
let log: string[];
beforeEach(() => {
  log = [];
  script = createScript([reply(text("Hello")), reply(text("Again"))]);
});
afterEach(() => void vi.restoreAllMocks());

class Base extends Think {
  override getModel() {
    return scriptedModel(script);
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
