// The demo as the framework sees it.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createThinkViteWorkerConfigResult } from "../../src/framework/vite/index.ts";

const root = fileURLToPath(new URL("../../examples/assistant", import.meta.url));

test("the demo's classes and migration keep the names under which conversations are stored", () => {
  const { manifest, workerConfig, diagnostics } = createThinkViteWorkerConfigResult(root);
  expect(diagnostics).toEqual([]);
  expect(Object.fromEntries(manifest.agents.map(({ id, className }) => [id, className]))).toEqual({
    assistant: "Assistant",
    "assistant/critic": "Critic",
    "assistant/researcher": "Researcher",
    directory: "Directory"
  });
  expect(workerConfig.migrations).toEqual([{ tag: "v1", new_sqlite_classes: ["Assistant", "Directory"] }]);
});
