// What init asks providers, which are fakes here, and writes.
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { parseVariables } from "../../framework/serve/variables.ts";
import { checkModel, wrongKey, type ModelAnswers } from "./providers.ts";
import { variableLine, withVariableLines } from "./variables-file.ts";

afterEach(() => void vi.unstubAllGlobals());

const KEY = "sk-secret-0123456789";
const ANSWERS: readonly ModelAnswers[] = [
  { provider: "openai", key: KEY },
  { provider: "anthropic", key: KEY, model: "claude-opus-5" },
  { provider: "google", key: KEY },
  { provider: "workers-ai", key: KEY, account: "a1" },
  { provider: "compatible", url: "http://localhost:11434/v1", model: "qwen3" }
];
const never = new AbortController().signal;

describe("the one call", () => {
  const answering = (status: number, body: unknown = {}) => {
    vi.stubGlobal("fetch", async () => Response.json(body, { status }));
  };

  test.each(ANSWERS)("of $provider: a provider that answers has nothing against it", async (answers) => {
    answering(200, { data: [{ id: "qwen3" }] });
    expect(await checkModel(answers, never)).toBeUndefined();
  });

  test.each([
    [401, "refuses the key (401)"],
    [403, "refuses the key (403)"],
    [429, "limits it at the moment (429)"],
    [503, "failure of its own at the moment (503)"],
    [418, "answers 418"]
  ])("status %i", async (status, said) => {
    answering(status, { error: `bad ${KEY}` });
    for (const answers of ANSWERS) {
      const problem = await checkModel(answers, never);
      expect(problem).toContain(said);
      expect(problem).not.toContain(KEY);
    }
  });

  test("an unknown model, a wrong address, and Google's 400 for a wrong key", async () => {
    answering(404);
    expect(await checkModel({ provider: "openai", key: KEY, model: "gpt-9" }, never)).toBe(
      'OpenAI has no model "gpt-9" (404).'
    );
    expect(await checkModel({ provider: "compatible", url: "http://h:1", model: "m" }, never)).toContain("end in /v1");
    answering(200, { data: [{ id: "llama" }, { id: "qwen3" }] });
    const missing = await checkModel({ provider: "compatible", url: "http://h:1/v1/", model: "m" }, never);
    expect(missing).toBe('http://h:1 has no model "m". It has: llama, qwen3.');
    answering(400, { error: { message: "API key not valid." } });
    expect(await checkModel({ provider: "google", key: KEY }, never)).toBe("Google refuses the key (400).");
  });

  test("no server at all, and the key is in no message", async () => {
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("fetch failed", { cause: new Error(`connect ECONNREFUSED ${KEY}`) });
    });
    const problem = await checkModel({ provider: "compatible", url: "http://h:1/v1", model: "m", key: KEY }, never);
    expect(problem).toBe("http://h:1 cannot be reached (connect ECONNREFUSED [key]).");
  });
});

describe(".dev.vars", () => {
  const value = fc.stringMatching(/^[\x21-\x7e]{1,40}$/).filter((text) => wrongKey(text) === undefined);

  test("a line reads back as its value, whatever characters it has", () => {
    fc.assert(
      fc.property(value, (text) => {
        expect([...parseVariables(variableLine("KEY", text))]).toEqual([["KEY", text]]);
      })
    );
  });

  test("values take the place of those that are there, and every other line stays", () => {
    fc.assert(
      fc.property(value, value, (one, other) => {
        const before = "# mine\nREGION=eu # north\nexport KEY=old\nLAST=1";
        const after = withVariableLines(before, new Map([["KEY", one], ["NEW", other]])); // prettier-ignore
        const lines = after.split("\n");
        expect([lines[0], lines[1], lines[3]]).toEqual(["# mine", "REGION=eu # north", "LAST=1"]);
        expect(Object.fromEntries(parseVariables(after))).toEqual({ REGION: "eu", KEY: one, LAST: "1", NEW: other });
      })
    );
  });

  test("a value over several lines is not cut: the new one follows it, and counts", () => {
    const after = withVariableLines('KEY="a\nb"\n', new Map([["KEY", "c"]]));
    expect(parseVariables(after).get("KEY")).toBe("c");
    expect(after).toContain('KEY="a\nb"');
  });
});
