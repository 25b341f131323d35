import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { MAX_OUTPUT_CHARS, prepareOutput } from "./results.ts";

const never = () => {
  throw new Error("nothing was cut, so nothing is to be kept");
};

describe("an output", () => {
  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a text at the limit", "x".repeat(MAX_OUTPUT_CHARS)],
    ["a list", [1, { a: "b" }]]
  ])("that is %s is shown as it is", (_what, value) => {
    expect(prepareOutput(value, never)).toEqual({ output: value });
  });

  it("that is a long text is its beginning, how much is missing, and where the rest is", () => {
    const text = "x".repeat(MAX_OUTPUT_CHARS + 5);
    const { output, whole } = prepareOutput(text, () => "result_1");
    expect(output).toBe(
      `${"x".repeat(MAX_OUTPUT_CHARS)}\n... [truncated 5 chars; read_result with id "result_1" gives the whole]`
    );
    expect(whole).toBe(text);
  });

  it("that is long otherwise keeps its shape in a preview", () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `row ${id}` }));
    const { output, whole } = prepareOutput({ rows, total: 5_000 }, () => "result_1");
    expect(output).toMatchObject({ truncated: true, chars: whole?.length, resultId: "result_1" });
    expect(output).toHaveProperty("preview.rows.0", { id: 0, name: "row 0" });
    expect(output).toHaveProperty("preview.total", 5_000);
    expect(JSON.parse(whole ?? "")).toEqual({ rows, total: 5_000 });
  });

  it("never shows a mere note where it could show the beginning", () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `row ${id}` }));
    const { output } = prepareOutput({ rows }, () => "result_1");
    expect(JSON.stringify(output)).toContain("row 0");
  });

  it("that cannot be kept whole says nothing of a place to read it", () => {
    const { output } = prepareOutput("x".repeat(MAX_OUTPUT_CHARS + 1), () => undefined);
    expect(output).not.toContain("read_result");
  });

  it("that has no JSON says so", () => {
    const value = { toJSON: () => JSON.parse("{") as unknown };
    expect(prepareOutput(value, never)).toMatchObject({ output: { serialized: false }, problem: expect.any(String) });
  });

  it("is never much longer than the limit, whatever it is", () => {
    const long = fc.array(fc.anything({ withBigInt: true, maxDepth: 4 }), { minLength: 200, maxLength: 400 });
    fc.assert(
      fc.property(long, (value) => {
        const { output } = prepareOutput(value, () => "result_1");
        expect((JSON.stringify(output) ?? "").length).toBeLessThanOrEqual(2 * MAX_OUTPUT_CHARS + 200);
      }),
      { numRuns: 30 }
    );
  });
});
