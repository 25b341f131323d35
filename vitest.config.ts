import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const inNode = [
  { find: "#platform", replacement: source("./src/host/inprocess/platform.ts") },
  { find: "everthink/workflows", replacement: source("./src/agent/workflows/index.ts") },
  { find: /^everthink$/, replacement: source("./src/index.ts") },
  { find: /^everthink\/(\w+)$/, replacement: source("./src/$1/index.ts") }
];

export default defineConfig({
  test: {
    projects: [
      {
        // Pure tables, properties and the in-process host.
        resolve: { alias: inNode },
        test: {
          name: "node",
          include: ["src/**/*.test.ts", "test/node/**/*.test.ts", "test/docs/**/*.test.ts", "tools/**/*.test.ts"]
        }
      },
      {
        // The same turns on the previous major of the AI SDK.
        resolve: { alias: [...inNode, { find: /^ai$/, replacement: "ai6" }] },
        test: {
          name: "node-ai6",
          env: { AI_MAJOR: "6" },
          include: ["src/turn/**/*.test.ts", "test/node/think.test.ts"]
        }
      },
      {
        // The same promises inside workerd.
        resolve: { alias: { "#platform": source("./src/host/workerd/platform.ts") } },
        plugins: [cloudflareTest({ wrangler: { configPath: "./test/workers/wrangler.jsonc" } })],
        test: { name: "workers", include: ["test/workers/**/*.test.ts"], isolate: false }
      },
      {
        // Real processes: workerd serve, published clients, SIGKILL, the packed package.
        test: {
          name: "process",
          include: ["test/process/**/*.test.ts", "test/package/**/*.test.ts", "test/browser/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false
        }
      }
    ]
  }
});
