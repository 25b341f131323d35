// What the offline model answers: until a real model is set up, in `npm test` and in `npm run chaos`. A real one never sees it.
import type { Plan } from "../../models/offline-model.ts";

export const plans: readonly Plan[] = [
  {
    match: /pay (\d+) (?:to )?(\w+)/i,
    steps: ([, amount, payee]) => [
      { text: "I prepare the payment. ", call: { tool: "pay", input: { amount: Number(amount), payee } } },
      { text: `The payment to ${payee} is settled.` }
    ]
  },
  { match: /digest/i, steps: () => [{ text: "Nothing is open today." }] }
];
