// What an agent does with the workflows it has started, and with its schedules and mails, by the names that code of the
// original calls.
import { afterEach, expect, test, vi } from "vitest";
import { Agent, type IncomingEmail, type OutgoingEmail, type WorkflowQuery } from "../../src/agent-class/index.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import { createTestHost, type TestHost } from "../../src/testing/index.ts";
import { AgentWorkflow, type AgentWorkflowEvent, type AgentWorkflowStep } from "../../src/features/workflows/index.ts";
import { WorkflowPlatform } from "./workflow-platform.ts";

afterEach(() => void vi.restoreAllMocks());

let events: AgentEvent[] = [];
let mails: OutgoingEmail[] = [];

class Office extends Agent {
  override observability = { emit: (event: AgentEvent) => void events.push(event) };
  override deliverEmail = async (email: OutgoingEmail) => void mails.push(email);
  readonly ends: string[] = [];
  start(id: string, metadata?: object) {
    return this.runWorkflow("REQUEST", { id }, { id, ...(metadata && { metadata }) });
  }
  override onWorkflowComplete(_name: string, id: string, result: unknown) {
    this.ends.push(`${id} complete ${JSON.stringify(result)}`);
  }
  override onWorkflowError(_name: string, id: string, error: string) {
    this.ends.push(`${id} error ${error}`);
  }
  /** As code of the original calls them: without a promise. */
  look(query?: WorkflowQuery) {
    const { workflows, total, nextCursor } = this.getWorkflows(query);
    return { ids: workflows.map(({ workflowId }) => workflowId), total, nextCursor };
  }
  statusOf(id: string) {
    return this.getWorkflow(id)?.status;
  }
  ask(id: string) {
    return this.getWorkflowStatus("REQUEST", id) as Promise<{ status: string }>;
  }
  forget(before: number) {
    return this.deleteWorkflows({ status: ["complete", "terminated"], createdBefore: before });
  }
  endsSeen() {
    return this.ends;
  }
  async plan() {
    const { id } = await this.schedule(60, "remind", "milk");
    await this.scheduleEvery(600, "remind", "bread");
    const intervals = this.getSchedules({ type: "interval" }).length;
    return { payload: this.getSchedule<string>(id)?.payload, all: this.getSchedules().length, intervals };
  }
  remind() {}
  answer(body: string) {
    const headers = new Headers({ "message-id": "<1@x>", subject: "Hello", references: "<0@x>" });
    const email: IncomingEmail = { from: "ada@example.com", to: "office@example.com", headers };
    return this.replyToEmail(email, { fromName: "Office", body, secret: "s" }) as Promise<void>;
  }
}

class Request extends AgentWorkflow<Office, { id: string }> {
  override async run(event: AgentWorkflowEvent<{ id: string }>, step: AgentWorkflowStep) {
    const approval = await this.waitForApproval<{ by: string }>(step, { timeout: "7 days" });
    return { of: event.payload.id, by: approval?.by };
  }
}

function open() {
  events = [];
  mails = [];
  const platform = new WorkflowPlatform(Request);
  const host = createTestHost({ agents: { Office }, env: { REQUEST: platform.binding } });
  platform.host = host as TestHost<unknown>;
  return { host, platform };
}

const seen = () => events.flatMap(({ type }) => (type.startsWith("workflow:") ? [type] : []));

test("approveWorkflow lets waitForApproval return its metadata; rejectWorkflow makes it throw the reason", async () => {
  const { host, platform } = open();
  const office = await host.get(Office, "o");
  await office.start("yes");
  await office.start("no");
  await host.idle();
  await office.approveWorkflow("yes", { reason: "fine", metadata: { by: "ada" } });
  await office.rejectWorkflow("no", { reason: "too dear" });
  await host.idle();
  expect(platform.instance("yes")).toMatchObject({ status: "complete", output: { of: "yes", by: "ada" } });
  expect(platform.instance("no").status).toBe("errored");
  expect(await office.endsSeen()).toEqual([
    'yes complete {"of":"yes","by":"ada"}',
    "no error The workflow was rejected: too dear"
  ]);
  expect(seen()).toEqual(expect.arrayContaining(["workflow:approved", "workflow:rejected"]));
});

test("pause, resume, terminate and restart reach the platform, and the record follows", async () => {
  const { host, platform } = open();
  const office = await host.get(Office, "o");
  await office.start("w");
  await host.idle();
  await office.pauseWorkflow("w");
  expect([await office.statusOf("w"), platform.instance("w").status]).toEqual(["paused", "paused"]);
  await office.resumeWorkflow("w");
  expect([await office.statusOf("w"), platform.instance("w").status]).toEqual(["running", "running"]);
  await office.terminateWorkflow("w");
  expect([await office.statusOf("w"), platform.instance("w").status]).toEqual(["terminated", "terminated"]);
  await office.restartWorkflow("w");
  expect(await office.statusOf("w")).toBe("queued");
  await host.idle();
  await office.approveWorkflow("w", { metadata: { by: "bob" } });
  await host.idle();
  expect(await office.endsSeen()).toEqual(['w complete {"of":"w","by":"bob"}']);
  expect(seen().slice(1)).toEqual([
    "workflow:paused",
    "workflow:resumed",
    "workflow:terminated",
    "workflow:restarted",
    "workflow:event",
    "workflow:approved"
  ]);
});

test("what a terminated workflow still reports changes nothing", async () => {
  const { host, platform } = open();
  const office = await host.get(Office, "o");
  await office.start("w");
  await host.idle();
  await office.terminateWorkflow("w");
  // The platform of this test lets it go on.
  platform.instance("w").waiting.get("approval")?.({ approved: true });
  await host.idle();
  expect(await office.statusOf("w")).toBe("terminated");
  expect(await office.endsSeen()).toEqual([]);
});

test("getWorkflowStatus asks the platform; an end that it knows first is still reported to the hook", async () => {
  const { host, platform } = open();
  const office = await host.get(Office, "o");
  await office.start("w");
  await host.idle();
  platform.instance("w").status = "paused";
  expect(await office.ask("w")).toEqual({ status: "paused", output: null, error: null });
  expect(await office.statusOf("w")).toBe("paused");
  platform.instance("w").status = "complete";
  expect(await office.ask("w")).toMatchObject({ status: "complete" });
  platform.instance("w").waiting.get("approval")?.({ approved: true });
  await host.idle();
  expect(await office.endsSeen()).toEqual(['w complete {"of":"w"}']);
  await expect(office.ask("unknown")).rejects.toThrow("not_found");
});

test("getWorkflows lists by state, binding and metadata, page by page, newest first", async () => {
  const { host } = open();
  const office = await host.get(Office, "o");
  for (const id of ["a", "b", "c", "d", "e"]) await office.start(id, { even: id === "b" || id === "d", of: id });
  await host.idle();
  await office.terminateWorkflow("c");
  expect(await office.look()).toEqual({ ids: ["e", "d", "c", "b", "a"], total: 5, nextCursor: null });
  const first = await office.look({ limit: 2, orderBy: "asc" });
  expect(first).toMatchObject({ ids: ["a", "b"], total: 5 });
  const second = await office.look({ limit: 2, orderBy: "asc", cursor: first.nextCursor! });
  expect(second.ids).toEqual(["c", "d"]);
  const third = await office.look({ limit: 2, orderBy: "asc", cursor: second.nextCursor! });
  expect(third).toEqual({ ids: ["e"], total: 5, nextCursor: null });
  expect((await office.look({ status: "terminated" })).ids).toEqual(["c"]);
  expect((await office.look({ metadata: { even: true } })).ids).toEqual(["d", "b"]);
  expect((await office.look({ workflowName: "OTHER" })).ids).toEqual([]);
});

test.each([
  { orderBy: "asc", pages: [["a", "b"], ["c", "d"], ["e"]] },
  { orderBy: "desc", pages: [["e", "d"], ["c", "b"], ["a"]] }
] as const)("getWorkflows goes on behind a cursor whose record was deleted meanwhile: $orderBy", async (row) => {
  const { orderBy, pages } = row;
  const { host } = open();
  const office = await host.get(Office, "o");
  for (const id of ["a", "b", "c", "d", "e"]) await office.start(id);
  await host.idle();
  const seen: string[][] = [];
  let cursor: string | undefined;
  do {
    const { ids, nextCursor } = await office.look({ limit: 2, orderBy, ...(cursor !== undefined && { cursor }) });
    seen.push(ids);
    await office.deleteWorkflow(ids.at(-1) ?? "");
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined && seen.length <= pages.length);
  expect(seen).toEqual(pages);
});

test("getWorkflows has nothing behind a cursor that is none", async () => {
  const { host } = open();
  const office = await host.get(Office, "o");
  await office.start("a");
  await host.idle();
  expect(await office.look({ cursor: "page two" })).toEqual({ ids: [], total: 1, nextCursor: null });
});

test("deleteWorkflows forgets those that match, and no other", async () => {
  const { host } = open();
  const office = await host.get(Office, "o");
  for (const id of ["a", "b", "c"]) await office.start(id);
  await host.idle();
  await office.terminateWorkflow("a");
  await host.advance(1_000);
  await office.terminateWorkflow("b");
  expect(await office.forget(host.now + 1)).toBe(2);
  expect((await office.look()).ids).toEqual(["c"]);
  expect(await office.deleteWorkflow("c")).toBe(true);
  expect(await office.deleteWorkflow("c")).toBe(false);
});

test("a workflow that the agent does not track is refused by name", async () => {
  const { host } = open();
  const office = await host.get(Office, "o");
  for (const refused of [office.pauseWorkflow("x"), office.approveWorkflow("x"), office.restartWorkflow("x")]) {
    await expect(refused).rejects.toThrow('does not track a workflow "x"');
  }
});

test("getSchedule and getSchedules answer at once", async () => {
  const { host } = open();
  expect(await (await host.get(Office, "o")).plan()).toEqual({ payload: "milk", all: 2, intervals: 1 });
});

test("replyToEmail answers in the thread, by the class's own function", async () => {
  const { host } = open();
  await (await host.get(Office, "o")).answer("Hi.");
  expect(mails).toEqual([
    {
      to: "ada@example.com",
      from: { name: "Office", email: "office@example.com" },
      subject: "Re: Hello",
      text: "Hi.",
      headers: { "In-Reply-To": "<1@x>", References: "<0@x> <1@x>" },
      secret: "s"
    }
  ]);
});
