// What the offline model answers: until a real model is set up, in `npm test` and in `npm run chaos`. A real one never sees it.
import type { Plan } from "../../models/offline-model.ts";

const CODE = `export function add(a: number, b: number) {
  return a + b;
}
`;

export const plans: readonly Plan[] = [
  {
    match: /write .*function/i,
    steps: () => [
      { text: "I write it to add.ts. ", call: { tool: "write", input: { path: "/add.ts", content: CODE } } },
      { text: "It is in /add.ts." }
    ]
  },
  {
    match: /how do you review/i,
    steps: () => [
      { call: { tool: "activate_skill", input: { name: "review" } } },
      { text: "I read the whole file, and say first what is wrong." }
    ]
  },
  {
    match: /review|read/i,
    steps: () => [
      { call: { tool: "activate_skill", input: { name: "review" } } },
      { call: { tool: "read", input: { path: "/add.ts" } } },
      { text: "add.ts is short and does what it says. A test is missing." }
    ]
  }
];
