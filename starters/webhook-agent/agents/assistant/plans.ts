// What the offline model answers: until a real model is set up, in `npm test` and in `npm run chaos`. A real one never sees it.
import type { Plan } from "../../models/offline-model.ts";

export const plans: readonly Plan[] = [
  { match: /event (\S+): (.+)/i, steps: ([, id, what]) => [{ text: `I have noted event ${id}: ${what}` }] },
  { match: /hello|hi\b/i, steps: () => [{ text: "Hello! Send a webhook to /webhook." }] }
];
