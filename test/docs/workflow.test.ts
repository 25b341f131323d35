import { expect, test } from "vitest";
import { createTestHost, type TestHost } from "everthink/testing";
import { WorkflowPlatform } from "../node/workflow-platform.ts";
import { Importer, Library } from "./examples/workflow.ts";

test("the library of the agent page imports after approval and tells its clients", async () => {
  const platform = new WorkflowPlatform(Importer);
  const host = createTestHost({ agents: { Library }, env: { IMPORTER: platform.binding } });
  platform.host = host as TestHost<unknown>;
  const client = await host.connect("/agents/library/main");
  const library = await host.get(Library, "main");
  const workflowId = await library.importFrom("books.txt");
  await host.idle();
  expect(platform.instance(workflowId).status).toBe("running");
  await library.approve(workflowId);
  expect(await client.next("imported")).toEqual({ type: "imported", workflowId, result: 1 });
  expect(client.frames).toContainEqual({ type: "cf_agent_state", state: { imported: 1 } });
});
