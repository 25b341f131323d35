// The bridge between agents and workflows on the platform's own local workflow engine.
import { abortAllDurableObjects, evictAllDurableObjects, introspectWorkflowInstance } from "cloudflare:test";
import { beforeEach, expect, test } from "vitest";
import { getAgentByName } from "../../src/agent-class/index.ts";
import type { Command } from "../conformance/workflow-agents.ts";
import { connect, env, errorOf, plain, sqlOf, uniqueName } from "./world.ts";

// What an earlier test left running must not hold up this one's evictions.
beforeEach(() => abortAllDurableObjects());

async function openLibrary() {
  const name = uniqueName("library");
  const id = uniqueName("wf");
  return { name, id, path: `/agents/books/${name}`, library: await getAgentByName(env.BOOKS, name) };
}

/** Steps fail without pause; the instance is awaited by its status. */
async function watch(id: string) {
  const instance = await introspectWorkflowInstance(env.IMPORTER as Workflow, id);
  await instance.modify((modifier) => modifier.disableRetryDelays());
  return instance;
}

test("a workflow reports to its agent in order, sees only its own params, and ends with what run returned", async () => {
  const { library, name, id } = await openLibrary();
  await using instance = await watch(id);
  expect(
    await library.start(
      [
        ["progress", 1],
        ["call", "hi"],
        ["event", { page: 2 }]
      ],
      { id }
    )
  ).toBe(id);
  await instance.waitForStatus("complete");
  const result = { answer: `noted hi by ${name}`, params: ["plan"], id, name: "IMPORTER" };
  expect(await plain(library.entries())).toEqual([
    `progress:IMPORTER:${id}:1`,
    "note:hi",
    `event:IMPORTER:${id}:{"page":2}`,
    `complete:IMPORTER:${id}:${JSON.stringify(result)}`
  ]);
  expect(await instance.getOutput()).toEqual(result);
  expect(await plain(library.tracked(id))).toMatchObject({ id, status: "complete", isCreated: true, error: null });
  expect(await errorOf(() => library.start([], { id }))).toContain("already being tracked");
});

test("clients of the agent see a workflow's broadcasts and changes of state", async () => {
  const { library, path, id } = await openLibrary();
  const client = await connect(path);
  await client.next("cf_agent_mcp_servers");
  const before = client.frames.length;
  await using instance = await watch(id);
  await library.start(
    [
      ["broadcast", { type: "hello" }],
      ["set", { shelf: "full", count: 8 }],
      ["merge", { count: 9 }],
      ["reset"],
      ["broadcast", '{"type":"end"}']
    ],
    { id }
  );
  await instance.waitForStatus("complete");
  await client.next("end");
  expect(client.frames.slice(before)).toEqual([
    { type: "hello" },
    { type: "cf_agent_state", state: { shelf: "full", count: 8 } },
    { type: "cf_agent_state", state: { shelf: "full", count: 9 } },
    { type: "cf_agent_state", state: { shelf: "empty", count: 0 } },
    { type: "end" }
  ]);
});

test("a hook that fails is called again by the platform's retry, and a run that throws is an error at the agent", async () => {
  const { library, id } = await openLibrary();
  await using instance = await watch(id);
  await library.start(
    [
      ["progress", "fail once"],
      ["throw", "no such book"]
    ],
    { id }
  );
  await instance.waitForStatus("errored");
  expect(await plain(library.entries())).toEqual([
    `failed progress:IMPORTER:${id}:"fail once"`,
    `progress:IMPORTER:${id}:"fail once"`,
    `error:IMPORTER:${id}:"no such book"`
  ]);
  expect(await plain(library.tracked(id))).toMatchObject({ status: "errored", error: "no such book" });
});

test("a refused change of state fails the workflow without a retry, and the first end counts", async () => {
  const { library, id } = await openLibrary();
  await using instance = await watch(id);
  await library.start(
    [
      ["complete", "early"],
      ["progress", "late"],
      ["set", { shelf: "forbidden", count: 0 }]
    ],
    { id }
  );
  await instance.waitForStatus("errored");
  expect((await instance.getError()).message).toContain("not on this shelf");
  expect(await plain(library.entries())).toEqual([`complete:IMPORTER:${id}:"early"`]);
  expect(await plain(library.tracked(id))).toMatchObject({ status: "complete", error: null });
});

test("an event wakes a waiting workflow, whose reports reach an agent that was evicted meanwhile", async () => {
  const { library, name, id } = await openLibrary();
  await using instance = await watch(id);
  await library.start(
    [
      ["progress", "before"],
      ["wait", "approved"],
      ["call", "after"]
    ],
    { id }
  );
  await library.seen(`progress:IMPORTER:${id}:"before"`);
  await evictAllDurableObjects();
  const again = await getAgentByName(env.BOOKS, name);
  await again.send(id, "approved", "by Ada");
  await instance.waitForStatus("complete");
  expect((await plain(again.entries())).slice(0, 2)).toEqual([`progress:IMPORTER:${id}:"before"`, "note:after"]);
  expect(await errorOf(() => again.send("never-was", "approved", null))).toContain("not_found");
});

test("a workflow started by a sub-agent reports to that sub-agent, at any depth, and to no other object", async () => {
  const { library, id } = await openLibrary();
  const path = ["a/b", "c"];
  const plan: Command[] = [
    ["progress", 1],
    ["call", "hi"],
    ["merge", { count: 3 }]
  ];
  await using instance = await watch(id);
  await library.below(path, "start", plan, { id });
  await instance.waitForStatus("complete");
  expect(((await plain(library.below(path, "entries"))) as string[]).slice(0, 2)).toEqual([
    `progress:IMPORTER:${id}:1`,
    "note:hi"
  ]);
  expect(await plain(library.below(path, "shelf"))).toEqual({ shelf: "empty", count: 3 });
  expect(await plain(library.below(path, "tracked", id))).toMatchObject({ status: "complete" });
  expect([await plain(library.entries()), await plain(library.below(["a/b"], "entries"))]).toEqual([[], []]);
  expect(await library.tracked(id)).toBeUndefined();
});

test("a workflow whose sub-agent was deleted is refused, and the sub-agent stays deleted", async () => {
  const { library, id } = await openLibrary();
  await using instance = await watch(id);
  await library.below(
    ["child"],
    "start",
    [
      ["wait", "go"],
      ["progress", 1]
    ],
    { id }
  );
  await library.dropChild("child");
  await library.send(id, "go", null);
  await instance.waitForStatus("errored");
  expect((await instance.getError()).message).toContain("the sub-agent was deleted");
  expect(await sqlOf(library, "SELECT name FROM cf_children")).toEqual([]);
});

test("a workflow that no agent started says so", async () => {
  const id = uniqueName("wf");
  await using instance = await watch(id);
  await env.IMPORTER.create({ id, params: { plan: [] } });
  await instance.waitForStatus("errored");
  expect((await instance.getError()).message).toContain("Importer was not started by an agent.");
});
