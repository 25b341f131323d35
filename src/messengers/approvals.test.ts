import { expect, test } from "vitest";
import type { PendingApproval } from "../think/actions.ts";
import { approvalCard } from "./approvals.ts";

function shownInput(input: object): string {
  const descriptor = { requestId: "r", toolCallId: "c", action: "pay", summary: "Pay", input, permissions: [] };
  const kind = "durable-pause";
  const approval: PendingApproval = { executionId: "e", source: "action", descriptor: { ...descriptor, kind } };
  const [text] = approvalCard(approval, "token").children as { content?: string }[];
  return text?.content ?? "";
}

test("a question shows what is asked for as a line for each field", () => {
  expect(shownInput({ to: "Ada", amount: 5, lines: [{ item: "oil" }], urgent: true })).toBe(
    'to: Ada\namount: 5\nlines: [{"item":"oil"}]\nurgent: true'
  );
});

test.each(["\n", "\r", "\u2028", "\u0085"])(
  "a text with the line break %j cannot pass for another field",
  (lineBreak) => {
    const shown = shownInput({ text: `hello${lineBreak}amount: 1`, amount: 5_000 });
    expect(shown.split("\n")).toEqual([expect.stringMatching(/^text: ".*amount: 1"$/s), "amount: 5000"]);
  }
);

test("a long input is cut", () => {
  expect(shownInput({ text: "x".repeat(5_000) })).toHaveLength(701);
});
