// What the offline model answers: until a real model is set up, in `npm test` and in `npm run chaos`. A real one never sees it.
import type { Plan } from "../../models/offline-model.ts";
import { findOrder } from "./orders.ts";

export const plans: readonly Plan[] = [
  {
    match: /order (\d+)/i,
    steps: ([, id = ""]) => [
      { text: "I look it up. ", call: { tool: "lookUpOrder", input: { id } } },
      { text: `Order ${id}: ${findOrder(id).status}.` }
    ]
  },
  {
    match: /person|human|manager/i,
    steps: () => [
      { call: { tool: "activate_skill", input: { name: "escalation" } } },
      { call: { tool: "handOver", input: { reason: "The customer asked for a person." } } },
      { text: "A colleague will write to you today." }
    ]
  }
];
