import { expect, test } from "vitest";
import { afterDeath, QUICK_DEATH_LIMIT, STABLE_MS } from "./restart-policy.ts";

test.each([
  [0, STABLE_MS, { do: "restart", afterMs: 0, quickDeaths: 0 }],
  [9, STABLE_MS, { do: "restart", afterMs: 0, quickDeaths: 0 }],
  [0, STABLE_MS - 1, { do: "restart", afterMs: 0, quickDeaths: 1 }],
  [1, 10, { do: "restart", afterMs: 500, quickDeaths: 2 }],
  [2, 10, { do: "restart", afterMs: 1000, quickDeaths: 3 }],
  [7, 10, { do: "restart", afterMs: 30_000, quickDeaths: 8 }],
  [8, 10, { do: "restart", afterMs: 30_000, quickDeaths: 9 }],
  [9, 10, { do: "give-up", quickDeaths: QUICK_DEATH_LIMIT }]
])("after %i quick deaths and a run of %i ms: %j", (deaths, ranMs, decision) => {
  expect(afterDeath(deaths, ranMs)).toEqual(decision);
});
