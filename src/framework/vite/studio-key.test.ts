import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { CLIShortcut, Plugin, ViteDevServer } from "vite";
import { beforeEach, expect, test, vi } from "vitest";
import { bindStudioKey } from "./studio-key.ts";
import { createThinkViteManifest, think } from "./plugin.ts";
import { thinkWorkerConfig } from "./worker-config-hook.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "everthink-studio-key-"));
  mkdirSync(join(root, "agents"));
  writeFileSync(
    join(root, "agents", "assistant.ts"),
    `import { Think } from "everthink";\nexport default class extends Think {}\n`
  );
  writeFileSync(join(root, "wrangler.jsonc"), `{ "name": "app", "vars": { "REGION": "eu" } }`);
  vi.stubEnv("BROWSER", "none");
  return () => {
    vi.unstubAllEnvs();
    rmSync(root, { recursive: true, force: true });
  };
});

function configured(
  command: "serve" | "build",
  options: Parameters<typeof think>[0] = {}
): { vars: Record<string, string> } {
  const plugin = think(options).find(({ name }) => name === "everthink") as Plugin & {
    config: (...all: unknown[]) => void;
  };
  plugin.config({ root }, { command, mode: "test" });
  const config = { configPath: join(root, "wrangler.jsonc"), vars: { REGION: "eu" } };
  thinkWorkerConfig()(config);
  return config;
}

test("the Worker of a development server gets a key, beside the project's variables; a build never does", () => {
  expect(configured("build").vars).toEqual({ REGION: "eu" });
  const developed = { REGION: "eu", EVERTHINK_DEVELOPMENT: "1" };
  expect(configured("serve", { studio: false }).vars).toEqual(developed);
  expect(configured("serve", { studioShortcut: false }).vars).toEqual(developed);
  const { vars } = configured("serve");
  expect(vars).toMatchObject({ REGION: "eu", EVERTHINK_INSPECTION_KEY: expect.stringMatching(/^[0-9a-f-]{72}$/) });
  // A restart of the server keeps it: Studio goes on with the same.
  expect(configured("serve").vars).toEqual(vars);
});

test("key s starts Studio once and prints its address each time", async () => {
  configured("serve");
  const printed: string[] = [];
  const shortcuts: CLIShortcut<ViteDevServer>[] = [];
  const server = {
    config: {
      root,
      logger: { info: (text: string) => printed.push(text), error: (text: string) => printed.push(text) }
    },
    printUrls: () => undefined,
    resolvedUrls: { local: ["http://localhost:4711/"], network: [] },
    bindCLIShortcuts: ({ customShortcuts = [] }) => void shortcuts.push(...customShortcuts)
  } as object as ViteDevServer;
  bindStudioKey(server, { canWrite: false, manifest: () => createThinkViteManifest(root) });
  expect(shortcuts.map(({ key }) => key)).toEqual(["s"]);
  for (let press = 0; press < 2; press += 1) await shortcuts[0]?.action?.(server);
  expect(printed[0]).toMatch(/Studio: http:\/\/127\.0\.0\.1:\d+\/ \(read-only\)/);
  expect(printed[1]).toBe(printed[0]);
  const url = /http:\S+/.exec(printed[0] ?? "")?.[0];
  expect(await (await fetch(`${url}__studio/config.json`)).json()).toMatchObject({
    // The page itself chooses: the newest instance, or the list of agents.
    target: { origin: "http://localhost:4711", prefix: "agents", agent: null },
    canWrite: false
  });
});

test.each([
  [true, "", ["addresses", "  ➜  press s + enter to open Studio"]],
  [false, "", ["addresses"]],
  [true, "1", ["addresses"]]
])("the key is listed below the addresses of the server; in a terminal: %s, in CI: %j", (isTerminal, ci, expected) => {
  const printed: string[] = [];
  const server = {
    config: { root, logger: { info: (text: string) => printed.push(stripVTControlCharacters(text)) } },
    printUrls: () => printed.push("addresses"),
    bindCLIShortcuts: () => undefined
  } as object as ViteDevServer;
  vi.stubEnv("CI", ci);
  const { isTTY } = process.stdin;
  process.stdin.isTTY = isTerminal;
  try {
    bindStudioKey(server, { canWrite: false, manifest: () => createThinkViteManifest(root) });
    server.printUrls();
  } finally {
    process.stdin.isTTY = isTTY;
  }
  expect(printed).toEqual(expected);
});
