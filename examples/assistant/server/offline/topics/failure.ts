// Failing when asked to: at once, or in the middle of a sentence.
import type { Topic } from "../topic.ts";

const FAIL = /\bfail\b.*\b(on purpose|deliberately|after|now|please)|\b(please|now) fail\b|\bshow me an error\b/i;
const AFTER_WORDS = /\bafter (a few|some|three|several) words\b|\bin the middle\b|\bhalfway\b/i;

export const failure: Topic = {
  isAbout: ({ question }) => FAIL.test(question),
  plan: ({ question }) => [
    AFTER_WORDS.test(question)
      ? { text: "I begin to answer, and before this sentence is", fails: true }
      : { fails: true }
  ]
};
