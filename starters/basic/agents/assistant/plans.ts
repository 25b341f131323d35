// What the offline model answers: until a real model is set up, in `npm test` and in `npm run chaos`. A real one never sees it.
import type { Plan } from "../../models/offline-model.ts";

export const plans: readonly Plan[] = [
  {
    match: /hello|hi\b/i,
    steps: () => [{ text: "Hello! I am your agent, and I live in agents/assistant/agent.ts." }]
  },
  {
    match: /what can you do/i,
    steps: () => [{ text: "I answer, I keep our conversation through crashes, and I have a workspace of files." }]
  }
];
