// What inspectors and the command line read of budgets, and what a try of a past turn counts for.
import { beforeEach, expect, test, vi } from "vitest";
import { testContext } from "../../src/cli/cli.test-support.ts";
import { dispatch } from "../../src/cli/main.ts";
import { usd } from "../../src/core/budgets.ts";
import type { CostReport } from "../../src/features/inspection/index.ts";
import { reply, text, usage } from "../../src/testing/index.ts";
import { costs, open, rowsOf, say, scene } from "./budgets-kit.ts";

const KEY = "a-key-of-sixteen-characters";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  return () => void vi.unstubAllGlobals();
});

const small = usage({ input: 40, output: 2 });

function opened() {
  return open([reply(text("hi"), small), reply(text("tried"), small)], {
    limits: () => [{ per: "conversation", limit: usd(50) }],
    key: KEY
  });
}

test("an inspector reads the costs of the tree, and no one else does", async () => {
  const host = opened();
  await say(host, "q");
  expect((await host.fetch("/agents/spender/a/inspect/v1/costs")).status).toBe(403);
  const headers = { authorization: `Bearer ${KEY}` };
  const report: CostReport = await (await host.fetch("/agents/spender/a/inspect/v1/costs", { headers })).json();
  expect(report).toMatchObject({ total: { usd: 0.042, calls: 1 }, models: [{ provider: "scripted" }], open: 0 });
});

test("a try of a past turn counts for the limits outside of turns", async () => {
  const host = opened();
  await say(host, "q");
  const [turn] = (await costs(host)).turns;
  const response = await host.fetch("/agents/spender/a/inspect/v1/try", {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ turnId: turn?.turnId })
  });
  expect(response.status).toBe(200);
  expect(scene.script.callCount).toBe(2);
  expect(await costs(host)).toMatchObject({ total: { usd: 0.084, calls: 2 }, open: 0 });
});

test("everthink costs prints them, and says what is missing without the key", async () => {
  const host = opened();
  await say(host, "q");
  vi.stubGlobal("fetch", (url: URL, init?: RequestInit) => host.fetch(`${url.pathname}${url.search}`, init));
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const context = testContext({ cwd: "/", print, note: () => undefined, stream: () => undefined });
  await expect(dispatch(["costs", "spender", "a"], context)).rejects.toThrow(/does not let this command look inside/);
  await dispatch(["costs", "spender", "a", "--token", KEY], context);
  expect(lines.slice(0, 2)).toEqual(["Total      $0.0420  42 tokens  1 call", "Under way  0 calls"]);
});

test("rows of a turn under limits are few", async () => {
  const host = opened();
  await say(host, "q");
  const count = (table: string) => rowsOf(host, `SELECT * FROM ${table}`).length;
  expect(["cf_budget_calls", "cf_budget_accounts", "cf_budget_limits"].map(count)).toEqual([1, 2, 0]);
});
