import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { pluginOf } from "./src/framework/build/plugins.ts";
import { skillsImport } from "./src/framework/skills/skills-import.ts";
import { streamsFrom } from "./src/framework/build/streams/plugin.ts";
import { ENTRY_POINTS } from "./tools/entry-points.ts";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const inNode = [
  { find: "#platform", replacement: source("./src/testing/inprocess/platform.ts") },
  ...Object.entries(ENTRY_POINTS).map(([name, path]) => ({
    find: new RegExp(`^everthink${name === "index" ? "" : `/${name}`}$`),
    replacement: source(`./${path}`)
  }))
];

/** As `fastStreams()`, from the sources. */
const { transform } = pluginOf(streamsFrom(source("./src/framework/build/streams/index.ts")));
const fastStreamsOfSource = { name: "fast-streams-of-source", enforce: "pre" as const, transform };

/** The project that is written for the original, as if `everthink migrate` had moved it. */
const MOVED_IMPORTS: Readonly<Record<string, string>> = {
  "@cloudflare/think": source("./src/index.ts"),
  agents: source("./src/agent-class/index.ts"),
  "agents/agent-tools": source("./src/features/agent-tools/index.ts")
};
const movedProject = {
  name: "moved-project",
  enforce: "pre" as const,
  resolveId: (specifier: string, importer: string | undefined) =>
    importer?.includes("/test/takeover/project/") ? MOVED_IMPORTS[specifier] : undefined
};

/** No test waits for time: past this it hangs. Files whose runs are long say so, and why, with `vi.setConfig`. */
const PATIENCE_MS = 20_000;
/** On every core (Vitest would leave one to itself, half of a small machine). What needs the machine runs afterwards. */
const inParallel = { maxWorkers: availableParallelism(), sequence: { groupOrder: 0 } };
/** These start processes and browsers, build projects and wait out real back-offs, several of each in one test. */
const PROCESS_PATIENCE_MS = 120_000;
/** A real browser or alarm on a busy machine can miss a moment. CI tries once more and prints "(retry x1)"; elsewhere it fails. */
const REAL_TIME_RETRIES = process.env["CI"] ? 1 : 0;

export default defineConfig({
  test: {
    projects: [
      {
        // Pure tables, properties and the in-process host.
        resolve: { alias: inNode },
        // The example has skills.
        plugins: [skillsImport(), movedProject],
        test: {
          name: "node",
          include: [
            "src/**/*.test.ts",
            "test/node/**/*.test.ts",
            "test/chaos/*.test.ts",
            "test/budgets/*.test.ts",
            "test/docs/**/*.test.ts",
            "tools/**/*.test.ts",
            "bench/*.test.ts",
            "examples/**/*.test.ts",
            "studio/*.test.ts",
            "site/*.test.ts"
          ],
          testTimeout: PATIENCE_MS,
          // tools/crashes.ts disturbs the scripts of these tests further.
          ...(process.env["EVERTHINK_CRASHES"] && { setupFiles: ["./test/crashes/setup.ts"] }),
          ...inParallel
        }
      },
      {
        // The same turns on the previous major of the AI SDK.
        resolve: { alias: [...inNode, { find: /^ai$/, replacement: "ai6" }] },
        test: {
          name: "node-ai6",
          env: { AI_MAJOR: "6" },
          include: [
            "src/turn/**/*.test.ts",
            "src/features/workspace/tools/tools.test.ts",
            "test/node/{think,workspace,skills,tool-discovery}.test.ts",
            "test/node/recovery-answers.test.ts",
            "test/node/{call-ids,overflow,overflow-guard,provider-requests,provider-values,stall,transient,turn-exceptions}.test.ts",
            "test/node/{open-calls,open-calls-ended,forged-frames}.test.ts",
            "test/node/{models,models-crash,models-hedge}.test.ts"
          ],
          testTimeout: PATIENCE_MS,
          ...inParallel
        }
      },
      {
        // The same turns with the streams that `everthink/build` gives the SDK.
        resolve: { alias: inNode },
        plugins: [fastStreamsOfSource],
        test: {
          name: "node-fast-streams",
          include: ["src/turn/**/*.test.ts", "test/node/{think,recovery-answers,stall}.test.ts"],
          server: { deps: { inline: [/node_modules[\\/]ai[\\/]/] } },
          testTimeout: PATIENCE_MS,
          ...inParallel
        }
      },
      {
        // The same promises inside workerd.
        resolve: { alias: { "#platform": source("./src/host/workerd/platform.ts") } },
        plugins: [cloudflareTest({ wrangler: { configPath: "./test/workers/wrangler.jsonc" } })],
        test: {
          name: "workers",
          include: ["test/workers/**/*.test.ts"],
          isolate: false,
          testTimeout: PATIENCE_MS,
          retry: REAL_TIME_RETRIES,
          sequence: { groupOrder: 1 }
        }
      },
      {
        // Real processes: workerd serve, published clients, SIGKILL, the packed package.
        test: {
          name: "process",
          include: [
            "test/process/**/*.test.ts",
            "test/package/**/*.test.ts",
            "test/browser/**/*.test.ts",
            "test/assistant/**/*.test.ts",
            "test/chaos/process/**/*.test.ts"
          ],
          testTimeout: PROCESS_PATIENCE_MS,
          hookTimeout: PROCESS_PATIENCE_MS,
          retry: REAL_TIME_RETRIES,
          fileParallelism: false,
          sequence: { groupOrder: 2 }
        }
      }
    ]
  }
});
