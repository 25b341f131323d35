import { describe, expect, test } from "vitest";
import { defaultContextOverflowClassifier } from "./overflow-classifier.ts";

describe("the bundled classifier", () => {
  test.each([
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 208310 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Input is too long for requested model.",
    "Prompt contains 40000 tokens and is too large for model with 32768 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 540000 tokens.",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "Please reduce the length of the messages or completion."
  ])("knows an overflow: %s", (text) => {
    expect(defaultContextOverflowClassifier(text)).toBe("context_overflow");
    expect(defaultContextOverflowClassifier(new Error(text))).toBe("context_overflow");
    expect(defaultContextOverflowClassifier(new Error("outer", { cause: new Error(text) }))).toBe("context_overflow");
  });

  test("reads the body and the code of a provider's refusal", () => {
    const body = JSON.stringify({ error: { code: "context_length_exceeded" } });
    expect(defaultContextOverflowClassifier({ statusCode: 400, responseBody: body })).toBe("context_overflow");
    expect(defaultContextOverflowClassifier({ code: "context_length_exceeded" })).toBe("context_overflow");
    expect(defaultContextOverflowClassifier({ lastError: { responseBody: body } })).toBe("context_overflow");
    expect(defaultContextOverflowClassifier({ type: "error", error: { message: "prompt is too long" } })).toBe(
      "context_overflow"
    );
  });

  test.each([
    "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000. Please reduce the length of your prompt.",
    "The server is overloaded.",
    "Invalid API key.",
    "max_tokens is too large: 100000",
    ""
  ])("leaves others alone: %s", (text) => {
    expect(defaultContextOverflowClassifier(new Error(text))).toBeUndefined();
  });

  test("takes anything, and comes to an end", () => {
    const loop: { cause?: unknown; message: string } = { message: "round" };
    loop.cause = loop;
    for (const value of [undefined, null, 0, [], {}, Symbol("x"), loop]) {
      expect(defaultContextOverflowClassifier(value)).toBeUndefined();
    }
  });
});
