// The plugin's modules, asked for as Vite asks: the hooks of the plugin itself, on a project in a temporary folder.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Plugin } from "vite";
import { beforeEach, describe, expect, test } from "vitest";
import { createThinkViteManifest, createThinkViteWorkerConfigResult, think } from "./plugin.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "everthink-plugin-"));
  mkdirSync(join(root, "agents"));
  // Running it would end the process: the plugin only reads.
  writeFileSync(join(root, "agents", "support.ts"), `process.exit(3);\nexport default class {}\n`);
  return () => rmSync(root, { recursive: true, force: true });
});

interface Hooks {
  configResolved(config: object): void;
  resolveId(id: string): string | undefined;
  load(id: string): string | undefined;
}

function hooks(options: Parameters<typeof think>[0] = {}): Hooks {
  const plugin = think(options).find(({ name }) => name === "everthink") as Plugin & Hooks;
  plugin.configResolved({ root, command: "build" });
  return plugin;
}

const CONTENTS: readonly [name: string, content: string][] = [
  ["entry", "export default createThinkWorkerEntry({"],
  ["agents", "export const ThinkAgent_Support = thinkAgentClass(supportModule, {"],
  ["manifest", '"routePrefix": "/agents"'],
  ["config", '"class_name": "ThinkAgent_Support"'],
  ["router", "export const thinkRouter = createThinkRouter("],
  ["server-entry", 'export * from "everthink/server-entry";']
];

describe("virtual modules", () => {
  test.each(CONTENTS)("virtual:everthink/%s and virtual:think/ of it are the same module", (name, content) => {
    const { resolveId, load } = hooks();
    const [id, older] = ["everthink", "think"].map((family) => resolveId(`virtual:${family}/${name}`));
    expect(id).toBe(`\0virtual:everthink/${name}`);
    expect(older).toBe(id);
    expect(load(id ?? "")).toContain(content);
  });

  test.each(["virtual:everthink/nothing", "virtual:think/", "virtual:other/entry", "everthink/entry", "./entry"])(
    "%s is left to others",
    (id) => {
      expect(hooks().resolveId(id)).toBeUndefined();
      expect(hooks().load(id)).toBeUndefined();
    }
  );

  test("the options reach the generated code", () => {
    const code = hooks({ routePrefix: "api", authorize: "./src/auth.ts", messengers: { agent: "support" } }).load(
      "\0virtual:everthink/entry"
    );
    expect(code).toContain('import authorize from "/src/auth.ts";');
    expect(code).toContain('routePrefix: "/api"');
    expect(code).toContain('messengers: {"agent":"support"}');
  });
});

describe("the project", () => {
  test("is read and never run: only paths decide what is an agent", () => {
    const manifest = createThinkViteManifest(root);
    for (const text of ["", "not code {", 'import "./nowhere.ts";\nthrow new Error("ran");', "export class A {}"]) {
      writeFileSync(join(root, "agents", "support.ts"), text);
      const { agents, ...rest } = createThinkViteManifest(root);
      const { agents: first, ...others } = manifest;
      expect(rest).toEqual(others);
      expect(agents.map(({ exportName: _, ...agent }) => agent)).toEqual(
        first.map(({ exportName: _, ...agent }) => agent)
      );
    }
  });

  test("names of bindings in wrangler.toml are used, and a broken file is one warning", () => {
    const binding = '[[durable_objects.bindings]]\nname = "SUPPORT"\nclass_name = "ThinkAgent_Support"\n';
    writeFileSync(join(root, "wrangler.toml"), binding);
    expect(createThinkViteManifest(root).agents[0]?.bindingName).toBe("SUPPORT");
    for (const [file, text] of [
      ["wrangler.toml", "name = "],
      ["wrangler.jsonc", "{ broken"]
    ] as const) {
      writeFileSync(join(root, file), text);
      const { diagnostics } = createThinkViteWorkerConfigResult(root);
      const warnings = diagnostics.filter(({ severity }) => severity === "warning");
      expect(warnings).toMatchObject([{ code: "unreadable-worker-config", path: file }]);
    }
  });

  test("a main that imports the virtual entry, by either name, is as good as the entry; another one is not", () => {
    mkdirSync(join(root, "src"));
    writeFileSync(join(root, "wrangler.jsonc"), '{ "main": "src/worker.ts" }');
    const codes = (text: string) => {
      writeFileSync(join(root, "src", "worker.ts"), text);
      return createThinkViteWorkerConfigResult(root).diagnostics.map(({ code }) => code);
    };
    const main = "unexpected-worker-main";
    expect(codes('export * from "./other.ts";')).toContain(main);
    for (const family of ["everthink", "think"]) {
      expect(codes(`export * from "virtual:${family}/entry";`)).not.toContain(main);
    }
    writeFileSync(join(root, "src", "worker.ts"), "export default {};");
    const { diagnostics } = createThinkViteWorkerConfigResult(root, { allowNonVirtualMain: true });
    expect(diagnostics.map(({ code }) => code)).not.toContain(main);
  });
});
