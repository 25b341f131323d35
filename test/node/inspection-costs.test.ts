// What inspectors see of money: the report of the budgets as everthink costs prints it, turns without limits beside it, limits
// with how far they are used, and prices with their date and source.
import { beforeEach, expect, test, vi } from "vitest";
import { tokens, usd, type BudgetLimit, type ModelPrice } from "../../src/index.ts";
import { costLines } from "../../src/cli/commands/costs.ts";
import type { CostsView } from "../../src/features/inspection/index.ts";
import { createScript, reply, scriptedModel, text, usage } from "../../src/testing/index.ts";
import { ask, look, open, scene, Subject, type Host } from "./inspection-kit.ts";

const PRICE: ModelPrice = {
  provider: "openai",
  model: "gpt-5",
  input: 1000,
  output: 1000,
  date: "2026-11-01",
  source: "A page"
};
let limits: BudgetLimit[];

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  limits = [];
  const model = () => scriptedModel(scene.script, { provider: "openai.responses", modelId: "gpt-5" });
  vi.spyOn(Subject.prototype, "getModel").mockImplementation(model as never);
  return () => void vi.restoreAllMocks();
});

function budgeted(): void {
  vi.spyOn(Subject.prototype, "getBudgets").mockImplementation(() => limits);
  vi.spyOn(Subject.prototype, "getPrices").mockReturnValue([PRICE]);
}

const answers = () => reply(text("Hello."), usage({ input: 600, output: 400 }));

async function asked(...words: string[]): Promise<Host> {
  const host = open([]);
  scene.script = createScript(words.map(answers));
  for (const word of words) await ask(host, word);
  return host;
}

test("turns without limits are counted from their tokens, with the prices of the package and where they come from", async () => {
  const host = await asked("one", "two");
  const view = await look<CostsView>(host, "costs");
  expect(view).toMatchObject({ total: { usd: 0, tokens: 0, calls: 0 }, limits: [], open: 0 });
  const { total, days, turns, models, unpricedTokens, isCut } = view.withoutLimits;
  // gpt-5 in the table of the package: $1.25 and $10 per million tokens.
  const cost = (600 * 1.25 + 400 * 10) / 1e6;
  expect(total).toEqual({ usd: expect.closeTo(2 * cost, 10), tokens: 2000, calls: 2 });
  expect([days.length, models, unpricedTokens, isCut]).toEqual([1, [{ model: "gpt-5", ...total }], 0, false]);
  expect(turns.map(({ tokens: used, usd: spent }) => [used, spent])).toEqual(
    Array(2).fill([1000, expect.closeTo(cost, 10)])
  );
  expect(view.prices).toMatchObject({ isOwn: false, isCut: false });
  expect(view.prices.rows.every(({ date, source }) => /^\d{4}-\d\d-\d\d$/.test(date ?? "") && source)).toBe(true);
});

test("turns with limits are those of everthink costs, and are not counted again", async () => {
  budgeted();
  limits = [{ per: { key: "ann", each: "day" }, limit: usd(10), then: "ask" }];
  const host = open([]);
  scene.script = createScript([answers(), answers()]);
  await ask(host, "limited");
  limits = [];
  await ask(host, "free");
  const view = await look<CostsView>(host, "costs");
  expect(view.total).toEqual({ usd: 1, tokens: 1000, calls: 1 });
  expect(view.turns.map(({ agent }) => agent)).toEqual([view.agentPath]);
  expect(view.withoutLimits.total).toEqual({ usd: 1, tokens: 1000, calls: 1 });
  const printed = costLines(view, 10);
  expect(printed[0]).toBe("Total      $1.0000  1000 tokens  1 call");
  expect(printed.filter((line) => line.startsWith("  key:ann:"))).toHaveLength(1);
  const agent = await host.get(Subject, "a");
  const { withoutLimits: _turns, limits: _limits, agentPath: _path, prices, ...report } = view;
  expect({ ...(await agent.getCosts()), at: report.at }).toEqual(report);
  expect(prices).toEqual({ isOwn: true, rows: [PRICE], isCut: false });
});

test("a limit is shown with what was spent of it and what is reserved, while its call runs", async () => {
  budgeted();
  limits = [
    { per: { key: "ann", each: "day" }, limit: usd(100), then: "ask" },
    { per: "conversation", limit: tokens(1_000_000) }
  ];
  const started = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const host = open([]);
  scene.script = createScript([
    answers(),
    async () => {
      started.resolve();
      await goOn.promise;
      return answers();
    }
  ]);
  await ask(host, "first");
  const agent = await host.get(Subject, "a");
  const second = agent.saveMessages([{ id: "u2", role: "user", parts: [{ type: "text", text: "second" }] }]);
  await started.promise;
  const during = await look<CostsView>(host, "costs");
  expect(during.open).toBe(1);
  expect(during.limits).toMatchObject([
    { account: expect.stringMatching(/^key:ann:\d{4}/), per: "key", unit: "usd", limit: 100, spent: 1, then: "ask" },
    { account: "conversation:[]", unit: "tokens", limit: 1_000_000, spent: 1000, then: "stop" }
  ]);
  expect(during.limits.every(({ reserved }) => reserved > 0)).toBe(true);
  goOn.resolve();
  await second;
  await host.idle();
  const after = await look<CostsView>(host, "costs");
  expect(after.open).toBe(0);
  // Those that hold outside of turns, where this class always has them.
  expect(after.limits.map(({ spent, reserved }) => [spent, reserved])).toEqual([
    [2, 0],
    [2000, 0]
  ]);
});

test("looking at costs writes nothing, also where getBudgets() throws without a connection", async () => {
  const host = await asked("one");
  vi.spyOn(Subject.prototype, "getBudgets").mockImplementation(() => {
    throw new TypeError("connection is undefined");
  });
  const before = host.counts.writes;
  expect((await look<CostsView>(host, "costs")).limits).toEqual([]);
  expect(host.counts.writes).toBe(before);
});
