import { expect, test } from "vitest";
import type { CostsView, ReportedAccount } from "../src/features/inspection/index.ts";
import { accountName, personOf, share, summarize } from "./project-costs.ts";

const NONE = { usd: 0, tokens: 0, calls: 0 };

function account(name: string, usd: number, reservedUsd = 0): ReportedAccount {
  const nothing = { reservedTokens: 0, grantedUsd: 0, grantedTokens: 0 };
  return { account: name, usd, tokens: usd * 1000, reservedUsd, ...nothing };
}

function view(over: Partial<CostsView> = {}): CostsView {
  const withoutLimits = { total: NONE, unpricedTokens: 0, days: [], turns: [], models: [], isCut: false };
  const report = { at: 0, agentPath: "[]", total: NONE, days: [], turns: [], models: [], accounts: [], open: 0 };
  return { ...report, limits: [], prices: { isOwn: false, rows: [], isCut: false }, withoutLimits, ...over };
}

const ada = view({
  total: { usd: 2, tokens: 2000, calls: 4 },
  days: [
    { day: "2026-11-19", usd: 1.5, tokens: 1500, calls: 3 },
    { day: "2026-11-18", usd: 0.5, tokens: 500, calls: 1 }
  ],
  models: [{ provider: "openai.responses", model: "gpt-5", usd: 2, tokens: 2000, calls: 4 }],
  accounts: [account("key:ann:2026-11-19", 1.5), account("key:ann:2026-11-18", 0.5), account("turn:t1", 1, 0.25)],
  open: 1
});
const bob = view({
  accounts: [account("key:bob", 0), account("day::2026-11-19", 3)],
  withoutLimits: {
    total: { usd: 1, tokens: 900, calls: 2 },
    unpricedTokens: 100,
    days: [{ day: "2026-11-19", usd: 1, tokens: 900, calls: 2 }],
    turns: [],
    models: [{ model: "gpt-5", usd: 1, tokens: 900, calls: 2 }],
    isCut: false
  }
});

test("the costs of all agents are those of each, added up by day, model, person and conversation", () => {
  const summary = summarize([
    { at: "assistant/ada", title: "Hello", costs: ada },
    { at: "assistant/bob", title: null, costs: bob }
  ]);
  expect(summary).toMatchObject({
    limited: { usd: 2, tokens: 2000, calls: 4 },
    unlimited: { usd: 1, tokens: 900, calls: 2 },
    total: { usd: 3, tokens: 2900, calls: 6 },
    unpricedTokens: 100,
    open: 1,
    reservedUsd: 0.25
  });
  expect(summary.days).toEqual([
    { name: "2026-11-19", usd: 2.5, tokens: 2400, calls: 5 },
    { name: "2026-11-18", usd: 0.5, tokens: 500, calls: 1 }
  ]);
  expect(summary.models).toEqual([{ name: "gpt-5", usd: 3, tokens: 2900, calls: 6 }]);
  expect(summary.people).toMatchObject([
    { name: "ann", usd: 2 },
    { name: "bob", usd: 0 }
  ]);
  expect(summary.agents).toMatchObject([
    { name: "assistant/ada", title: "Hello", usd: 2 },
    { name: "assistant/bob", usd: 1 }
  ]);
});

test.each([
  ["key:ann:2026-11-19", "ann"],
  ["key:ann:2026-11", "ann"],
  ["key:ann", "ann"],
  ["key:a:b:2026-11-19", "a:b"],
  ["day::2026-11-19", undefined],
  ["turn:key:x", undefined]
])("the account %s is of the person %s", (name, person) => {
  expect(personOf(account(name, 1))?.name).toBe(person);
});

test.each([
  ["key:ann:2026-11-19", "ann 2026-11-19"],
  ["conversation:[]", "conversation"],
  ['conversation:[["Reader","x"]]', 'conversation [["Reader","x"]]'],
  ["day:[]:2026-11-19", "day 2026-11-19"],
  ["turn:t1", "turn t1"]
])("the account %s is called %s", (account, name) => {
  expect(accountName(account)).toBe(name);
});

test.each([
  [{ spent: 1, reserved: 1, limit: 4 }, 0.5],
  [{ spent: 5, reserved: 0, limit: 4 }, 1],
  [{ spent: 0, reserved: 0, limit: 0 }, 0],
  [{ spent: 1, reserved: 0, limit: 0 }, 1]
])("a limit with %o is used to %d", (limit, used) => {
  expect(share(limit)).toBe(used);
});
