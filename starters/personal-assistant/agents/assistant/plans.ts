// What the offline model answers: until a real model is set up, in `npm test` and in `npm run chaos`. A real one never sees it.
import type { Plan } from "../../models/offline-model.ts";

export const plans: readonly Plan[] = [
  {
    match: /remember (?:that )?(.+)/i,
    steps: ([, fact]) => [
      { call: { tool: "set_context", input: { label: "memory", content: `- ${fact}\n`, action: "append" } } },
      { text: "I will remember that." }
    ]
  },
  { match: /briefing/i, steps: () => [{ text: "Good morning. Nothing is planned for today." }] },
  { match: /hello|hi\b/i, steps: () => [{ text: "Hello! Tell me to remember something." }] }
];
