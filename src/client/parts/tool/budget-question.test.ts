// The question of a budget from what an agent lists: read where it is one, and left out where it is not.
import fc from "fast-check";
import { expect, test } from "vitest";
import { amountText, budgetQuestions, readAmount } from "./budget-question.ts";

const listed = (summary: string, input: object = { unit: "usd", amount: 0.4 }) => ({
  ...{ executionId: "budget_1", source: "budget", inputHash: "h", descriptor: { summary, input } }
});

test("it says what is needed, what was spent, and how much of the limit that is", () => {
  expect(budgetQuestions([listed("needs $0.40 more; spent $2.10 of $2.50 by ann today")])).toEqual([
    {
      ...{ executionId: "budget_1", inputHash: "h", unit: "usd", amount: 0.4 },
      needs: "needs $0.40 more",
      spent: "spent $2.10 of $2.50 by ann today",
      share: expect.closeTo(0.84)
    }
  ]);
});

test.each([
  ["needs 5,000 tokens more; spent 12,000 tokens of 10,000 tokens in this turn", 1],
  ["needs more; nothing was said", undefined],
  ["needs more", undefined],
  ["needs $1 more; spent $0 of $0 today", undefined]
])("%s: %s of the limit", (summary, share) => {
  expect(budgetQuestions([listed(summary)])[0]?.share).toBe(share);
});

test("other questions, and whatever else comes over the wire, are left out", () => {
  expect(budgetQuestions([{ ...listed("s"), source: "action" }, listed("s", {}), null, 7])).toEqual([]);
  fc.assert(fc.property(fc.anything(), (value) => void budgetQuestions(value)));
});

test("an amount is shown in its unit, rounded up, and read as people write it", () => {
  expect([amountText({ unit: "usd", amount: 0.4 }), amountText({ unit: "usd", amount: 0.4001 })]).toEqual([
    "0.40",
    "0.41"
  ]);
  expect(amountText({ unit: "tokens", amount: 4999.5 })).toBe("5000");
  expect(["5", "0,5", " 2 ", "", "-1", "0", "many"].map(readAmount)).toEqual([5, 0.5, 2, ...Array(4).fill(undefined)]);
});
