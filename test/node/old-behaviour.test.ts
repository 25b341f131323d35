// "What behaves differently" in docs/moving-from-think.md says how to get the behaviour of the original: each way, tried.
import { hasToolCall } from "ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action, defaultContextOverflowClassifier, Think, type TurnConfig } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  failInBand,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step
} from "../../src/testing/index.ts";

let script: Script;
let config: TurnConfig;
beforeEach(() => {
  config = {};
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => void vi.restoreAllMocks());

class Plain extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override beforeTurn() {
    return config;
  }
  override getActions() {
    return {
      release: action({
        description: "Releases.",
        inputSchema: z.object({}),
        kind: "durable-pause",
        approval: true,
        execute: () => "released"
      })
    };
  }
  async say(words: string) {
    const { status, error } = await this.runTurn({ input: words });
    return { status, error };
  }
}

class Old extends Plain {
  override classifyChatError(error: unknown) {
    return defaultContextOverflowClassifier(error);
  }
  override onChatError(error: unknown) {
    return error instanceof Error && error.cause !== undefined ? error.cause : error;
  }
}

async function said(agentClass: typeof Plain | typeof Old, steps: readonly Step[]) {
  script = createScript(steps);
  const host = createTestHost({ agents: { Agent: agentClass } });
  const agent = await host.get(agentClass, "a");
  return agent.say("Go.");
}

const WORDS = "429 from the provider: too many requests";

test("a rate limit ends the turn, with the provider's own words", async () => {
  const outcome = await said(Old, [reply(failInBand(WORDS, { statusCode: 429 })), reply(text("later"))]);
  expect(outcome).toEqual({ status: "error", error: WORDS });
  expect(script.calls).toHaveLength(1);
});

test("a turn ends with the call that waits, without one more step", async () => {
  const steps = [reply(toolCall("release", {})), reply(text("It waits."))];
  expect(await said(Plain, steps)).toMatchObject({ status: "completed" });
  expect(script.calls).toHaveLength(2);
  config = { stopWhen: hasToolCall("release") };
  expect(await said(Plain, steps)).toMatchObject({ status: "completed" });
  expect(script.calls).toHaveLength(1);
});
