// The story of a pulled plug is told once, in order, with the times at which things were seen.
import { expect, test } from "vitest";
import { isOver, observe, pull, type PlugStory, type Sight, stepsOf } from "./plug-story.ts";

const sight = (at: number, change: Partial<Sight> = {}): Sight => ({
  at,
  connection: "open",
  isBusy: true,
  answerLength: 100,
  ...change
});

function tell(sights: readonly Sight[]): PlugStory {
  const [first, ...rest] = sights;
  if (first === undefined) throw new Error("A story has a beginning.");
  return rest.reduce(observe, pull(first));
}

const times = (story: PlugStory) => stepsOf(story).map(({ afterMs }) => afterMs);

test("an answer that goes on ends the story", () => {
  const lost = sight(20, { connection: "reconnecting" });
  const story = tell([sight(0), lost, sight(400), sight(600, { answerLength: 101 })]);
  expect(times(story)).toEqual([20, 400, 600]);
  expect(isOver(story)).toBe(true);
});

test("words that are taken back are not an answer that goes on, the next word is", () => {
  const lost = sight(20, { connection: "reconnecting" });
  const shorter = tell([sight(0), lost, sight(400), sight(450, { answerLength: 80 })]);
  expect(isOver(shorter)).toBe(false);
  expect(times(observe(shorter, sight(500, { answerLength: 81 })))).toEqual([20, 400, 500]);
});

test("without an answer the story ends when the process is back", () => {
  const story = tell([
    sight(0, { isBusy: false }),
    sight(10, { isBusy: false, connection: "reconnecting" }),
    sight(300, { isBusy: false })
  ]);
  expect(times(story)).toEqual([10, 300, 300]);
  expect(isOver(story)).toBe(true);
});

test("as long as the connection holds nothing has happened", () => {
  const story = tell([sight(0), sight(100, { answerLength: 300 })]);
  expect(times(story)).toEqual([undefined, undefined, undefined]);
  expect(isOver(story)).toBe(false);
});
