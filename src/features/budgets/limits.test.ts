// Which account a limit is about, when a day begins, and what a sub-agent inherits.
import { describe, expect, test } from "vitest";
import { tokens, usd } from "./amount.ts";
import { accountOf, dateIn, describeSpent, inherited, readLimits, type BudgetLimit } from "./limits.ts";

const scope = { agent: "root", turnId: "t1" };
const at = { nowMs: Date.UTC(2030, 0, 1, 23, 30), step: "1.0" };

function only(limit: BudgetLimit, where: { agent: string; turnId: string | undefined } = scope) {
  const [kept] = readLimits([limit], where);
  if (!kept) throw new Error("no limit");
  return kept;
}

describe("the account of a limit", () => {
  test.each<[string, BudgetLimit, string]>([
    ["a step", { per: "step", limit: usd(1) }, "step:t1:1.0"],
    ["a turn", { per: "turn", limit: usd(1) }, "turn:t1"],
    ["a conversation", { per: "conversation", limit: usd(1) }, "conversation:root"],
    ["a day", { per: "day", limit: usd(1) }, "day:root:2030-01-01"],
    ["a day elsewhere", { per: "day", limit: usd(1), timeZone: "Asia/Tokyo" }, "day:root:2030-01-02"],
    ["a key", { per: { key: "ann" }, limit: usd(1) }, "key:ann"],
    ["a key and day", { per: { key: "ann", each: "day" }, limit: usd(1) }, "key:ann:2030-01-01"],
    ["a key and month", { per: { key: "ann", each: "month" }, limit: usd(1) }, "key:ann:2030-01"]
  ])("of %s", (_, limit, account) => {
    expect(accountOf(only(limit), at)).toBe(account);
  });

  test("outside of turns there is none of a turn or step", () => {
    const given: BudgetLimit[] = [
      { per: "turn", limit: usd(1) },
      { per: "step", limit: usd(1) },
      { per: "day", limit: usd(1) }
    ];
    expect(readLimits(given, { agent: "root", turnId: undefined }).map(({ per }) => per)).toEqual(["day"]);
  });
});

test.each([
  ["UTC", "2024-03-10"],
  ["America/Los_Angeles", "2024-03-09"],
  ["Pacific/Kiritimati", "2024-03-10"]
])("the day in %s, around a change to summer time", (zone, date) => {
  expect(dateIn(zone, Date.UTC(2024, 2, 10, 7, 59))).toBe(date);
});

test("a sub-agent inherits every limit but that of a step, and asks where its parent would", () => {
  const limits = readLimits(
    [
      { per: "step", limit: usd(1) },
      { per: { key: "ann", each: "day" }, limit: usd(2), then: "ask" }
    ],
    scope
  );
  expect(inherited(limits)).toMatchObject([{ account: "key:ann", then: "ask", isInherited: true }]);
});

test("what is spent reads as a sentence", () => {
  const limit = only({ per: { key: "ann", each: "day" }, limit: usd(2.5) });
  expect(describeSpent(limit, { spent: 2.1e9, reserved: 0, most: 2.5e9 })).toBe("spent $2.10 of $2.50 by ann today");
  const counted = only({ per: "turn", limit: tokens(500) });
  expect(describeSpent(counted, { spent: 300, reserved: 100, most: 500 })).toBe(
    "spent 300 tokens of 500 tokens and 100 tokens is reserved in this turn"
  );
});
