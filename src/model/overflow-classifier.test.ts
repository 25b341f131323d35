import { describe, expect, test } from "vitest";
import { FATALS, RATE_LIMITS, TRANSIENTS } from "./failure-classifier.fixtures.ts";
import { OVERFLOWS } from "./overflow-classifier.fixtures.ts";
import { defaultContextOverflowClassifier } from "./failure-classifier.ts";

const title = "$provider ($source)";
/** The ways a refusal reaches the classifier. */
const wrapped = (error: unknown) => [
  error,
  new Error("outer", { cause: error }),
  { name: "AI_RetryError", message: "Failed after 3 attempts.", errors: [new Error("first"), error], lastError: error },
  { type: "error", error },
  new Error("twice", { cause: new Error("outer", { cause: error }) })
];

describe("a prompt that is too long is recognised", () => {
  test.each(OVERFLOWS)(`of ${title}`, ({ error }) => {
    for (const each of wrapped(error)) expect(defaultContextOverflowClassifier(each)).toBe("context_overflow");
  });

  // the wordings every classifier of this kind must know, of whichever provider.
  test.each([
    "prompt is too long",
    "Prompt too long",
    "context_length_exceeded",
    "Context length exceeded",
    "the maximum context length was reached",
    "exceeds the maximum number of tokens",
    "The input token count is higher than allowed",
    "Please REDUCE THE LENGTH OF your input",
    "input is too long",
    "Input too long",
    "too many tokens",
    "Too many input tokens",
    "the conversation does not fit the context window",
    "Input tokens exceed the configured limit of 272000 tokens.",
    "exceed_context_size_error"
  ])("in the words %j", (text) => {
    expect(defaultContextOverflowClassifier(text)).toBe("context_overflow");
    expect(defaultContextOverflowClassifier(new Error(text))).toBe("context_overflow");
    expect(defaultContextOverflowClassifier({ statusCode: 400, responseBody: JSON.stringify({ text }) })).toBe(
      "context_overflow"
    );
    expect(defaultContextOverflowClassifier({ detail: [{ why: text }] })).toBe("context_overflow");
  });
});

describe("other failures are left alone", () => {
  test.each([...RATE_LIMITS, ...TRANSIENTS, ...FATALS])(title, ({ error }) => {
    for (const each of wrapped(error)) expect(defaultContextOverflowClassifier(each)).toBeUndefined();
  });

  test("what the user wrote decides nothing", () => {
    const error = {
      requestBodyValues: { prompt: "prompt is too long" },
      prompt: "context window",
      body: "too many tokens"
    };
    expect(defaultContextOverflowClassifier(error)).toBeUndefined();
    expect(defaultContextOverflowClassifier(Object.assign(new Error("refused"), error))).toBeUndefined();
  });

  test("anything can be asked about, and gets an answer", () => {
    const loop: { cause?: unknown; message: string } = { message: "round" };
    loop.cause = loop;
    const trap = {
      get message(): string {
        throw new Error("no");
      }
    };
    const deep = Array.from({ length: 1000 }).reduce<unknown>(
      (cause) => new Error("x", { cause }),
      "prompt is too long"
    );
    for (const value of [undefined, null, 0, 1n, [], {}, Symbol("x"), "", loop, { big: 1n }, trap, deep]) {
      expect(defaultContextOverflowClassifier(value)).toBeUndefined();
    }
  });
});
