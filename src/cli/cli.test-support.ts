// A context for commands in tests: in a folder, without a terminal; what is printed goes to the test.
import { fileURLToPath } from "node:url";
import type { CliContext } from "./cli-context.ts";

const besides = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export function testContext(
  given: Pick<CliContext, "cwd" | "print" | "note" | "stream"> & Partial<CliContext>
): CliContext {
  return {
    place: {
      version: "1.2.3",
      startersFolder: besides("../../starters"),
      docsFolder: besides("../../docs"),
      frontWorker: besides("../../dist/serve/front-worker.js"),
      studioFolder: besides("../../dist/studio"),
      agentSkillsFolder: besides("../../agent-skills"),
      partsFolder: besides("../../dist/parts"),
      dependencies: { marked: "1.0.0", "sugar-high": "2.0.0" }
    },
    environment: {},
    signal: new AbortController().signal,
    hurry: new AbortController().signal,
    ...given
  };
}
