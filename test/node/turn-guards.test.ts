// Limits and orders of turns that hold whatever hooks do: each test is named after its promise.
import { afterEach, describe, expect, test, vi } from "vitest";
import { QUEUE_LIMIT } from "../../src/turn/engine.ts";
import { RECOVERY_HOOK_MS } from "../../src/turn/recovery.ts";
import { RESPONSE_LIMIT_MS } from "../../src/turn/settle.ts";
import { createTestHost, reply, stall, text } from "../../src/testing/index.ts";
import { connect, die, endsOf, eventsOf, open, Patient, scene, stored, wake } from "./recovery-kit.ts";
import { ask } from "../kit/frames.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";
import { never } from "../kit/time.ts";

afterEach(() => void vi.restoreAllMocks());

describe("response hooks", () => {
  test("run in the order of their turns: the next one waits until the one before has returned", async () => {
    const first = Promise.withResolvers<void>();
    const host = open([reply(text("one")), reply(text("two")), reply(text("three"))], {
      respond: async ({ requestId }) => {
        scene.effects.push(`${requestId} begins`);
        if (requestId === "r1") await first.promise;
        scene.effects.push(`${requestId} ends`);
      }
    });
    const socket = await connect(host);
    for (const id of ["r1", "r2", "r3"]) ask(socket, id);
    await host.idle();
    // The turns do not wait for hooks.
    expect(["r1", "r2", "r3"].map((id) => endsOf(socket, id))).toEqual([["completed"], ["completed"], ["completed"]]);
    expect(scene.effects).toEqual(["r1 begins"]);
    first.resolve();
    await host.idle();
    expect(scene.effects).toEqual(["r1 begins", "r1 ends", "r2 begins", "r2 ends", "r3 begins", "r3 ends"]);
  });

  test("that a crash kept from running are run in that order too", async () => {
    let isAlive = false;
    const host = open([reply(text("one")), reply(text("two")), reply(text("three"))], {
      respond: async ({ requestId }) => {
        if (!isAlive) return never<void>();
        scene.effects.push(requestId);
      }
    });
    const socket = await connect(host);
    for (const id of ["r1", "r2", "r3"]) ask(socket, id);
    await die(host);
    isAlive = true;
    await wake(host);
    expect(scene.effects).toEqual(["r1", "r2", "r3"]);
  });

  test(`that does not return for ${RESPONSE_LIMIT_MS / 60_000} min counts as run: the next one runs, and no restart calls it again`, async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const host = open([reply(text("one")), reply(text("two"))], {
      respond: async ({ requestId }) => {
        scene.effects.push(requestId);
        if (requestId === "r1") await never<void>();
      }
    });
    const socket = await connect(host);
    for (const id of ["r1", "r2"]) ask(socket, id);
    await host.advance(RESPONSE_LIMIT_MS - 1);
    expect(scene.effects).toEqual(["r1"]);
    await host.advance(1);
    expect(scene.effects).toEqual(["r1", "r2"]);
    expect(log.mock.calls.flat().map(String).join()).toContain("has not returned");
    await die(host);
    await wake(host);
    expect(scene.effects).toEqual(["r1", "r2"]);
  });
});

describe("onChatRecovery", () => {
  test(`that does not answer for ${RECOVERY_HOOK_MS / 1_000} s is asked again half a minute later; its late answer is ignored`, async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const late = Promise.withResolvers<{ continue: boolean }>();
    const host = open([reply(text("half"), stall()), reply(text(" and half"))], {
      recover: () => (scene.recoveries.length === 1 ? late.promise : undefined)
    });
    ask(await connect(host), "r1");
    await die(host);
    const socket = await connect(host);
    await host.advance(RECOVERY_HOOK_MS - 1);
    expect(eventsOf("chat:recovery:failed")).toEqual([]);
    await host.advance(1);
    expect(eventsOf("chat:recovery:failed")).toMatchObject([
      { requestId: "r1", reason: expect.stringContaining("too long") }
    ]);
    // It would have ended the turn.
    late.resolve({ continue: false });
    await host.advance(29_000);
    expect([scene.recoveries.length, scene.script.callCount]).toEqual([1, 1]);
    await host.advance(1_000);
    expect([scene.recoveries.length, scene.script.callCount]).toEqual([2, 2]);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half and half"]);
  });
});

test("onChatRecovery that answers after its conversation was cleared changes nothing", async () => {
  const late = Promise.withResolvers<undefined>();
  const host = open([reply(text("half"), stall()), reply(text("never"))], { recover: () => late.promise });
  ask(await connect(host), "r1");
  await die(host);
  const socket = await connect(host);
  await host.idle();
  expect(scene.recoveries).toHaveLength(1);
  socket.send({ type: "cf_agent_chat_clear" });
  await host.idle();
  late.resolve(undefined);
  await host.advance(60_000);
  expect([await stored(host), scene.script.callCount]).toEqual([[], 1]);
});

describe("the queue", () => {
  class Busy extends Patient {
    async fill(count: number): Promise<void> {
      for (let turn = 0; turn < count; turn += 1) void this.saveMessages([user(`s${turn}`)]);
    }
  }

  test("refuses turn 1,001 with an error, stores nothing of it, and takes turns again when there is room", async () => {
    open([reply(text("one"), stall()), reply(text("again"))]);
    const host = createTestHost({ agents: { Busy } });
    await (await host.get(Busy, "a")).fill(QUEUE_LIMIT);
    const socket = await host.connect("/agents/busy/a");
    ask(socket, "r1");
    await host.idle();
    expect(QUEUE_LIMIT).toBe(1_000);
    expect(endsOf(socket, "r1")).toEqual([
      "error: Too many messages are waiting for an answer. Please try again later."
    ]);
    const waiting = await storedMessages(host, "/agents/busy/a");
    expect([waiting.length, linesOf(waiting).includes("user:u-r1")]).toEqual([QUEUE_LIMIT, false]);
    socket.send({ type: "cf_agent_chat_clear" });
    await host.idle();
    ask(socket, "r2");
    await host.idle();
    expect(endsOf(socket, "r2")).toEqual(["completed"]);
  });
});
