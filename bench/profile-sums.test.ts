import { expect, test } from "vitest";
import { heaviest, type Profile, timeByFolder, timeByFunction, timeWithin } from "./profile-sums.ts";

const modules = ["", "src/turn/runner.ts", "node_modules/@ai-sdk/provider/dist/index.js", "src/turn/runner.ts"];
const frame = (functionName: string, lineNumber: number, url = "worker") => ({ functionName, lineNumber, url });

const profile: Profile = {
  nodes: [
    { id: 1, callFrame: frame("(root)", -1, ""), children: [2, 6] },
    { id: 2, callFrame: frame("run", 1), children: [3, 4] },
    { id: 3, callFrame: frame("stream", 2), children: [5] },
    { id: 4, callFrame: frame("run", 3) },
    { id: 5, callFrame: frame("exec", -1, "") },
    { id: 6, callFrame: frame("(idle)", -1, "") }
  ],
  samples: [2, 3, 4, 5, 6],
  timeDeltas: [1_000, 2_000, 4_000, 8_000, 16_000]
};

test("time is summed by package and by folder, and idle time is none", () => {
  expect(Object.fromEntries(timeByFolder(profile, modules))).toEqual({
    "src/turn": 5,
    "@ai-sdk/provider": 2,
    "(native)": 8
  });
});

test("time of a function alone is what was spent in it and nowhere else", () => {
  expect(heaviest(timeByFunction(profile, modules), 2)).toEqual([
    { what: "exec  (native)", ms: 8 },
    { what: "run  src/turn/runner.ts", ms: 5 }
  ]);
});

test("time within a function counts what it calls, and a function that calls itself once", () => {
  expect(timeWithin(profile, modules).get("run  src/turn/runner.ts")).toBe(15);
  expect(timeWithin(profile, modules).get("stream  node_modules/@ai-sdk/provider/dist/index.js")).toBe(10);
});
