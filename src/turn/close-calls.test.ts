import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { INTERRUPTED_TEXT, interruptedPart, NOT_RUN_TEXT } from "../session/open-calls.ts";
import { closeCalls, type ClosingCalls } from "./tool-calls.ts";

// The SDK ties the fields to the state; a table cannot.
const message = (state: string, more: object = {}): UIMessage =>
  ({
    id: "a1",
    role: "assistant",
    parts: [{ type: "tool-look", toolCallId: "c1", state, input: {}, ...more }]
  }) as UIMessage;

const closing = (init: Partial<ClosingCalls> = {}): ClosingCalls => ({
  runs: new Set(),
  started: new Set(),
  repairPart: (part) => interruptedPart(part),
  ...init
});

const cutOff = (errorText: string) => message("output-error", { errorText }).parts[0];
const allowed = message("approval-responded", { approval: { id: "p", approved: true } });

describe("the end of a turn", () => {
  test.each<[string, UIMessage]>([
    ["an approval that was not given", message("approval-requested", { approval: { id: "p" } })],
    ["a call that only a client can answer", message("input-available", { clientExecuted: true })],
    ["a call that the provider runs", message("input-available", { providerExecuted: true })],
    ["a call that was allowed and belongs to a later turn", allowed],
    ["a result", message("output-available", { output: 1 })],
    ["a denial", message("output-denied")]
  ])("leaves %s as it is", (_what, given) => {
    expect(closeCalls(given, closing())).toBe(given);
  });

  test.each([
    ["input-streaming", NOT_RUN_TEXT],
    ["input-available", NOT_RUN_TEXT]
  ])("settles a call of the server's in state %s that had not started", (state, text) => {
    expect(closeCalls(message(state), closing()).parts).toEqual([cutOff(text)]);
  });

  test("settles a call that had started as one that may have taken effect", () => {
    const started = new Set(["c1"]);
    expect(closeCalls(message("input-available"), closing({ started })).parts).toEqual([cutOff(INTERRUPTED_TEXT)]);
    const preliminary = message("output-available", { output: "half", preliminary: true });
    expect(closeCalls(preliminary, closing({ started })).parts).toEqual([cutOff(INTERRUPTED_TEXT)]);
  });

  test("settles an allowed call that the turn was to run, and says whether it had started", () => {
    const runs = new Set(["c1"]);
    expect(closeCalls(allowed, closing({ runs })).parts[0]).toMatchObject({ errorText: NOT_RUN_TEXT });
    const both = closing({ runs, started: runs });
    expect(closeCalls(allowed, both).parts[0]).toMatchObject({ state: "output-error", errorText: INTERRUPTED_TEXT });
  });

  test("keeps the words of a class for a call that was cut off", () => {
    const repairPart = () => ({ type: "text" as const, text: "cut off" });
    expect(closeCalls(message("input-available"), closing({ repairPart })).parts).toEqual([repairPart()]);
  });
});
