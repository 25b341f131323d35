// What one turn passes through, once everything is compiled and cached: the code that every question pays for.
import { beforeAll, expect, test } from "vitest";
import { ThinkCore } from "../../src/think/think-core.ts";
import { Think } from "../../src/think/think.ts";
import budgets from "./budgets.json" with { type: "json" };
import { codeOfWarmTurn, shortModel, type PassedCode } from "./warm-turn.ts";

class Lean extends ThinkCore {
  override getModel() {
    return shortModel();
  }
}

class Full extends Think {
  override getModel() {
    return shortModel();
  }
}

const passed = {} as Record<"core" | "think", PassedCode>;

beforeAll(async () => {
  passed.core = await codeOfWarmTurn(Lean);
  passed.think = await codeOfWarmTurn(Full);
});

test.each(["core", "think"] as const)(
  "a warm turn of %s passes no more files and functions than its budget",
  (name) => {
    const { files, functions } = passed[name];
    const budget = budgets.warmTurn[name];
    // Nothing measured is no turn.
    expect(files.length).toBeGreaterThan(50);
    expect({ files: files.length <= budget.files, functions: functions.length <= budget.functions }).toEqual({
      files: true,
      functions: true
    });
  }
);

test("a turn of a class without capabilities passes no code of one", () => {
  expect(passed.core.files.filter((path) => path.startsWith("features/"))).toEqual([]);
});

test("a turn of a class that names no capability asks those only that may have work without being named", () => {
  const asked = new Set(passed.think.files.flatMap((path) => path.match(/^features\/([^/]+)/)?.[1] ?? []));
  // Rows of an earlier deploy, readers over HTTP, default tools, whether the class overrides a name, returned several models or
  // has set a browser, and whether somebody runs a tool by hand.
  expect([...asked].sort()).toEqual([
    "actions",
    "agent-tools",
    "browser",
    "channels",
    "clients",
    "inspection",
    "mcp",
    "models",
    "submissions",
    "workflows",
    "workspace"
  ]);
});
