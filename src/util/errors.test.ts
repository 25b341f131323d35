import { expect, test } from "vitest";
import { errorTable, ThinkError, type ThinkErrorInit } from "./errors.ts";

class Refusal extends ThinkError {
  constructor(init: ThinkErrorInit & { readonly status: number }) {
    super(init);
    this.status = init.status;
  }
  readonly status: number;
}

const thinkErrors = errorTable(ThinkError, {
  FullError: (limit: number, cause?: unknown) => ({
    code: "full",
    message: `At most ${limit}.`,
    hint: "Wait.",
    cause
  })
});
const refusals = errorTable(Refusal, { LockedError: () => ({ code: "locked", message: "Locked.", status: 423 }) });

test("an error of a table has the name of its row, and the code, texts and cause of its values", () => {
  const cause = new Error("disk");
  const error = thinkErrors.FullError(3, cause);
  expect(error).toBeInstanceOf(ThinkError);
  expect(error).toMatchObject({ name: "FullError", code: "full", message: "At most 3.", hint: "Wait.", cause });
  expect(Object.hasOwn(thinkErrors.FullError(3), "cause")).toBe(false);
});

test("a table of a family makes errors that are caught by the class of the family", () => {
  expect(refusals.LockedError()).toBeInstanceOf(Refusal);
  expect(refusals.LockedError()).toMatchObject({ name: "LockedError", status: 423 });
});
