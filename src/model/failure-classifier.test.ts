import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FATALS, RATE_LIMITS, TRANSIENTS } from "./failure-classifier.fixtures.ts";
import { defaultChatErrorClassifier, MAX_RETRY_AFTER_MS, retryAfterMs } from "./failure-classifier.ts";
import { OVERFLOWS } from "./overflow-classifier.fixtures.ts";

const title = "$provider ($source)";
const NOW = Date.UTC(2030, 0, 1);

describe("a failure is", () => {
  const CLASSES = [
    ["context_overflow", OVERFLOWS],
    ["rate_limit", RATE_LIMITS],
    ["transient", TRANSIENTS],
    ["fatal", FATALS]
  ] as const;

  describe.each(CLASSES)("%s", (expected, fixtures) => {
    test.each(fixtures)(`for ${title}`, ({ error }) => {
      expect(defaultChatErrorClassifier(error)).toBe(expected);
      expect(defaultChatErrorClassifier(new Error("outer", { cause: error }))).toBe(expected);
      expect(defaultChatErrorClassifier({ message: "Failed after 3 attempts.", lastError: error })).toBe(expected);
    });
  });

  test.each([
    [400, "fatal"],
    [401, "fatal"],
    [402, "fatal"],
    [403, "fatal"],
    [404, "fatal"],
    [408, "transient"],
    [409, "transient"],
    [413, "fatal"],
    [422, "fatal"],
    [425, "transient"],
    [429, "rate_limit"],
    [500, "transient"],
    [502, "transient"],
    [503, "transient"],
    [504, "transient"],
    [529, "transient"]
  ])("by its status %i alone %s", (statusCode, expected) => {
    expect(defaultChatErrorClassifier({ statusCode, message: "No." })).toBe(expected);
    expect(defaultChatErrorClassifier({ status: String(statusCode) })).toBe(expected);
  });

  test.each([
    ["1,000 tokens per day are used up", "rate_limit"],
    ["above your TPM", "rate_limit"],
    ["insufficient_quota", "rate_limit"],
    ["Throttling error", "rate_limit"],
    ["Too Many Requests", "rate_limit"],
    ["DEADLINE_EXCEEDED", "transient"],
    ["read ECONNRESET", "transient"],
    ["socket hang up", "transient"],
    ["Invalid API key", "fatal"],
    ["PERMISSION_DENIED", "fatal"],
    ["AccessDeniedException", "fatal"],
    ["content_filter", "fatal"]
  ])("by the words %j alone %s", (text, expected) => {
    expect(defaultChatErrorClassifier(text)).toBe(expected);
    expect(defaultChatErrorClassifier({ code: text })).toBe(expected);
  });

  test("the outermost status counts", () => {
    expect(defaultChatErrorClassifier({ statusCode: 503, cause: { statusCode: 400 } })).toBe("transient");
  });

  test("of several attempts the last one counts", () => {
    const [overflow, rate] = [OVERFLOWS[0]?.error, RATE_LIMITS[0]?.error];
    const retried = (...errors: unknown[]) => ({
      message: "Failed after 2 attempts.",
      errors,
      lastError: errors.at(-1)
    });
    expect(defaultChatErrorClassifier(retried(rate, overflow))).toBe("context_overflow");
    expect(defaultChatErrorClassifier(retried(overflow, rate))).toBe("rate_limit");
  });

  test("nothing known: undefined, also for an abort and for a hook that threw", () => {
    const hook = Object.assign(new Error("x", { cause: { statusCode: 500 } }), { code: "model-step-hook-failed" });
    const abort = new DOMException("This operation was aborted", "AbortError");
    for (const error of [undefined, null, "no idea", new Error("boom"), { statusCode: 200 }, abort, hook]) {
      expect(defaultChatErrorClassifier(error)).toBeUndefined();
    }
  });

  test("always one of four, or nothing", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true }), (error) => {
        expect([undefined, "context_overflow", "rate_limit", "transient", "fatal"]).toContain(
          defaultChatErrorClassifier(error)
        );
        const wait = retryAfterMs(error, NOW);
        expect(wait === undefined || (wait >= 0 && wait <= MAX_RETRY_AFTER_MS)).toBe(true);
      })
    );
  });
});

describe("how long to wait", () => {
  const asked = (responseHeaders: unknown) => retryAfterMs({ responseHeaders }, NOW);

  test.each([
    [{ "retry-after-ms": "1500" }, 1500],
    [{ "retry-after": "2" }, 2000],
    [{ "Retry-After": "0.25" }, 250],
    [{ "RETRY-AFTER-MS": "10", "retry-after": "99" }, 10],
    [{ "retry-after-ms": "soon", "retry-after": "3" }, 3000],
    [{ "retry-after": "Tue, 01 Jan 2030 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Mon, 31 Dec 2029 23:00:00 GMT" }, 0],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "99999999" }, MAX_RETRY_AFTER_MS],
    [{ "retry-after": "-5" }, undefined],
    [{ "retry-after": "later" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after": 7 }, undefined],
    [{}, undefined],
    [undefined, undefined]
  ])("%j asks for %s ms", (headers, expected) => {
    expect(asked(headers)).toBe(expected);
  });

  test("is found through causes, retries and the platform's own headers", () => {
    const responseHeaders = { "Retry-After": "4" };
    expect(retryAfterMs(new Error("x", { cause: { responseHeaders } }), NOW)).toBe(4000);
    expect(retryAfterMs({ lastError: { cause: { responseHeaders } } }, NOW)).toBe(4000);
    expect(retryAfterMs({ headers: new Headers(responseHeaders) }, NOW)).toBe(4000);
    expect(retryAfterMs({ responseHeaders: {}, cause: { responseHeaders } }, NOW)).toBe(4000);
  });

  test("is found in Google's answer, which has no header for it", () => {
    const gemini = RATE_LIMITS.find(({ provider }) => provider === "Google Gemini");
    expect(retryAfterMs(gemini?.error, NOW)).toBe(34_070);
  });
});
