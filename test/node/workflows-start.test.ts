// How a workflow is started and tracked, with the platform's side in the test's hands.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ORIGIN_KEY } from "../../src/features/workflows/origin.ts";
import { AgentWorkflow, type AgentWorkflowEvent } from "../../src/features/workflows/index.ts";
import { WORKFLOW_LIMIT } from "../../src/features/workflows/workflow-table.ts";
import { subscribe, type AgentEvent } from "../../src/observe/index.ts";
import { createTestHost, type TestHost } from "../../src/testing/index.ts";
import { Importer, Library } from "../conformance/workflow-agents.ts";
import { open, play } from "./workflow-library.ts";
import { WorkflowPlatform } from "./workflow-platform.ts";

let events: AgentEvent[] = [];
let stop = () => {};
beforeEach(() => {
  events = [];
  stop = subscribe("workflow", (event) => void events.push(event));
});
afterEach(() => {
  stop();
  vi.restoreAllMocks();
});

test("an id is wf_ and random unless given, and the start is an event", async () => {
  const { host } = open();
  const library = await host.get(Library, "l");
  const first = await library.start([]);
  const second = await library.start([]);
  expect(first).toMatch(/^wf_[\w-]{21}$/);
  expect(second).not.toBe(first);
  expect(events.map(({ type, agent, name, payload }) => ({ type, agent, name, payload }))).toEqual(
    [first, second].map((workflowId) => ({
      type: "workflow:start",
      agent: "Library",
      name: "l",
      payload: { workflowId, workflowName: "IMPORTER" }
    }))
  );
});

test("params carry the agent's identity under one key, which the workflow's code never sees", async () => {
  const { platform, library, id, entries } = await play([]);
  const { [ORIGIN_KEY]: origin, ...params } = platform.instance(id).params as Record<string, unknown>;
  expect(params).toEqual({ plan: [] });
  expect(origin).toEqual({
    agentName: "l",
    agentClass: "Library",
    agentBinding: "Library",
    agentId: expect.any(String),
    path: [{ className: "Library", name: "l" }],
    workflowName: "IMPORTER"
  });
  expect(entries).toEqual([
    `complete:IMPORTER:w:${JSON.stringify({ answer: null, params: ["plan"], id: "w", name: "IMPORTER" })}`
  ]);
  expect(await library.tracked(id)).toMatchObject({ status: "complete" });
});

test.each([["text"], [7], [null], [undefined], [[1, 2]]])(
  "params of any kind arrive as they were: %j",
  async (params) => {
    const received: unknown[] = [];
    class Keeper extends AgentWorkflow<Library> {
      override async run(event: AgentWorkflowEvent) {
        received.push(event.payload);
      }
    }
    const { host } = open(Keeper);
    await (await host.get(Library, "l")).startWith("IMPORTER", params);
    await host.idle();
    expect(received).toEqual([params]);
  }
);

test.each(["MISSING", "VARIABLE", "Library", "toString"])(
  "%s is no workflow binding, and the error names it",
  async (name) => {
    const { host } = open();
    const library = await host.get(Library, "l");
    await expect(library.startWith(name, {})).rejects.toThrow(`no workflow binding "${name}"`);
    expect(host.sql(Library, "l", "SELECT * FROM cf_workflows")).toEqual([]);
  }
);

test("an id that is tracked is refused, also while it is being created", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  const results = await Promise.allSettled([library.start([], { id: "w" }), library.start([], { id: "w" })]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  await expect(library.start([], { id: "w" })).rejects.toThrow("already being tracked");
  expect(platform.instances.size).toBe(1);
});

test("the record is there, queued, before the platform is asked", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  const seen: unknown[] = [];
  const { create } = platform.binding;
  platform.binding.create = async (options) => {
    seen.push(...host.sql(Library, "l", "SELECT id, workflow, status, is_created, metadata FROM cf_workflows"));
    return create(options);
  };
  await library.start([], { id: "w", metadata: { for: "Ada" } });
  expect(seen).toEqual([{ id: "w", workflow: "IMPORTER", status: "queued", is_created: 0, metadata: '{"for":"Ada"}' }]);
  expect(await library.tracked("w")).toMatchObject({ isCreated: true, metadata: '{"for":"Ada"}' });
});

test("a start the platform refuses leaves no record; one whose answer is lost keeps it, and the same id tries again", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  platform.faults.create.push(new Error("invalid params"), new Error("Network connection lost."));
  await expect(library.start([], { id: "w" })).rejects.toThrow("invalid params");
  expect(await library.tracked("w")).toBeUndefined();
  await expect(library.start([], { id: "w" })).rejects.toThrow("Network connection lost.");
  expect(await library.tracked("w")).toMatchObject({
    status: "queued",
    isCreated: false,
    error: "Network connection lost."
  });
  expect(await library.start([], { id: "w" })).toBe("w");
  await host.idle();
  expect(await library.tracked("w")).toMatchObject({ status: "complete", isCreated: true, error: null });
  expect(events).toHaveLength(1);
});

test("metadata that is too large is refused before anything is stored", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  await expect(library.start([], { metadata: "x".repeat(20_000) })).rejects.toThrow("too large");
  expect([platform.instances.size, host.sql(Library, "l", "SELECT * FROM cf_workflows").length]).toEqual([0, 0]);
});

test("at the limit the oldest records that have ended make room; when none has, the start is refused", async () => {
  const { host } = open();
  const library = await host.get(Library, "l");
  await library.start([["wait", "never"]], { id: "open" });
  host.sql(
    Library,
    "l",
    `INSERT INTO cf_workflows (id, workflow, status, settled_by, created_at, updated_at)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     SELECT 'old' || i, 'IMPORTER', 'complete', 's', 0, 0 FROM n`,
    WORKFLOW_LIMIT - 1
  );
  await library.start([["wait", "never"]], { id: "next" });
  const ids = host.sql<{ id: string }>(Library, "l", "SELECT id FROM cf_workflows ORDER BY seq").map(({ id }) => id);
  expect(ids).toHaveLength(WORKFLOW_LIMIT);
  expect([ids[0], ids[1], ids.at(-1)]).toEqual(["open", "old2", "next"]);
  host.sql(Library, "l", "UPDATE cf_workflows SET status = 'running', settled_by = NULL");
  await expect(library.start([])).rejects.toThrow(`already tracks ${WORKFLOW_LIMIT} workflows`);
  expect(await library.forget("old2")).toBe(true);
  expect(await library.forget("old2")).toBe(false);
  await library.start([]);
});

test("a class without binding or export of its own name is found by agentBinding, and asked for it otherwise", async () => {
  const platform = new WorkflowPlatform(Importer);
  const host = createTestHost({ agents: { BOOKS: Library }, env: { IMPORTER: platform.binding } });
  platform.host = host as TestHost<unknown>;
  const library = await host.get(Library, "l");
  await library.start([["progress", 1]], { id: "w", agentBinding: "BOOKS" });
  await host.idle();
  expect((await library.entries())[0]).toBe("progress:IMPORTER:w:1");
  // The export is enough for the agent; this workflow's Worker has no exports.
  vi.spyOn(console, "error").mockReturnValue();
  await library.start([], { id: "lost" });
  await host.idle();
  expect(platform.instance("lost").error).toContain('no binding or export for the agent class "Library"');
});
