// In development the developer is the user: the page and the terminal say why a provider failed and what to do. Anywhere
// else clients read the safe text only.
import type { LanguageModel } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import { createScript, createTestHost, fail, scriptedModel, type Script, type Step } from "../../src/testing/index.ts";
import { framesOf, sendChat } from "../kit/frames.ts";
import { user } from "../kit/messages.ts";

let script: Script;
let makeModel: (() => never) | undefined;

beforeEach(() => {
  makeModel = undefined;
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

class Assistant extends Think {
  override getModel(): LanguageModel {
    return makeModel?.() ?? scriptedModel(script);
  }
}

class Polite extends Assistant {
  override onChatError() {
    return "We are sorry.";
  }
}

class Careless extends Assistant {
  override beforeTurn(): never {
    throw new Error("You are out of credit.");
  }
}

/** What a client is shown of a turn that fails. */
async function shown(env: object, steps: Step[], agent = "assistant"): Promise<string | undefined> {
  script = createScript(steps);
  const host = createTestHost({ agents: { Assistant, Polite, Careless }, env });
  const socket = await host.connect(`/agents/${agent}/a`);
  const message = user("u", "hi");
  sendChat(socket, "r", [message]);
  await host.advance(120_000);
  return framesOf(socket).find(({ id, done }) => id === "r" && done)?.body;
}

const DEVELOPMENT = { EVERTHINK_DEVELOPMENT: "1" };
const SAFE = "The model could not answer.";
const refused = (statusCode: number, message: string) => fail(new Error(message), { statusCode, isRetryable: false });
const wrongKey = () => [refused(401, "Incorrect API key provided: sk-abcdefgh1234")];
const noKey = () => {
  makeModel = () => {
    throw Object.assign(new Error("Set OPENAI_API_KEY."), { name: "AI_LoadAPIKeyError" });
  };
  return [];
};

describe("in development a failure of the provider is explained, without its key and without a stack", () => {
  test.each<[string, () => Step[], string[]]>([
    ["a refused key", wrongKey, ["401", "Incorrect API key provided: [key]", "check the API key that getModel() uses"]],
    ["no key", noKey, ["Set OPENAI_API_KEY.", "There is no API key"]],
    [
      "an unknown model",
      () => [refused(404, "The model gpt-99 does not exist")],
      ["gpt-99 does not exist", "Check the model's id"]
    ],
    [
      "no connection",
      () => Array.from({ length: 9 }, () => fail(new Error("connect ECONNREFUSED 127.0.0.1:11434"))),
      ["ECONNREFUSED 127.0.0.1:11434"]
    ]
  ])("%s", async (_what, steps, words) => {
    const text = (await shown(DEVELOPMENT, steps())) ?? "";
    expect(text.startsWith(`${SAFE} Shown in development only: `)).toBe(true);
    for (const word of words) expect(text).toContain(word);
    expect(text).not.toMatch(/sk-abcdefgh1234|\n|\bat .*:\d+:\d+/);
  });

  test("also behind the text of onChatError", async () => {
    expect(await shown(DEVELOPMENT, wrongKey(), "polite")).toMatch(
      /^We are sorry\. Shown in development only: .*check the API key/
    );
  });
});

test.each([{}, { EVERTHINK_DEVELOPMENT: "0" }, { EVERTHINK_DEVELOPMENT: "" }, { EVERTHINK_DEVELOPMENT: 1 }])(
  "with %j clients read the safe text only",
  async (env) => {
    expect(await shown(env, wrongKey())).toBe(SAFE);
    expect(await shown(env, noKey())).toBe(SAFE);
  }
);

test("what the class itself throws is shown as it is", async () => {
  expect(await shown(DEVELOPMENT, [], "careless")).toBe("You are out of credit.");
});
