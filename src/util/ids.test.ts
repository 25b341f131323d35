import { describe, expect, it } from "vitest";
import { callId, MAX_CALL_ID_BYTES, MAX_ID_BYTES, messageId, requestId, turnId } from "./ids.ts";

const INVALID = expect.objectContaining({ code: "invalid-id" });

describe("branded ids", () => {
  it("are the text they were made from", () => {
    expect(turnId("t1")).toBe("t1");
    expect(messageId("m-1_x")).toBe("m-1_x");
  });

  it("refuse text that cannot be a key", () => {
    expect(() => turnId("")).toThrow(INVALID);
    expect(() => requestId("a\0b")).toThrow(/NUL/);
    expect(() => requestId("x".repeat(MAX_ID_BYTES + 1))).toThrow(INVALID);
  });

  it("measure bytes, not characters", () => {
    expect(requestId("é".repeat(MAX_ID_BYTES / 2))).toHaveLength(MAX_ID_BYTES / 2);
    expect(() => requestId("é".repeat(MAX_ID_BYTES / 2 + 1))).toThrow(INVALID);
  });

  it("let a provider's call id carry a signature", () => {
    expect(callId("c".repeat(MAX_CALL_ID_BYTES))).toHaveLength(MAX_CALL_ID_BYTES);
    expect(() => callId("c".repeat(MAX_CALL_ID_BYTES + 1))).toThrow(INVALID);
  });
});
