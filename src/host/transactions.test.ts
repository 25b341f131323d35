import { describe, expect, test } from "vitest";
import { Transactions } from "./transactions.ts";

const transactions = () => {
  const all = new Transactions();
  const told: string[] = [];
  return {
    told,
    /** The platform's part is none of this class's business. */
    run: <T>(work: () => T): T => all.run<T>((inner) => inner(), work),
    wait: (name: string) =>
      all.after({ committed: () => void told.push(name), undone: () => void told.push(`${name} undone`) })
  };
};

const fail = () => {
  throw new Error("no");
};

describe("the end of a transaction", () => {
  test("is told when the outermost one has committed, in order, and at once where none is open", () => {
    const { run, wait, told } = transactions();
    wait("none");
    run(() => {
      wait("first");
      run(() => wait("second"));
      wait("third");
      expect(told).toEqual(["none"]);
    });
    expect(told).toEqual(["none", "first", "second", "third"]);
  });

  test("is told as undone for what was part of one that was rolled back, at whatever depth, and for nothing else", () => {
    const { run, wait, told } = transactions();
    run(() => {
      wait("kept");
      const inner = () =>
        run(() => {
          run(() => wait("lost"));
          fail();
        });
      expect(inner).toThrow("no");
      expect(told).toEqual(["lost undone"]);
    });
    expect(told).toEqual(["lost undone", "kept"]);
    expect(() => run(() => [wait("all"), fail()])).toThrow("no");
    expect(told.at(-1)).toBe("all undone");
  });

  test("may be the beginning of another one", () => {
    const { run, wait, told } = transactions();
    const all = new Transactions();
    all.run(
      (inner) => inner(),
      () => all.after({ committed: () => run(() => wait("later")) })
    );
    expect(told).toEqual(["later"]);
  });
});
