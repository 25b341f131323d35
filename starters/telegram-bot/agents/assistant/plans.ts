// What the offline model answers: until a real model is set up, in `npm test` and in `npm run chaos`. A real one never sees it.
import type { Plan } from "../../models/offline-model.ts";

export const plans: readonly Plan[] = [
  { match: /^\/start|hello|hi\b/i, steps: () => [{ text: "Hello! Ask me what I can do." }] },
  {
    match: /what can you do/i,
    steps: () => [{ text: "I answer in every chat I am in, and a crash does not make me answer twice." }]
  }
];
