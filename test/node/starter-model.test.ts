// The models/model.ts of the starters, with the variables that init writes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { PROVIDERS, variablesOf, type ModelAnswers } from "../../src/cli/init/providers.ts";
import { parseVariables } from "../../src/framework/serve/variables.ts";
import { modelStatus } from "../../starters/shared/models/model.ts";

const starter = fileURLToPath(new URL("../../starters/shared", import.meta.url));
const KEY = "sk-secret-0123456789";
const ANSWERS: readonly ModelAnswers[] = [
  { provider: "openai", key: KEY },
  { provider: "anthropic", key: KEY, model: "claude-opus-5" },
  { provider: "google", key: KEY },
  { provider: "workers-ai", key: KEY, account: "a1" },
  { provider: "compatible", url: "http://localhost:11434/v1", model: "qwen3" }
];

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
  expect(modelStatus(Object.fromEntries(variablesOf({ provider: "openai" }))).problem).toContain("OPENAI_API_KEY");
  expect(variablesOf({ provider: "offline" }).size).toBe(0);
  expect(modelStatus({})).toMatchObject({ label: "Offline model", problem: expect.stringContaining("No model") });
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
  expect(modelStatus(env)).toEqual({ label: "Offline model", problem: expect.stringContaining(problem) });
});

test("the declared variables are those that the model is chosen by", () => {
  const declared = parseVariables(readFileSync(join(starter, ".dev.vars.example"), "utf8"));
  const model = readFileSync(join(starter, "models", "model.ts"), "utf8");
  const [, fields = ""] = /interface ModelVariables \{([^}]+)\}/.exec(model) ?? [];
  const names = [...fields.matchAll(/(\w+)\?: string/g)].map(([, name]) => name);
  const ofLogin = new Set(["LOGIN_USERS", "SESSION_SECRET"]);
  const ofModel = [...declared.keys()].filter((name) => !ofLogin.has(name));
  expect([...ofModel, "OFFLINE_PACE_MS"].toSorted()).toEqual(names.toSorted());
});
