// What `everthink costs` prints of a report.
import { expect, test } from "vitest";
import type { CostsView } from "../../features/inspection/index.ts";
import { costLines } from "./costs.ts";

const none = { reservedUsd: 0, reservedTokens: 0, grantedUsd: 0, grantedTokens: 0 };
const report: CostsView = {
  at: 0,
  total: { usd: 1.5, tokens: 3_000, calls: 2 },
  days: [{ day: "2030-01-01", usd: 1.5, tokens: 3_000, calls: 2 }],
  turns: [
    { turnId: "t2", agent: "", usd: 0.5, tokens: 1_000, calls: 1 },
    { turnId: "t1", agent: "", usd: 1, tokens: 2_000, calls: 1 }
  ],
  models: [{ provider: "openai.responses", model: "gpt-5", usd: 1.5, tokens: 3_000, calls: 2 }],
  accounts: [
    { account: "key:ann:2030-01-01", usd: 1.5, tokens: 3_000, ...none, grantedUsd: 2, reservedUsd: 0.25 },
    { account: "turn:t1", usd: 1, tokens: 2_000, ...none }
  ],
  open: 1,
  agentPath: "",
  withoutLimits: {
    total: { usd: 0.25, tokens: 500, calls: 1 },
    unpricedTokens: 0,
    days: [],
    turns: [],
    models: [],
    isCut: false
  },
  limits: [],
  prices: {
    isOwn: false,
    rows: [{ provider: "openai", model: "gpt-5", input: 1, output: 8, date: "2029-12-01" }],
    isCut: false
  }
};

test("totals, days, models, turns and accounts are printed, turns once", () => {
  expect(costLines(report, 1)).toEqual([
    "Total      $1.5000  3000 tokens  2 calls",
    "Under way  1 call",
    "No limit   $0.2500  500 tokens  1 call",
    "Prices     the package's, 1 row, the newest of 2029-12-01",
    "",
    "Days (UTC)",
    "  2030-01-01  $1.5000  3000 tokens  2 calls",
    "",
    "Models",
    "  openai.responses gpt-5  $1.5000  3000 tokens  2 calls",
    "",
    "Turns",
    "  t2  $0.5000  1000 tokens  1 call",
    "  and 1 more (--limit)",
    "",
    "Accounts",
    "  key:ann:2030-01-01  $1.5000  3000 tokens, $0.2500 reserved, $2.0000 granted"
  ]);
});
