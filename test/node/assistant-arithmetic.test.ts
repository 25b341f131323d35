// The demo's own small computations: expressions, primes, the clock.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readClock } from "../../examples/assistant/server/clock.ts";
import { calculate, MAX_EXPRESSION_LENGTH } from "../../examples/assistant/server/expression.ts";
import { countPrimes, type PrimesCount } from "../../examples/assistant/server/primes.ts";

describe("calculate", () => {
  test.each([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["12*(3+4)", 84],
    ["10 - 4 - 3", 3],
    ["100 / 10 / 5", 2],
    ["2 ^ 3 ^ 2", 512],
    ["-2 ^ 2", -4],
    ["(-2) ^ 2", 4],
    ["2 ^ -1", 0.5],
    ["7 % 4 * 2", 6],
    ["--3", 3],
    ["+.5 + 1.", 1.5],
    ["0 * -1", 0],
    ["\t( ( 5 ) )\n", 5]
  ])("%s is %d", (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  test.each([
    ["", "ExpressionSyntaxError", "Expected a number at position 1, found the end."],
    ["1 +", "ExpressionSyntaxError", "Expected a number at position 4, found the end."],
    ["(1 + 2", "ExpressionSyntaxError", 'Expected ")" at position 7, found the end.'],
    ["1 2", "ExpressionSyntaxError", 'Expected an operator at position 3, found "2".'],
    ["process.exit()", "ExpressionSyntaxError", 'Expected a number at position 1, found "p".'],
    ["1 / (2 - 2)", "DivisionByZeroError", "A number cannot be divided by zero."],
    ["5 % 0", "DivisionByZeroError", "A number cannot be divided by zero."],
    ["9 ^ 9 ^ 9", "NotANumberError", "The result is too large, or is not a real number."],
    ["(-1) ^ 0.5", "NotANumberError", "The result is too large, or is not a real number."],
    ["(".repeat(MAX_EXPRESSION_LENGTH + 1), "ExpressionTooLongError", "An expression may have 200 characters."]
  ])("%s is refused by name", (expression, name, message) => {
    expect(() => calculate(expression)).toThrow(expect.objectContaining({ name, message }));
  });

  type Tree = number | { operator: string; left: Tree; right: Tree };
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.nat({ max: 99 }),
      fc.record({ operator: fc.constantFrom("+", "-", "*", "/", "%"), left: tie("tree"), right: tie("tree") })
    )
  }));
  const STRENGTH: Record<string, number> = { "+": 1, "-": 1, "*": 2, "/": 2, "%": 2 };

  /** As a person writes it: parentheses only where they are needed. */
  function written(node: Tree): string {
    if (typeof node === "number") return String(node);
    const own = STRENGTH[node.operator] ?? 0;
    const side = (child: Tree, isWeak: (strength: number) => boolean) =>
      typeof child !== "number" && isWeak(STRENGTH[child.operator] ?? 0) ? `(${written(child)})` : written(child);
    return `${side(node.left, (strength) => strength < own)} ${node.operator}${side(node.right, (strength) => strength <= own)}`;
  }

  function naive(node: Tree): number {
    if (typeof node === "number") return node;
    const [left, right] = [naive(node.left), naive(node.right)];
    switch (node.operator) {
      case "+":
        return left + right;
      case "-":
        return left - right;
      case "*":
        return left * right;
      case "/":
        return right === 0 ? NaN : left / right;
      default:
        return right === 0 ? NaN : left % right;
    }
  }

  test("any expression has the value that its tree has", () => {
    fc.assert(
      fc.property(tree, (node) => {
        const text = written(node);
        fc.pre(text.length <= MAX_EXPRESSION_LENGTH);
        const expected = naive(node);
        if (Number.isFinite(expected)) expect(calculate(text)).toBe(expected === 0 ? 0 : expected);
        else expect(() => calculate(text)).toThrow();
      })
    );
  });
});

describe("countPrimes", () => {
  const naivePrimes = (below: number) =>
    Array.from({ length: below }, (_, number) => number).filter(
      (number) =>
        number > 1 && !Array.from({ length: number }, (_, divisor) => divisor).some((d) => d > 1 && number % d === 0)
    );

  test("is right for every limit up to 150", () => {
    for (let below = 2; below <= 150; below += 1) {
      const primes = naivePrimes(below);
      expect([...countPrimes(below)].at(-1), String(below)).toEqual({
        count: primes.length,
        largest: primes.at(-1) ?? null
      } satisfies PrimesCount);
    }
  });

  test("reports progress twelve times, growing to 1, and then the result", () => {
    const reports = [...countPrimes(1_000_000)];
    expect(reports).toHaveLength(13);
    const progress = reports.slice(0, 12).map((report) => ("progress" in report ? report.progress : NaN));
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBe(1);
    expect(reports.at(-1)).toEqual({ count: 78_498, largest: 999_983 });
  });
});

test("the clock tells the date and time of the zone that was asked for", () => {
  const at = Date.UTC(2026, 11, 31, 23, 30, 5);
  expect(readClock(at)).toEqual({ date: "2026-12-31", time: "23:30:05", weekday: "Thursday", timeZone: "UTC" });
  expect(readClock(at, "Europe/Oslo")).toMatchObject({ date: "2027-01-01", time: "00:30:05", weekday: "Friday" });
  expect(() => readClock(at, "Atlantis")).toThrow(expect.objectContaining({ name: "UnknownTimeZoneError" }));
});
