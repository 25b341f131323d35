import { expect, test } from "vitest";
import { admitted, SAMPLES, settled } from "../../journal/record-samples.test-support.ts";
import { steeringNote } from "./steering-notes.ts";

test("the notes of a steered turn name its receipt's steps, and other turns have none", () => {
  const whats = [
    admitted(undefined, { entry: "steer" }),
    SAMPLES["input-edited"],
    SAMPLES["steer-applied"],
    SAMPLES["steer-passed"],
    { ...SAMPLES["steer-passed"], runId: null },
    SAMPLES["turn-stop-requested"],
    settled({ reason: "withdrawn" }),
    settled({ steeredBy: "s2" })
  ].map((record) => steeringNote(record)?.what);
  expect(whats).toEqual([
    ...["steer-accepted", "edited", "applied", "passed", "given-back"],
    ...["stop-requested", "withdrawn", "taken-over"]
  ]);
  expect(steeringNote(SAMPLES["steer-applied"])).toMatchObject({ requestId: "request-of-turn-2", step: 2 });
  for (const record of [admitted(), settled(), SAMPLES["attempt-started"]])
    expect(steeringNote(record)).toBeUndefined();
});
