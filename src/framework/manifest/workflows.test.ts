import { parseSync } from "vite";
import { describe, expect, test } from "vitest";
import { resolveThinkManifest } from "../project/project.ts";
import { diagnoseThinkSources } from "./diagnose-sources.ts";
import { discoverThinkApp } from "./discover.ts";
import { summarizeThinkManifest } from "./manifest.ts";
import { readModuleExports } from "./module-exports.ts";

const WORKFLOW = "export class ImportOrders extends ThinkWorkflow {}";

function sourcesOf(files: Record<string, string>) {
  return new Map(
    Object.entries(files).map(([path, text]) => [path, readModuleExports({ path, text }, parseSync)] as const)
  );
}

function resolved(files: Record<string, string>) {
  return resolveThinkManifest(discoverThinkApp({ files: Object.keys(files) }), { sources: sourcesOf(files) });
}

function diagnose(files: Record<string, string>) {
  return diagnoseThinkSources(resolved(files), sourcesOf(files));
}

describe("workflows are found", () => {
  test.each([
    "src/workflows/import-orders.ts",
    "src/workflows/import-orders.mjs",
    "agents/shop/workflows/import-orders.ts",
    "agents/shop/agents/buyer/workflows/import-orders.tsx"
  ])("in %s", (path) => {
    expect(discoverThinkApp({ files: [path] }).workflows).toEqual([
      {
        className: "ImportOrders",
        binding: "IMPORT_ORDERS",
        importPath: `/${path}`,
        sourcePath: path,
        exportName: "ImportOrders"
      }
    ]);
  });

  test.each([
    "workflows/import.ts",
    "src/import.ts",
    "src/workflows/lib/import.ts",
    "src/workflows/_shared.ts",
    "src/workflows/index.ts",
    "src/workflows/import.test.ts",
    "src/workflows/import.d.ts",
    "src/workflows/notes.md",
    "src/shop/workflows/import.ts",
    "agents/shop/lib/workflows/import.ts",
    "agents/_old/workflows/import.ts"
  ])("not in %s", (path) => {
    expect(discoverThinkApp({ files: [path] })).toMatchObject({ workflows: [], agents: [] });
  });

  test("and listed with the agents", () => {
    const manifest = resolved({ "agents/shop.ts": "", "src/workflows/import.ts": WORKFLOW });
    expect(summarizeThinkManifest(manifest)).toEqual([
      "1 agent, 1 workflow, routes below /agents",
      "- shop | class ThinkAgent_Shop | /agents/shop/*",
      "- IMPORT_ORDERS | workflow ImportOrders | src/workflows/import.ts"
    ]);
  });
});

describe("the class of a workflow", () => {
  test.each([
    [WORKFLOW, "ImportOrders", "ImportOrders"],
    ["export default class HTTPImport extends ThinkWorkflow {}", "HTTPImport", "default"],
    ["class Nightly extends ThinkWorkflow {}\nexport default Nightly;", "Nightly", "default"],
    ["class Nightly extends ThinkWorkflow {}\nexport { Nightly as Daily };", "Daily", "Daily"],
    ["export default class extends ThinkWorkflow {}", "Import", "default"],
    [`${WORKFLOW}\nexport const schema = z.object({});`, "ImportOrders", "ImportOrders"],
    [`export class Failed extends Error {}\nexport default class Load extends ThinkWorkflow {}`, "Load", "default"],
    ["export { Load } from '../lib/load.ts';", "Load", "Load"]
  ])("in %j is %s, exported as %s", (text, className, exportName) => {
    const [workflow] = resolved({ "src/workflows/import.ts": text }).workflows;
    expect(workflow).toMatchObject({ className, exportName });
    expect(diagnose({ "src/workflows/import.ts": text })).toEqual([]);
  });

  test("is bound in upper snake case", () => {
    const binding = (name: string) =>
      resolved({ "src/workflows/a.ts": `export class ${name} extends ThinkWorkflow {}` }).workflows[0]?.binding;
    expect(["ImportOrders", "HTTPImport", "Step2", "load_all"].map(binding)).toEqual([
      "IMPORT_ORDERS",
      "HTTP_IMPORT",
      "STEP2",
      "LOAD_ALL"
    ]);
  });

  test.each([
    ["export const limit = 3;", "workflow-export-missing", 1],
    ["", "workflow-export-missing", undefined],
    ["export class Plain {}", "workflow-export-missing", 1],
    [`${WORKFLOW}\nexport class B extends ThinkWorkflow {}`, "ambiguous-workflow-export", 2],
    ["export class {", "agent-syntax-error", 1]
  ])("%j is %s at line %s", (text, code, line) => {
    const found = diagnose({ "src/workflows/import.ts": text });
    expect(found).toMatchObject([{ code, severity: "error", path: "src/workflows/import.ts" }]);
    expect(found[0]?.line).toBe(line);
  });

  test("occurs once in a Worker", () => {
    const found = diagnose({ "agents/a/workflows/import.ts": WORKFLOW, "src/workflows/import.ts": WORKFLOW });
    expect(found).toMatchObject([{ code: "duplicate-workflow-class", path: "src/workflows/import.ts" }]);
    const pinned = "export class ThinkAgent_A extends ThinkWorkflow {}";
    expect(diagnose({ "agents/a.ts": "export default agent({});", "src/workflows/a.ts": pinned })).toMatchObject([
      { code: "duplicate-workflow-class" }
    ]);
  });

  test("may be passed on by the app, which may not have another one of that name", () => {
    const files = { "src/workflows/import.ts": WORKFLOW };
    const server = "export default {};\nexport { ImportOrders } from './workflows/import.ts';";
    expect(diagnose({ ...files, "src/server.ts": server })).toEqual([]);
    expect(diagnose({ ...files, "src/server.ts": `export default {};\n${WORKFLOW}` })).toMatchObject([
      { code: "app-export-conflict", path: "src/server.ts", line: 2 }
    ]);
  });
});
