import type { ContextOverflowOptions } from "../feature/settings.ts";
import { describe, expect, test } from "vitest";
import { ModelFailedError, StepHookError } from "../model/index.ts";
import type { FailureContext } from "../turn/hooks.ts";
import { causeOf } from "../util/errors.ts";

import { featureErrors } from "../feature/errors.ts";
import { FailureLog, MAX_LINE_CHARS, MAX_REMEMBERED } from "./failure-log.ts";

const stream: FailureContext = { requestId: "r1", stage: "stream", messagesPersisted: true };

function logged(...failures: (readonly [unknown, FailureContext])[]): string[] {
  const lines: string[] = [];
  const log = new FailureLog({ agent: () => 'Assistant "a"', write: (line) => void lines.push(line) });
  for (const [error, context] of failures) log.turnFailed(error, context);
  return lines;
}

const api = (statusCode: number, message: string) =>
  new ModelFailedError(Object.assign(new Error(message), { name: "AI_APICallError", statusCode }));

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe("a failed turn", () => {
  test("leaves its stage, code, message, cause and request", () => {
    const [line] = logged([api(500, "the engine is on fire"), stream]);
    expect(line).toBe(
      'Assistant "a": a turn failed at stage "stream" (model-call-failed, request r1): The model could not answer. ' +
        "Cause: AI_APICallError 500: the engine is on fire. " +
        "What to do: The provider failed, also when it was asked again. Try later."
    );
  });

  const loadKey = Object.assign(new Error("OpenAI API key is missing. Pass it using the 'apiKey' parameter"), {
    name: "AI_LoadAPIKeyError"
  });
  test.each<[string, unknown, RegExp]>([
    ["no key", new ModelFailedError(loadKey), /no API key: set the variable that the cause names/],
    ["401", api(401, "Incorrect API key provided"), /check the API key that getModel\(\) uses/],
    ["403", api(403, "not allowed"), /what its account may do/],
    ["404", api(404, "The model `gpt-9` does not exist"), /Check the model's id/],
    ["a model that does not exist", api(400, "model_not_found"), /Check the model's id/],
    ["429", api(429, "slow down"), /limits the rate or the quota/],
    ["an overflow", api(400, "prompt is too long"), /set contextOverflow/],
    ["a refused file", api(400, "Could not process image"), /Later turns show the model a note in its place/],
    ["another refusal", api(400, "tools.0.name is wrong"), /the cause says what is wrong with it/],
    ["no model", featureErrors.NoModelError("Assistant"), /Override getModel\(\) in Assistant/],
    ["a hook before a step", new StepHookError(new Error("oops")), /beforeStep threw.*throw what users may read/],
    ["another hook", new TypeError("x is not a function"), /Code of this class threw.*throw what users may read/]
  ])("says what to do about %s", (_what, error, advice) => {
    const [line] = logged([error, stream]);
    expect(line?.split("What to do: ")[1]).toMatch(advice);
  });

  test.each<[string, ContextOverflowOptions | undefined, RegExp, RegExp]>([
    ["nothing", undefined, /: set contextOverflow, or compact earlier/, /although|also after/],
    [
      "reactive",
      { reactive: true },
      /also after contextOverflow compacted it.*Set contextOverflow\.proactive/,
      /set contextOverflow,/
    ],
    [
      "proactive",
      { proactive: { maxInputTokens: 9 } },
      /set contextOverflow\.reactive.*or lower maxInputTokens/,
      /set contextOverflow,/
    ],
    [
      "both",
      { reactive: true, proactive: { maxInputTokens: 9 } },
      /lower its maxInputTokens or headroom/,
      /[Ss]et contextOverflow/
    ]
  ])("of an overflow advises what is not set yet: %s", (_what, contextOverflow, advice, not) => {
    const lines: string[] = [];
    const log = new FailureLog({
      agent: () => "a",
      write: (line) => void lines.push(line),
      contextOverflow: () => contextOverflow
    });
    log.turnFailed(api(400, "prompt is too long"), stream);
    expect(lines[0]).toMatch(advice);
    expect(lines[0]).not.toMatch(not);
  });

  test("says where user code threw", () => {
    expect(logged([new Error("oops"), { ...stream, stage: "turn" }])[0]).toMatch(/oops \(at .*failure-log\.test/);
  });

  test("is one line, and a short one", () => {
    const [line = ""] = logged([api(400, `first\nsecond ${"x".repeat(100_000)}`), stream]);
    expect(line).not.toContain("\n");
    expect(line.length).toBeLessThanOrEqual(MAX_LINE_CHARS + 1);
    expect(line).toContain("What to do");
  });

  test("never shows a key that the provider repeats", () => {
    const texts = [
      "Incorrect API key: sk-proj-abcdef123456",
      "Authorization: Bearer abc.def",
      "/v1?key=AIzaSyA1234567890"
    ];
    for (const text of texts) {
      const [line] = logged([api(401, text), stream]);
      expect(line).toContain("[key]");
      expect(line).not.toMatch(/abcdef123456|abc\.def|AIzaSyA/);
    }
  });

  test("that fails like one before is named, and not described again", () => {
    const lines = logged(
      [api(401, "no"), stream],
      [api(401, "no"), { ...stream, requestId: "r2" }],
      [api(429, "slow down"), { ...stream, requestId: "r3" }]
    );
    expect(lines).toHaveLength(3);
    expect(lines[1]).toBe('Assistant "a": a turn failed at stage "stream" (model-call-failed, request r2): as before.');
    expect(lines[2]).toContain("limits the rate");
  });

  test("is remembered among a bounded number of others", () => {
    const others = Array.from(
      { length: MAX_REMEMBERED },
      (_none, index) => [api(400, `odd ${index}`), stream] as const
    );
    const lines = logged([api(401, "no"), stream], ...others, [api(401, "no"), stream]);
    expect(lines.at(-1)).toContain("check the API key");
  });

  test.each<[unknown]>([[undefined], [null], [5], ["text"], [Symbol("s")], [Object.create(null)], [{ message: 5 }]])(
    "with anything is logged: %s",
    (thrown) => {
      expect(logged([thrown, stream])).toHaveLength(1);
      expect(logged([new ModelFailedError(thrown), stream])).toHaveLength(1);
    }
  );

  test("with what cannot even be looked at is logged too", () => {
    expect(logged([revoked(), stream])[0]).toContain("What was thrown cannot be read.");
    expect(logged([new ModelFailedError(revoked()), stream])).toHaveLength(1);
  });
});

describe("a cause", () => {
  test("is every link once, nearest first, also of the SDK's retries", () => {
    const refusal = Object.assign(new Error("busy"), { name: "AI_APICallError", statusCode: 503 });
    const retries = Object.assign(new Error("Failed after 3 attempts"), { name: "AI_RetryError", lastError: refusal });
    expect(causeOf(new ModelFailedError(retries))).toBe(
      "AI_RetryError: Failed after 3 attempts Cause: AI_APICallError 503: busy"
    );
    expect(causeOf(new Error("alone"))).toBeUndefined();
  });

  test("that is a loop ends", () => {
    const loop = new Error("loop");
    loop.cause = loop;
    expect(causeOf(loop)).toBe("Error: loop");
  });
});
