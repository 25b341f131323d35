// What workflows and their agent tell each other, with the platform's side in the test's hands.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import { AgentWorkflow, type AgentWorkflowEvent, type AgentWorkflowStep } from "../../src/features/workflows/index.ts";
import { subscribe, type AgentEvent } from "../../src/observe/index.ts";
import { createTestHost, type TestHost } from "../../src/testing/index.ts";
import { Importer, Library, type Command } from "../conformance/workflow-agents.ts";
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

const retryable = (message: string) => Object.assign(new Error(message), { retryable: true });

// ── Reports ──

test("every report arrives, in order, with the agent's context, and the end is that of run", async () => {
  const { entries, library, platform, id } = await play([
    ["progress", { percent: 50 }],
    ["event", "note this"],
    ["call", "direct"],
    ["set", { shelf: "a", count: 1 }],
    ["merge", { count: 2 }]
  ]);
  expect(entries.slice(0, 3)).toEqual([
    'progress:IMPORTER:w:{"percent":50}',
    'event:IMPORTER:w:"note this"',
    "note:direct"
  ]);
  expect(entries[3]).toContain('complete:IMPORTER:w:{"answer":"noted direct by l"');
  expect(await library.shelf()).toEqual({ shelf: "a", count: 2 });
  expect(platform.instance(id).status).toBe("complete");
});

test("clients of the agent see broadcasts and changes of state", async () => {
  const { host } = open();
  const client = await host.connect("/agents/library/l");
  await host.idle();
  const before = client.frames.length;
  await (
    await host.get(Library, "l")
  ).start([
    ["broadcast", { type: "hello" }],
    ["broadcast", '{"type":"text"}'],
    ["set", { shelf: "full", count: 9 }],
    ["reset"]
  ]);
  await host.idle();
  expect(client.frames.slice(before)).toEqual([
    { type: "hello" },
    { type: "text" },
    { type: "cf_agent_state", state: { shelf: "full", count: 9 } },
    { type: "cf_agent_state", state: { shelf: "empty", count: 0 } }
  ]);
});

test("a run that throws is reported as an error and still fails", async () => {
  const { entries, library, platform, id } = await play([["throw", "no such book"]]);
  expect(entries).toEqual(['error:IMPORTER:w:"no such book"']);
  expect(await library.tracked(id)).toMatchObject({ status: "errored", error: "no such book" });
  expect(platform.instance(id)).toMatchObject({ status: "errored", error: "no such book" });
});

test("the first end counts: later progress and a second end change nothing and reach no hook, events still do", async () => {
  const { entries, library, id } = await play([
    ["complete", "done"],
    ["progress", "late"],
    ["error", "after all"],
    ["event", "afterwards"],
    ["throw", "at the end"]
  ]);
  expect(entries).toEqual(['complete:IMPORTER:w:"done"', 'event:IMPORTER:w:"afterwards"']);
  expect(await library.tracked(id)).toMatchObject({ status: "complete", error: null });
});

test("a report whose answer was lost is made again and not taken again", async () => {
  const { host, platform } = open();
  const lost = new Set<string>();
  platform.beforeRecord = (step) => {
    if (lost.has(step)) return;
    lost.add(step);
    throw new Error("Network connection lost.");
  };
  const client = await host.connect("/agents/library/l");
  await host.idle();
  const before = client.frames.length;
  const library = await host.get(Library, "l");
  await library.start(
    [
      ["progress", 1],
      ["progress", 2],
      ["event", 3],
      ["merge", { count: 4 }],
      ["broadcast", { type: "once" }],
      ["complete", 5]
    ],
    { id: "w" }
  );
  await host.idle();
  expect(platform.attempts).toHaveLength(12);
  expect(await library.entries()).toEqual(
    [1, 2].map((n) => `progress:IMPORTER:w:${n}`).concat("event:IMPORTER:w:3", "complete:IMPORTER:w:5")
  );
  expect(client.frames.slice(before).map((frame) => (frame as { type: string }).type)).toEqual([
    "cf_agent_state",
    "once"
  ]);
});

test("a hook that fails is called again by the workflow's step", async () => {
  const { entries, platform } = await play([
    ["progress", "fail once"],
    ["complete", "fail once"]
  ]);
  expect(entries).toEqual(
    ["progress", "complete"].flatMap((hook) => [
      `failed ${hook}:IMPORTER:w:"fail once"`,
      `${hook}:IMPORTER:w:"fail once"`
    ])
  );
  expect(platform.attempts).toEqual(["agent:progress:1", "agent:progress:1", "agent:complete:1", "agent:complete:1"]);
});

test("onError that returns has handled a failing hook, and the report counts as taken", async () => {
  class Tolerant extends Library {
    override onError() {}
  }
  const platform = new WorkflowPlatform(Importer);
  const host = createTestHost({ agents: { Tolerant }, env: { IMPORTER: platform.binding } });
  platform.host = host as TestHost<unknown>;
  const library = await host.get(Tolerant, "l");
  await library.start([["progress", "fail once"]], { id: "w" });
  await host.idle();
  expect(platform.attempts).toEqual(["agent:progress:1", "agent:complete:1"]);
});

test("a retry that arrives while the first is still being taken waits for it", async () => {
  const started: string[] = [];
  const gate = Promise.withResolvers<void>();
  class Slow extends Library {
    override async onWorkflowProgress(_workflowName: string, workflowId: string) {
      started.push(workflowId);
      await gate.promise;
    }
  }
  class Impatient extends AgentWorkflow<Slow> {
    override async run(_event: AgentWorkflowEvent, step: AgentWorkflowStep) {
      await Promise.all([step.reportProgress(1, { name: "same" }), step.reportProgress(1, { name: "same" })]);
    }
  }
  const platform = new WorkflowPlatform(Impatient);
  const host = createTestHost({ agents: { Slow }, env: { IMPORTER: platform.binding } });
  platform.host = host as TestHost<unknown>;
  await (await host.get(Slow, "l")).start([], { id: "w" });
  await host.idle();
  expect([started, platform.instance("w").status]).toEqual([["w"], "running"]);
  gate.resolve();
  await host.idle();
  expect([started, platform.instance("w").status]).toEqual([["w"], "complete"]);
});

test.each<[string, Command[]]>([
  ["a state that validateStateChange refuses", [["set", { shelf: "forbidden", count: 0 }]]],
  ["a merge into it", [["merge", { shelf: "forbidden" }]]]
])("%s fails the workflow at once, without retries, and changes nothing", async (_name, plan) => {
  const { platform, library, id } = await play(plan);
  expect(platform.instance(id)).toMatchObject({
    status: "errored",
    error: expect.stringContaining("not on this shelf")
  });
  expect(platform.attempts).toHaveLength(2);
  expect(await library.shelf()).toEqual({ shelf: "empty", count: 0 });
});

test("what a forgotten workflow still reports is refused without retries", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  vi.spyOn(console, "error").mockReturnValue();
  await library.start(
    [
      ["wait", "go"],
      ["progress", 1]
    ],
    { id: "w" }
  );
  await library.forget("w");
  await library.send("w", "go", null);
  await host.idle();
  expect(platform.instance("w")).toMatchObject({ status: "errored", error: expect.stringContaining("does not track") });
  expect(platform.attempts).toEqual(["agent:progress:1", "agent:error:1"]);
  expect(await library.entries()).toEqual([]);
});

test("a report reaches an agent that was evicted or restarted meanwhile, and the stub still works", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  await library.start(
    [
      ["call", "before"],
      ["wait", "go"],
      ["call", "after"],
      ["progress", 1]
    ],
    { id: "w" }
  );
  await host.evictAll();
  await (await host.get(Library, "l")).send("w", "go", "payload");
  await host.idle();
  expect(platform.instance("w").status).toBe("complete");
  const entries = await (await host.get(Library, "l")).entries();
  expect(entries.slice(0, 3)).toEqual(["note:before", "note:after", "progress:IMPORTER:w:1"]);
});

test("a workflow that no agent started says so", async () => {
  const { platform } = open();
  await platform.binding.create({ id: "w", params: { plan: [] } });
  await platform.host?.idle();
  expect(platform.instance("w")).toMatchObject({ status: "errored", error: "Importer was not started by an agent." });
});

test("a class that extends another workflow calls super.run with what it was given", async () => {
  class Twice extends Importer {
    override async run(
      event: AgentWorkflowEvent<{ plan: Command[] }>,
      step: AgentWorkflowStep<unknown, { shelf: string; count: number }>
    ) {
      await super.run(event, step);
      return super.run({ ...event, payload: { plan: [["progress", 2]] } }, step);
    }
  }
  // Both classes have been constructed, so both have been prepared.
  await play([]);
  const { host, platform } = open(Twice);
  const library = await host.get(Library, "l");
  await library.start([["progress", 1]], { id: "w" });
  await host.idle();
  expect((await library.entries()).map((entry) => entry.split(":")[0])).toEqual(["progress", "progress", "complete"]);
  expect(platform.instance("w").status).toBe("complete");
});

// ── Sub-agents ──

test("a workflow started by a sub-agent reports to that sub-agent only", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  const plan: Command[] = [
    ["progress", 1],
    ["call", "hi"],
    ["set", { shelf: "deep", count: 3 }]
  ];
  const id = await library.below(["a/b", "l"], "start", plan, { id: "w" });
  await host.idle();
  expect(platform.instance("w").status).toBe("complete");
  expect(await library.below(["a/b", "l"], "entries")).toEqual([
    "progress:IMPORTER:w:1",
    "note:hi",
    expect.stringContaining('complete:IMPORTER:w:{"answer":"noted hi by l"')
  ]);
  expect(await library.below(["a/b", "l"], "shelf")).toEqual({ shelf: "deep", count: 3 });
  expect(await library.below(["a/b", "l"], "tracked", id)).toMatchObject({ status: "complete" });
  expect([await library.entries(), await library.below(["a/b"], "entries")]).toEqual([[], []]);
  expect([await library.shelf(), await library.tracked("w")]).toEqual([{ shelf: "empty", count: 0 }, undefined]);
});

test("a workflow whose sub-agent was deleted is refused, and the sub-agent is not created again", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  vi.spyOn(console, "error").mockReturnValue();
  await library.below(
    ["child"],
    "start",
    [
      ["wait", "go"],
      ["progress", 1]
    ],
    { id: "w" }
  );
  await library.dropChild("child");
  await library.send("w", "go", null);
  await host.idle();
  expect(platform.instance("w").error).toContain("the sub-agent was deleted");
  expect(host.sql(Library, "l", "SELECT * FROM cf_children")).toEqual([]);
});

// ── Events ──

test("an event reaches the workflow that waits for it, and is an event of ours", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  await library.start([["wait", "approved"]], { id: "w" });
  await library.send("w", "approved", "by Ada");
  await host.idle();
  expect(platform.instance("w").output).toMatchObject({ answer: "by Ada" });
  expect(events.at(-1)).toMatchObject({ type: "workflow:event", payload: { workflowId: "w", eventType: "approved" } });
});

test("sending is tried three times, at most 3 s apart, and only for errors the platform calls retryable", async () => {
  const { host, platform } = open();
  const library = await host.get(Library, "l");
  await library.start([["wait", "go"]], { id: "w" });
  platform.faults.get.push(retryable("later"));
  platform.faults.sendEvent.push(retryable("later"));
  const third = library.send("w", "go", 3);
  await host.advance(6_000);
  await third;
  platform.faults.sendEvent.push(retryable("one"), retryable("two"), retryable("three"));
  const failed = expect(library.send("w", "x", 0)).rejects.toThrow("three");
  await host.advance(6_000);
  await failed;
  platform.faults.sendEvent.push(new Error("final"), new Error("never reached"));
  await expect(library.send("w", "x", 0)).rejects.toThrow("final");
  expect(platform.faults.sendEvent).toHaveLength(1);
  await expect(library.send("unknown", "x", 0)).rejects.toThrow("instance.not_found");
  expect(events.filter(({ type }) => type === "workflow:event")).toHaveLength(1);
});

test("the base class's hooks do nothing", async () => {
  class Plain extends Agent {
    start() {
      return this.runWorkflow("IMPORTER", {
        plan: [
          ["progress", 1],
          ["event", 2]
        ]
      });
    }
  }
  const platform = new WorkflowPlatform(Importer);
  const host = createTestHost({ agents: { Plain }, env: { IMPORTER: platform.binding } });
  platform.host = host as TestHost<unknown>;
  const id = await (await host.get(Plain, "p")).start();
  await host.idle();
  expect(platform.instance(id).status).toBe("complete");
});
