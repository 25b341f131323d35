// The models/model.ts of the starters, with the variables that init writes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { PROVIDERS, variablesOf, type ModelAnswers } from "../../src/cli/init/providers.ts";
import { parseVariables } from "../../src/framework/serve/variables.ts";
import { endInQuestion } from "../../src/model/message-codec.ts";
import { modelStatus } from "../../starters/shared/models/model.ts";
import { offlineModel } from "../../starters/shared/models/offline-model.ts";

const starter = fileURLToPath(new URL("../../starters/shared", import.meta.url));
const KEY = "sk-secret-0123456789";
const ANSWERS: readonly ModelAnswers[] = [
  { provider: "openai", key: KEY },
  { provider: "anthropic", key: KEY, model: "claude-opus-5" },
  { provider: "google", key: KEY },
  { provider: "workers-ai", key: KEY, account: "a1" },
  { provider: "compatible", url: "http://localhost:11434/v1", model: "qwen3" }
];

const DEVELOPED = { EVERTHINK_DEVELOPMENT: "1" };

test("every provider has answers here", () => {
  expect([...ANSWERS.map(({ provider }) => provider), "offline"]).toEqual(PROVIDERS.map(({ id }) => id));
});

test.each(ANSWERS)("$provider", (answers) => {
  const status = modelStatus(Object.fromEntries(variablesOf(answers)));
  expect(status.problem).toBeUndefined();
  const { usualModel } = PROVIDERS.find(({ id }) => id === answers.provider) ?? {};
  expect(status.label).toContain(answers.model ?? usualModel);
});

test("without a key the project says which one is missing; without anything that the offline model answers", () => {
  const openai = { ...DEVELOPED, ...Object.fromEntries(variablesOf({ provider: "openai" })) };
  expect(modelStatus(openai).problem).toBe("OpenAI needs OPENAI_API_KEY. Set it in .dev.vars, and start again.");
  expect(variablesOf({ provider: "offline" }).size).toBe(0);
  expect(modelStatus(DEVELOPED)).toMatchObject({
    label: "Offline model",
    problem: expect.stringContaining("No model")
  });
  expect(modelStatus({ MODEL_PROVIDER: "offline" })).toEqual({ label: "Offline model" });
});

test("a key of the shell is not written", () => {
  expect([...variablesOf({ provider: "openai", key: KEY, isKeyOfShell: true })]).toEqual([
    ["MODEL_PROVIDER", "openai"]
  ]);
});

test.each([
  [{ MODEL_PROVIDER: "mistral" }, 'MODEL_PROVIDER is "mistral"; it can be offline, openai'],
  [{ MODEL_PROVIDER: "constructor" }, 'MODEL_PROVIDER is "constructor"'],
  [{ OPENAI_API_KEY: "two words" }, "OPENAI_API_KEY holds spaces"],
  [{ OPENAI_COMPATIBLE_URL: "http://h/v1" }, "needs MODEL"]
])("%j is no crash: the offline model answers, and the page says what to change", (env, problem) => {
  expect(modelStatus({ ...env, ...DEVELOPED })).toEqual({
    label: "Offline model",
    problem: expect.stringContaining(problem)
  });
});

test("on a server visitors read that it is not set up, and the log says once what is missing and how it is set", () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const env = { MODEL_PROVIDER: "anthropic" };
  for (const status of [modelStatus(env), modelStatus(env)]) {
    expect(status.problem).toBe("This assistant is not fully set up yet. A small script answers until it is.");
  }
  expect(logged.mock.calls).toEqual([
    [
      'Anthropic needs ANTHROPIC_API_KEY. Set it with "npx wrangler secret put <NAME>", or deploy again with "npx everthink deploy".'
    ]
  ]);
  expect(modelStatus({ OPENAI_API_KEY: KEY }).problem).toBeUndefined();
  expect(logged).toHaveBeenCalledTimes(1);
  logged.mockRestore();
});

test("the declared variables are those that the model is chosen by", () => {
  const declared = parseVariables(readFileSync(join(starter, ".dev.vars.example"), "utf8"));
  const model = readFileSync(join(starter, "models", "model.ts"), "utf8");
  const [, fields = ""] = /interface ModelVariables \{([^}]+)\}/.exec(model) ?? [];
  const names = [...fields.matchAll(/(\w+)\?: string/g)].map(([, name]) => name);
  const ofLogin = new Set(["LOGIN_USERS", "SESSION_SECRET"]);
  const ofModel = [...declared.keys()].filter((name) => !ofLogin.has(name));
  expect([...ofModel, "OFFLINE_PACE_MS", "EVERTHINK_DEVELOPMENT"].toSorted()).toEqual(names.toSorted());
});

test("the offline model goes on in the middle of a sentence, as it is asked to after a crash", async () => {
  const model = offlineModel([{ match: /hello/i, steps: () => [{ text: "Hello, I am here." }] }]);
  const text = (words: string) => [{ type: "text" as const, text: words }];
  const prompt = endInQuestion([
    { role: "user", content: text("Hello") },
    { role: "assistant", content: text("Hello, I") }
  ]) as Parameters<typeof model.doGenerate>[0]["prompt"];
  const { content } = await model.doGenerate({ prompt });
  expect(content).toEqual(text(" am here."));
});
