import { expect, test } from "vitest";
import { questionOfRun } from "./decisions.ts";

const waits =
  (...waiting: object[]) =>
  async () =>
    waiting;

test("a run that is named by its id alone is decided by the question of now", async () => {
  const question = { inputHash: "h", seq: 1 };
  expect(await questionOfRun(waits({ executionId: "e", ...question }), "e")).toEqual(question);
});

test("a question that may have run is not decided by the id of its run: the caller has not seen it", async () => {
  const question = { inputHash: "h", seq: 1, mayHaveRun: true };
  await expect(questionOfRun(waits({ executionId: "e", ...question }), "e")).rejects.toMatchObject({
    code: "call-may-have-run",
    message: expect.stringContaining('"e"')
  });
});

test("a class that lists nothing is asked without a question", async () => {
  expect(await questionOfRun(waits(), "e")).toEqual({});
  expect(await questionOfRun(() => Promise.reject(new Error("no such method")), "e")).toEqual({});
});
