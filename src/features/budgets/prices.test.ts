// Which price a model has, and what calls cost.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { amountOf, showAmount, tokens, unitsOf, usd } from "./amount.ts";
import { costOf, highestCost, highestRates, spentOf, type CountedUsage } from "./cost.ts";
import { fit, LEAST_OUTPUT_TOKENS, mostOf } from "./fit.ts";
import { PRICES, priceOf, type ModelPrice } from "./prices.ts";
import { promptBound, reasoningBound } from "./prompt-size.ts";

describe("the price of a model", () => {
  test.each([
    ["openai.responses", "gpt-5", 1.25],
    ["openai.chat", "gpt-5-2025-08-07", 1.25],
    ["openai", "gpt-5-mini", 0.25],
    ["openai", "gpt-5-pro", 15],
    ["anthropic.messages", "claude-sonnet-4-5-20250929", 3],
    ["anthropic", "claude-sonnet-4-5-latest", 3],
    ["gateway", "anthropic/claude-sonnet-4.5", 3],
    ["gateway", "openai/gpt-4.1-mini", 0.4],
    ["google.generative-ai", "gemini-2.5-flash", 0.3],
    ["workersai.chat", "@cf/openai/gpt-oss-120b", 0.35]
  ])("of %s %s is that of its row", (provider, model, input) => {
    expect(priceOf(PRICES, provider, model)?.input).toBe(input);
  });

  test.each([
    ["openai", "gpt-5-ultra"],
    ["openai", "gpt-5-turbo-2030-01-01"],
    ["azure-openai", "gpt-5"],
    ["anthropic", "gpt-5"],
    ["openrouter", "openai/gpt-5"],
    ["openai", "gpt-55"],
    ["openai", "my-gpt-5"]
  ])("of %s %s is not known: a similar name is not a similar price", (provider, model) => {
    expect(priceOf(PRICES, provider, model)).toBeUndefined();
  });

  test("is the first row's, and * stands for anything", () => {
    const own: ModelPrice[] = [{ provider: "openai", model: "gpt-5*", input: 9, output: 9 }, ...PRICES];
    expect(priceOf(own, "openai", "gpt-5-nano")?.input).toBe(9);
  });

  test.each(PRICES.map((price) => [`${price.provider} ${price.model}`, price] as const))(
    "%s says when and where it was read, and costs something",
    (_, price) => {
      expect(price.date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      expect(price.source).toBeTruthy();
      expect(Math.min(price.input, price.output)).toBeGreaterThan(0);
      expect(price.cachedInput ?? 0).toBeLessThanOrEqual(price.input);
    }
  );

  test("names no model twice", () => {
    const names = PRICES.map(({ provider, model }) => `${provider} ${model}`);
    expect(new Set(names).size).toBe(names.length);
  });
});

const PRICE: ModelPrice = {
  ...{ provider: "p", model: "m", input: 2, output: 10, cachedInput: 0.5, cacheWrite: 4, reasoning: 12 },
  longPrompt: { above: 1_000, input: 4, output: 20 }
};
const counts = (given: Partial<CountedUsage>): CountedUsage => ({
  inputTokens: undefined,
  outputTokens: undefined,
  cachedInputTokens: undefined,
  cacheWriteTokens: undefined,
  reasoningTokens: undefined,
  ...given
});

describe("what a call costs", () => {
  test.each([
    ["input and output", { inputTokens: 100, outputTokens: 10 }, 100 * 2 + 10 * 10],
    ["cached input", { inputTokens: 100, outputTokens: 0, cachedInputTokens: 40 }, 60 * 2 + 40 * 0.5],
    ["cache writes", { inputTokens: 100, outputTokens: 0, cacheWriteTokens: 100 }, 100 * 4],
    ["reasoning", { inputTokens: 0, outputTokens: 10, reasoningTokens: 4 }, 6 * 10 + 4 * 12],
    ["a long prompt", { inputTokens: 2_000, outputTokens: 1 }, 2_000 * 4 + 20],
    ["a cache counted beside the input", { inputTokens: 10, outputTokens: 0, cachedInputTokens: 90 }, 10 * 2 + 90 * 0.5]
  ])("%s", (_, usage, dollarsPerMillion) => {
    expect(costOf(PRICE, counts(usage))).toBe(dollarsPerMillion * 1_000);
  });

  test("is never more than what was reserved for as many tokens", () => {
    const count = fc.nat({ max: 5_000 });
    fc.assert(
      fc.property(count, count, count, count, count, (input, output, cached, written, hidden) => {
        const special = Math.min(input, cached);
        const usage = counts({
          ...{ inputTokens: input, outputTokens: output, reasoningTokens: Math.min(hidden, output) },
          ...{ cachedInputTokens: special, cacheWriteTokens: Math.min(written, input - special) }
        });
        const most = highestCost(highestRates(PRICE, input), { prompt: input, output });
        expect(costOf(PRICE, usage)).toBeLessThanOrEqual(most);
      })
    );
  });

  test("is at least the reported part when a count is missing, and the reserved part for the rest", () => {
    const reserved = { prompt: 500, output: 100, price: PRICE };
    expect(spentOf(reserved, counts({ inputTokens: 10 }))).toEqual({
      usd: 10 * 2_000 + 100 * 12_000,
      tokens: 110,
      isReported: false
    });
    expect(spentOf(reserved, counts({}))).toMatchObject({ usd: 500 * 4_000 + 100 * 12_000, tokens: 600 });
  });
});

describe("a call fits", () => {
  const size = fc.record({
    prompt: fc.nat({ max: 100_000 }),
    reasoning: fc.nat({ max: 5_000 }),
    output: fc.integer({ min: 1, max: 100_000 })
  });
  const rates = fc.record({
    input: fc.nat({ max: 1e6 }).map((rate) => rate / 7),
    output: fc.nat({ max: 1e6 }).map((rate) => rate / 7)
  });
  const lefts = fc.array(
    fc.record({ unit: fc.constantFrom("usd" as const, "tokens" as const), left: fc.integer({ min: -1e6, max: 1e10 }) }),
    { minLength: 1, maxLength: 4 }
  );

  test("only if the most that it can cost is left in every limit, and then with the longest answer that fits", () => {
    fc.assert(
      fc.property(size, rates, lefts, (asked, rate, left) => {
        const fitting = fit(asked, rate, left);
        const hasRoom = (output: number) => left.every((one) => mostOf(asked, rate, output)[one.unit] <= one.left);
        const least = Math.min(asked.output, LEAST_OUTPUT_TOKENS);
        expect(fitting.fits).toBe(hasRoom(least));
        if (!fitting.fits) {
          expect(fitting.short.every(({ needed }) => needed > 0)).toBe(true);
          return;
        }
        expect(hasRoom(fitting.output)).toBe(true);
        expect(fitting.output).toBeLessThanOrEqual(asked.output);
        // One token less for rounding.
        expect(fitting.output === asked.output || !hasRoom(fitting.output + 2)).toBe(true);
      }),
      { numRuns: 2_000 }
    );
  });
});

describe("the bound of a prompt", () => {
  test("is at least the bytes of its texts", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" }), { maxLength: 5 }), (texts) => {
        const prompt = texts.map((text) => ({ role: "user", content: [{ type: "text", text }] }));
        const bytes = new TextEncoder().encode(texts.join("")).byteLength;
        expect(promptBound({ prompt })).toBeGreaterThanOrEqual(bytes + 1_000);
      })
    );
  });

  test("counts tools, schemas and files", () => {
    const plain = promptBound({ prompt: [] });
    const tools = [{ type: "function", name: "a", description: "x".repeat(500), inputSchema: {} }];
    expect(promptBound({ prompt: [], tools })).toBeGreaterThan(plain + 500);
    const image = { type: "file", mediaType: "image/png", data: new Uint8Array(10) };
    expect(promptBound({ prompt: [{ role: "user", content: [image] }] })).toBeGreaterThan(plain + 50_000);
    const remote = { type: "file", mediaType: "application/pdf", data: new URL("https://a.example/b.pdf") };
    expect(promptBound({ prompt: [{ role: "user", content: [remote] }] })).toBeGreaterThan(plain + 200_000);
  });

  test("of reasoning is what the provider options allow", () => {
    expect(reasoningBound({ anthropic: { thinking: { type: "enabled", budgetTokens: 4_000 } } })).toBe(4_000);
    expect(reasoningBound(undefined)).toBe(0);
  });
});

describe("amounts", () => {
  test.each([
    [usd(0.1), 100_000_000],
    [usd(2.5), 2_500_000_000],
    [usd(0.29), 290_000_000],
    [tokens(100_000), 100_000]
  ])("%j is kept exactly", (amount, units) => {
    expect(unitsOf(amount, "down")).toBe(units);
    expect(unitsOf(amount, "up")).toBe(units);
    expect(amountOf(amount.unit, units)).toEqual(amount);
  });

  test.each([
    [usd(2.1), "$2.10"],
    [usd(0), "$0.00"],
    [usd(0.0004), "$0.0004"],
    [tokens(1_200), "1,200 tokens"]
  ])("%j is shown as %s", (amount, text) => {
    expect(showAmount(amount)).toBe(text);
  });

  test.each([Number.NaN, -1, Infinity, 2e6])("%d dollars are refused", (amount) => {
    expect(() => usd(amount)).toThrow(/is not an amount/);
  });
});

test("reading the cache of Claude Sonnet 5.5 costs a tenth of the input, of Opus 5.5 a twentieth", () => {
  expect(priceOf(PRICES, "anthropic", "claude-sonnet-5-5")?.cachedInput).toBeCloseTo(0.2, 9);
  expect(priceOf(PRICES, "anthropic", "claude-opus-5-5")?.cachedInput).toBeCloseTo(0.2, 9);
});
