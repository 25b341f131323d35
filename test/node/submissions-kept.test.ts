// What stays known of submissions, until when, and what they cost.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestHost } from "../../src/testing/index.ts";
import {
  Clerk,
  clerkOf,
  echo,
  eventsOf,
  gatedAt,
  open,
  Quiet,
  said,
  scene,
  statusOf,
  submitted
} from "./submissions-kit.ts";
import { user } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

describe("what is known of them", () => {
  test("a list is the newest of all wanted statuses; deleting spares what is not over, also when asked to", async () => {
    const { gate, steps } = gatedAt("c");
    const host = open(steps);
    await submitted(host, "a", "b", "c", "d", "e");
    await gate.reached;
    const agent = await clerkOf(host);
    await agent.cancelSubmission("e");
    const ids = async (options: Parameters<Clerk["listSubmissions"]>[0]) =>
      (await agent.listSubmissions(options)).map(({ submissionId }) => submissionId);
    expect(await ids({})).toEqual(["e", "d", "c", "b", "a"]);
    expect(await ids({ status: ["completed", "pending"], limit: 2 })).toEqual(["d", "b"]);
    expect(await ids({ status: "running" })).toEqual(["c"]);
    expect(await agent.deleteSubmission("d")).toBe(false);
    expect(await agent.deleteSubmissions({ status: ["pending", "running"] })).toBe(0);
    expect(await agent.deleteSubmissions({ completedBefore: new Date(0) })).toBe(0);
    expect(await agent.deleteSubmissions({ limit: 1 })).toBe(1);
    expect(await ids({})).toEqual(["e", "d", "c", "b"]);
    expect(await agent.deleteSubmissions()).toBe(2);
    gate.open();
    await host.idle();
    expect(await ids({})).toEqual(["d", "c"]);
  });

  test("submissions are accepted, run and numbered on after the newest was deleted", async () => {
    const host = open();
    const agent = await clerkOf(host);
    const { submissionId } = await agent.submitText("one");
    await host.idle();
    await agent.deleteSubmission(submissionId);
    const next = await agent.submitText("two");
    await host.idle();
    expect(await agent.inspectSubmission(next.submissionId)).toMatchObject({ status: "completed" });
  });

  test("each change of status is an event and a call of the hook, in order", async () => {
    const host = open();
    await submitted(host, "a");
    await host.idle();
    expect(scene.statuses).toEqual(["a pending", "a running", "a completed"]);
    expect(eventsOf("submission:")).toEqual([
      "submission:create a",
      "submission:status a running",
      "submission:status a completed"
    ]);
  });

  test("the hook is not part of the turn that it is told of: it may wait for a turn of its own", async () => {
    const host = open(echo, {
      status: async ({ submissionId, status }, agent) => {
        if (submissionId === "a" && status === "completed") await agent.say("follow-up");
      }
    });
    await submitted(host, "a");
    await host.idle();
    expect((await said(host)).slice(-2)).toEqual(["user: follow-up", "assistant: re follow-up"]);
    expect(console.error).not.toHaveBeenCalled();
  });

  test("metadata that cannot be read is left out; a request that cannot be read is an error, and the next one runs", async () => {
    const { gate, steps } = gatedAt("a");
    const host = open(steps);
    await submitted(host, "a", "b", "c");
    await gate.reached;
    host.sql(Clerk, "a", "UPDATE cf_submissions SET request = '{', metadata = '{' WHERE id = 'b'");
    gate.open();
    await host.idle();
    const broken = await (await clerkOf(host)).inspectSubmission("b");
    expect([broken?.status, broken?.metadata]).toEqual(["error", undefined]);
    expect(broken?.error).toContain("cannot be read");
    expect(await statusOf(host, "c")).toBe("completed");
  });

  test("old submissions are forgotten when the agent starts, if the class says after how long", async () => {
    const host = open(echo, { retentionMs: 60_000 });
    await submitted(host, "a");
    await host.advance(61_000);
    await submitted(host, "b");
    await host.idle();
    await host.restart();
    const left = await (await clerkOf(host)).listSubmissions();
    expect(left.map(({ submissionId }) => submissionId)).toEqual(["b"]);
  });

  test("the inspector shows the turn of a submission as that of any other, and no more after a clear", async () => {
    const host = open();
    await submitted(host, "a");
    await host.idle();
    const agent = await clerkOf(host);
    const turns = async () => (await agent.readJournal()).entries.flatMap(({ turn }) => (turn ? [turn] : []));
    expect(await turns()).toMatchObject([{ requestId: "a", trigger: "submission", outcome: "completed" }]);
    await agent.clearMessages();
    expect(await turns()).toEqual([]);
    expect(await statusOf(host, "a")).toBe("completed");
  });
});

test("the journal has the turns of submissions in order, from any place, also past cancelled and deleted ones", async () => {
  const { gate, steps } = gatedAt("hold");
  const host = open(steps);
  const agent = await clerkOf(host);
  for (let index = 0; index < 12; index += 1) {
    await submitted(host, `s${index}`);
    await host.idle();
    if (index % 3 === 0) await agent.say(`chat ${index}`);
  }
  await agent.deleteSubmission("s4");
  await submitted(host, "hold", "never", "waits");
  await gate.reached;
  await agent.cancelSubmission("never");
  const turnsFrom = async (after: number) =>
    (await agent.readJournal({ after, limit: 500 })).entries.flatMap(({ turn, position }) =>
      turn ? [{ position, requestId: turn.requestId, isSubmission: turn.trigger === "submission" }] : []
    );
  const all = await turnsFrom(0);
  const submissions = all.filter(({ isSubmission }) => isSubmission);
  const kept = Array.from({ length: 12 }, (_, index) => `s${index}`).filter((id) => id !== "s4");
  expect(submissions.map(({ requestId }) => requestId)).toEqual(kept);
  expect(all.length).toBe(kept.length + 4);
  for (const [index, { position }] of all.entries()) {
    expect(await turnsFrom(position)).toEqual(all.slice(index + 1));
    expect(await turnsFrom(position - 1)).toEqual(all.slice(index));
  }
  gate.open();
});

describe("cost", () => {
  test("a submission writes one row more than a chat turn; its key, one more", async () => {
    open();
    const host = createTestHost({ agents: { Quiet } });
    const agent = await host.get(Quiet, "a");
    await agent.submitText("warm up", { idempotencyKey: "w" });
    await host.idle();
    const written = async (work: () => Promise<unknown>) => {
      const before = host.counts.rowsWritten;
      await work();
      await host.idle();
      return host.counts.rowsWritten - before;
    };
    const socket = await host.connect("/agents/quiet/a");
    await host.idle();
    const chat = await written(async () => {
      sendChat(socket, "chat", [user("u-chat", "chat")]);
    });
    expect(chat).toBe(7);
    expect(await written(() => agent.submitText("two"))).toBe(8);
    expect(await written(() => agent.submitText("three", { idempotencyKey: "k" }))).toBe(9);
    expect(host.sql(Quiet, "a", "SELECT name FROM sqlite_master WHERE name = 'cf_work'")).toEqual([]);
  });

  test("a list reads the rows that it returns, and a client that connects is sent the newest twenty", async () => {
    const host = open();
    await submitted(host, ...Array.from({ length: 40 }, (_, index) => `s${index}`));
    await host.idle();
    const agent = await clerkOf(host);
    const before = host.counts.rowsRead;
    expect((await agent.listSubmissions({ limit: 5 })).map(({ submissionId }) => submissionId)).toEqual([
      "s39",
      "s38",
      "s37",
      "s36",
      "s35"
    ]);
    expect(host.counts.rowsRead - before).toBeLessThanOrEqual(5);
    const socket = await host.connect("/agents/clerk/a");
    await host.idle();
    const sent = (socket.frames as { type: string; submissions?: object[] }[]).filter(
      ({ type }) => type === "cf_agent_submissions"
    );
    expect(sent.map(({ submissions }) => submissions?.length)).toEqual([20]);
  });

  test("an agent without submissions has no table for them and arms no alarm", async () => {
    const host = open();
    const agent = await clerkOf(host);
    expect(await agent.listSubmissions()).toEqual([]);
    expect(await agent.inspectSubmission("a")).toBeNull();
    await host.idle();
    expect(host.alarm(Clerk, "a")).toBeNull();
    expect(host.sql(Clerk, "a", "SELECT name FROM sqlite_master WHERE name LIKE 'cf_submission%'")).toEqual([]);
  });
});
