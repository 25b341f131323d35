// Who decided, as text and as what is read from it: a client's word never reads as anything else.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { approverName, approverOf, readApprover, shownApprover } from "./approver.ts";

test.each([
  ["telegram:7", { surface: "telegram", id: "7", verified: true }, "telegram:7"],
  ["slack:U7", { surface: "slack", id: "U7", verified: true }, "slack:U7"],
  ["ann", { surface: "app", id: "ann", verified: true }, "ann"],
  ["okta:7", { surface: "app", id: "okta:7", verified: true }, "okta:7"],
  ["app:telegram:7", { surface: "app", id: "telegram:7", verified: true }, "app:telegram:7"],
  ["unverified:ann", { surface: "web", id: "ann", verified: false }, null],
  ["unverified:telegram:7", { surface: "web", id: "telegram:7", verified: false }, null],
  ["unverified:app:ann", { surface: "web", id: "app:ann", verified: false }, null],
  [null, null, null]
])("%j is read as what it is, and is `by` only if it is verified", (text, approver, by) => {
  expect(readApprover(text)).toEqual(approver);
  expect(shownApprover(text)).toEqual({ by, approver });
});

test("what a client claims is shown as a claim, whatever it is", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 50 }), (claim) => {
      const text = `unverified:${claim}`;
      expect(shownApprover(text)).toEqual({ by: null, approver: { surface: "web", id: claim, verified: false } });
      expect(approverName(text)).toBe(`${claim} (not verified)`);
    })
  );
});

test("code of the server is taken at its word, without a question to the class", () => {
  const policy = {
    identifyApprover: () => {
      throw new Error("asked");
    }
  };
  expect(approverOf(policy, "telegram:7")).toBe("telegram:7");
  expect(approverOf(policy, undefined)).toBeUndefined();
  expect(approverOf(policy, "x".repeat(300))).toHaveLength(200);
});
