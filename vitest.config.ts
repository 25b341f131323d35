import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  test: {
    projects: [
      {
        // Pure tables, properties and the in-process host.
        resolve: {
          alias: [
            { find: "#platform", replacement: source("./src/host/inprocess/platform.ts") },
            { find: "everthink/workflows", replacement: source("./src/agent/workflows/index.ts") },
            { find: /^everthink$/, replacement: source("./src/index.ts") },
            { find: /^everthink\/(\w+)$/, replacement: source("./src/$1/index.ts") }
          ]
        },
        test: {
          name: "node",
          include: ["src/**/*.test.ts", "test/node/**/*.test.ts", "test/docs/**/*.test.ts", "tools/**/*.test.ts"]
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
