// Kills around a submission: what was accepted reaches one end, its messages are in the conversation once, and no wake is
// needed but the object's own.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createGate, everyCrash, reply, stall, text, type Steps } from "../../src/testing/index.ts";
import { asked, Clerk, clerkOf, echo, open, said, scene, statusOf, type Host } from "./submissions-kit.ts";
import { user } from "../kit/messages.ts";
import { never } from "../kit/time.ts";

// Each point boots the agent three times.
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

const settleDown = (host: Host) => host.advance(5 * 60_000);

async function submit(host: Host, id: string): Promise<void> {
  await (await clerkOf(host)).submitMessages([user(`u-${id}`, id)], { submissionId: id });
}

test("one that waits completes after a restart that no client causes", async () => {
  let isHeld = true;
  const host = open((call) => (isHeld ? reply(stall()) : reply(text(`re ${asked(call)}`))));
  await submit(host, "one");
  await submit(host, "two");
  await host.idle();
  isHeld = false;
  await host.restart();
  await settleDown(host);
  expect([await statusOf(host, "one"), await statusOf(host, "two")]).toEqual(["completed", "completed"]);
  expect(await said(host)).toEqual(["user: one", "assistant: re one", "user: two", "assistant: re two"]);
});

test("a kill inside the hook for pending does not keep an accepted submission from running", async () => {
  const host = open(echo, { status: ({ status }) => (status === "pending" ? never() : undefined) });
  const call = submit(host, "a");
  call.catch(() => undefined);
  await host.idle();
  scene.behaviour = {};
  await host.restart();
  await settleDown(host);
  expect(await said(host)).toEqual(["user: a", "assistant: re a"]);
});

test("a kill in beforeTurn ends completed, with one user message", async () => {
  const host = open(echo, { beforeTurn: never });
  await submit(host, "a");
  await host.idle();
  expect(await statusOf(host, "a")).toBe("running");
  scene.behaviour = {};
  await host.restart();
  await settleDown(host);
  expect(await statusOf(host, "a")).toBe("completed");
  expect(await said(host)).toEqual(["user: a", "assistant: re a"]);
});

test("a kill inside the stream leaves it running, and it ends completed in one message", async () => {
  const gate = createGate();
  const host = open([reply(text("Hel"), stall()), reply(gate.wait(), text("lo"))]);
  await submit(host, "a");
  await host.advance(2_000);
  await host.restart();
  await host.advance(31_000);
  expect(await statusOf(host, "a")).toBe("running");
  gate.open();
  await settleDown(host);
  expect(await statusOf(host, "a")).toBe("completed");
  expect(await said(host)).toEqual(["user: a", "assistant: Hello"]);
});

test("a cancel during the recovery of a submission stops it; it stays aborted", async () => {
  const host = open(() => reply(text("Hel"), stall()));
  await submit(host, "a");
  await host.advance(2_000);
  await host.restart();
  await host.advance(31_000);
  await (await clerkOf(host)).cancelSubmission("a");
  await settleDown(host);
  expect(await statusOf(host, "a")).toBe("aborted");
  await host.restart();
  await settleDown(host);
  expect(await statusOf(host, "a")).toBe("aborted");
});

test("one whose admission cannot be read any more ends in an error after one start, and is not run again", async () => {
  const host = open(() => reply(stall()));
  await submit(host, "a");
  await host.idle();
  host.kill();
  host.sql(Clerk, "a", "UPDATE cf_journal SET body = 'damaged' WHERE last = (SELECT min(last) FROM cf_journal)");
  const calls = scene.script.callCount;
  await host.restart();
  await settleDown(host);
  expect(await statusOf(host, "a")).toBe("error");
  expect(scene.script.callCount).toBe(calls);
});

test("a drain that fails is tried again, and what was accepted runs", async () => {
  const host = open();
  const agent = await clerkOf(host);
  await agent.say("first");
  host.sql(Clerk, "a", "CREATE TRIGGER broken BEFORE INSERT ON cf_journal BEGIN SELECT RAISE(ABORT, 'no disk'); END");
  await agent.submitMessages([user("u-a", "a")], { submissionId: "a" });
  await host.advance(500);
  expect(await statusOf(host, "a")).toBe("pending");
  expect(host.alarm(Clerk, "a")).not.toBeNull();
  host.sql(Clerk, "a", "DROP TRIGGER broken");
  await host.advance(60_000);
  expect(await statusOf(host, "a")).toBe("completed");
});

const twice: Steps = (call) => reply(text(`re ${asked(call)}`));

test("killed at any write or await, two submissions and a cancelled one end as if there had been no kill", async () => {
  const { points } = await everyCrash({
    create: () => open(twice),
    script: async (host) => {
      const agent = await clerkOf(host);
      for (const id of ["one", "two", "three"]) {
        await agent.submitMessages([user(`u-${id}`, id)], { submissionId: id, idempotencyKey: `k-${id}` });
      }
      await agent.cancelSubmission("three");
    },
    // A caller whose process died asks again, under the same key.
    finish: async (host) => {
      const agent = await clerkOf(host);
      for (const id of ["one", "two", "three"]) {
        await agent.submitMessages([user(`u-${id}`, id)], { submissionId: id, idempotencyKey: `k-${id}` });
      }
      await settleDown(host);
    },
    inspect: async (host) => {
      const agent = await clerkOf(host);
      const listed = await agent.listSubmissions();
      // Whether the third was cancelled before it ran is decided by when the kill came.
      const ends = listed.map(
        ({ submissionId, status }) => `${submissionId} ${submissionId === "three" ? "ended" : status}`
      );
      const third = listed.find(({ submissionId }) => submissionId === "three")?.status;
      const all = await said(host);
      return {
        ends: ends.sort(),
        isThirdOver: third === "aborted" || third === "completed",
        said: all.filter((line) => !line.includes("three")),
        isThirdOnce: all.filter((line) => line === "user: three").length <= 1
      };
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(20);
});
