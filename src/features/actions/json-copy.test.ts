import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { jsonCopy, MAX_COPIED_VALUES } from "./json-copy.ts";

describe("a JSON copy", () => {
  it("is what JSON.stringify would give, for everything it can print", () => {
    const values = fc.anything({
      withDate: true,
      withNullPrototype: true,
      withBoxedValues: true,
      withSparseArray: true
    });
    fc.assert(
      fc.property(values, (value) => {
        const expected = JSON.stringify(value);
        expect(jsonCopy(value)).toEqual({ ok: true, value: expected === undefined ? undefined : JSON.parse(expected) });
      })
    );
  });

  it("copies a shared object at each place, and marks only what is inside itself", () => {
    const shared = { a: 1 };
    const loop: Record<string, unknown> = { shared, again: shared, list: [shared] };
    loop["self"] = loop;
    expect(jsonCopy(loop)).toEqual({
      ok: true,
      value: { shared, again: shared, list: [shared], self: "[Circular]" }
    });
  });

  test.each<[string, unknown, unknown]>([
    ["a bigint", 12n, "12n"],
    ["a boxed bigint", Object(12n), "12n"],
    ["a bigint inside", { n: [1n] }, { n: ["1n"] }],
    ["a key named __proto__", JSON.parse('{"__proto__":{"x":1}}'), JSON.parse('{"__proto__":{"x":1}}')],
    ["a negative zero", [-0], [0]],
    ["undefined", undefined, undefined],
    ["a function", () => 1, undefined]
  ])("of %s keeps what can be kept", (_what, value, copy) => {
    expect(jsonCopy(value)).toEqual({ ok: true, value: copy });
  });

  it("of what cannot be read is an error, not a throw", () => {
    const throwing = {
      get field() {
        throw new Error("no");
      }
    };
    expect(jsonCopy(throwing)).toEqual({ ok: false, error: "no" });
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(jsonCopy(deep).ok).toBe(false);
  });

  it("does not grow without end where shared objects multiply", () => {
    let laughs: unknown[] = ["ha"];
    for (let level = 0; level < 40; level++) laughs = [laughs, laughs];
    expect(jsonCopy(laughs)).toEqual({ ok: false, error: `it has more than ${MAX_COPIED_VALUES} values` });
  });
});
