import { parseSync } from "vite";
import { describe, expect, test } from "vitest";
import { discoverThinkApp } from "../manifest/discover.ts";
import { readModuleExports } from "../manifest/module-exports.ts";
import { parseJsonc } from "../serve/jsonc.ts";
import { createThinkWorkerConfig, selectEnvironment } from "./merge.ts";
import { diagnoseWorkflowConfig } from "./workflow-config.ts";
import { inferRequiredBindings, type ThinkWorkerConfig } from "./worker-config.ts";
import { writeWorkerConfig } from "./write-config.ts";

const app = discoverThinkApp({ files: ["agents/shop.ts", "src/workflows/import.ts"] });
const IMPORT = { name: "think-app-import", binding: "IMPORT", class_name: "Import" };
const merged = (userConfig: ThinkWorkerConfig) => createThinkWorkerConfig(app, { userConfig });

describe("the Worker configuration has the workflows", () => {
  test("under a name that begins with the Worker's", () => {
    expect(merged({}).config.workflows).toEqual([IMPORT]);
    expect(merged({ name: "shop" }).config.workflows).toEqual([{ ...IMPORT, name: "shop-import" }]);
    expect(inferRequiredBindings(app).workflows).toEqual([{ binding: "IMPORT", class_name: "Import" }]);
    expect(createThinkWorkerConfig(discoverThinkApp({ files: [] })).config).not.toHaveProperty("workflows");
  });

  test("behind the user's own, which stay as they are", () => {
    const own = { name: "billing", binding: "BILLING", class_name: "Billing", limits: { steps: 5 } };
    expect(merged({ workflows: [own] }).config.workflows).toEqual([own, IMPORT]);
    const renamed = { name: "old-import", binding: "IMPORTER", class_name: "Import" };
    expect(merged({ workflows: [renamed] }).config.workflows).toEqual([renamed]);
    const elsewhere = { ...renamed, script_name: "another-worker" };
    expect(merged({ workflows: [elsewhere] }).config.workflows).toEqual([elsewhere, IMPORT]);
  });

  test("and two classes never share a binding", () => {
    const other = { name: "other", binding: "IMPORT", class_name: "Other" };
    const object = { name: "IMPORT", class_name: "ThinkAgent_Shop" };
    for (const user of [{ workflows: [other] }, { durable_objects: { bindings: [object] } }]) {
      const { config, diagnostics } = merged(user);
      expect(diagnostics).toMatchObject([{ code: "workflow-binding-conflict", severity: "error" }]);
      expect(config.workflows ?? []).toEqual("workflows" in user ? [other] : []);
    }
  });

  test("of one environment, which inherits none", () => {
    const config = { workflows: [IMPORT], env: { staging: { name: "shop-staging" } } };
    expect(merged(selectEnvironment(config, "staging")).config.workflows).toEqual([
      { ...IMPORT, name: "shop-staging-import" }
    ]);
  });

  test("also when it is written into the file", () => {
    for (const text of ["{}", `{\n  // mine\n  "workflows": [{ "name": "b", "binding": "B", "class_name": "B" }]\n}`]) {
      const user = parseJsonc(text) as ThinkWorkerConfig;
      const written = writeWorkerConfig(text, user, merged(user).config);
      expect(parseJsonc(written)).toMatchObject({ workflows: [...(user.workflows ?? []), IMPORT] });
      expect(written.includes("// mine")).toBe(text.includes("// mine"));
      const again = parseJsonc(written) as ThinkWorkerConfig;
      expect(writeWorkerConfig(written, again, merged(again).config)).toBe(written);
    }
  });
});

describe("diagnostics of workflows", () => {
  const check = (config: ThinkWorkerConfig, files: Record<string, string>, allowNonVirtualMain = false) => {
    const sources = new Map(
      Object.entries(files).map(([path, text]) => [path, readModuleExports({ path, text }, parseSync)] as const)
    );
    const manifest = discoverThinkApp({ files: Object.keys(files) });
    return diagnoseWorkflowConfig(manifest, config, { sources, allowNonVirtualMain });
  };
  const files = { "src/workflows/import.ts": "export class Import extends ThinkWorkflow {}" };

  test("a class without an entry is an error that says how to add it", () => {
    expect(check({ workflows: [IMPORT] }, files)).toEqual([]);
    expect(check({}, files)).toMatchObject([
      { code: "missing-workflow-binding", severity: "error", message: expect.stringContaining("config --write") }
    ]);
  });

  test("an entry whose class no file exports is an error, as far as exports are known", () => {
    const config = { workflows: [{ name: "b", binding: "B", class_name: "Billing" }] };
    const agent = { "agents/shop.ts": "export default class extends Think {}" };
    const server = (text: string) => check(config, { ...agent, "src/server.ts": text });
    expect(check(config, agent)).toMatchObject([{ code: "workflow-export-missing", severity: "error" }]);
    expect(server("export default {};")).toMatchObject([{ code: "workflow-export-missing" }]);
    expect(server("export { Billing } from './billing.ts';")).toEqual([]);
    expect(server("export * from './billing.ts';")).toEqual([]);
    expect(check(config, agent, true)).toEqual([]);
    expect(check({ workflows: [{ name: "b", binding: "B", class_name: "X", script_name: "w" }] }, agent)).toEqual([]);
  });

  test("runWorkflow with a name that no workflow has is a warning at its place", () => {
    const shop = `export default class extends Think {
  begin() {
    return [this.runWorkflow("IMPORT", {}), this.runWorkflow("IMPROT"), this?.runWorkflow(name), runWorkflow("X")];
  }
}`;
    expect(check({ workflows: [IMPORT] }, { ...files, "agents/shop.ts": shop })).toEqual([
      {
        code: "unknown-workflow-binding",
        severity: "warning",
        message: 'runWorkflow("IMPROT") names no workflow of this Worker (IMPORT).',
        path: "agents/shop.ts",
        line: 3,
        column: 62
      }
    ]);
  });
});
