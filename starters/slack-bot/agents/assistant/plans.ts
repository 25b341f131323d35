// What the offline model answers: until a real model is set up, in `npm test` and in `npm run chaos`. A real one never sees it.
import type { Plan } from "../../models/offline-model.ts";

export const plans: readonly Plan[] = [
  {
    match: /deploy (\w+)/i,
    steps: ([, service]) => [
      { text: "I ask first. ", call: { tool: "deploy", input: { service } } },
      { text: "It waits for a decision." }
    ]
  },
  // What a model reads after a decision, perhaps days later.
  { match: /has been decided/i, steps: () => [{ text: "The decision is carried out." }] },
  { match: /hello|hi\b/i, steps: () => [{ text: "Hello! Say: deploy shop" }] }
];
