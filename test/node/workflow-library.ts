// A host with the library of the conformance agents and the platform that runs its workflows.
import { createTestHost, type TestHost } from "../../src/testing/index.ts";
import { Importer, Library, type Command } from "../conformance/workflow-agents.ts";
import { WorkflowPlatform, type WorkflowClass } from "./workflow-platform.ts";

export function open(workflow: WorkflowClass = Importer) {
  const platform = new WorkflowPlatform(workflow);
  const host = createTestHost({ agents: { Library }, env: { IMPORTER: platform.binding, VARIABLE: "text" } });
  platform.host = host as TestHost<unknown>;
  return { host, platform };
}

/** Runs a plan to its end. */
export async function play(plan: Command[]) {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  const id = await library.start(plan, { id: "w" });
  await host.idle();
  return { host, platform, library, id, entries: await library.entries() };
}
