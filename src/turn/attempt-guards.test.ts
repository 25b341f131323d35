// What must not happen when a turn is stopped, cleared or over while something of it is still under way: each test is named
// after its promise, and each fails without the guard it is about.
import { tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { reply, stall, text, toolCall, type Step } from "../testing/model/index.ts";
import { installedModel } from "../testing/model/installed-model.test-support.ts";
import { user, World, type WorldInit } from "./engine.test-support.ts";

function world(steps: Step[], init: Omit<WorldInit, "model"> = {}) {
  const model = installedModel(steps);
  return Object.assign(new World({ ...init, model: () => model }), { model });
}

const ask = (requestId: string) => ({
  requestId,
  trigger: "ws-chat" as const,
  input: [user(`u-${requestId}`)]
});

const soon = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** A tool that counts its runs. */
function counted() {
  const runs: string[] = [];
  const pay = tool({ inputSchema: z.object({}), execute: async () => void runs.push("paid") });
  return { runs, tools: { pay } };
}

describe("an attempt", () => {
  test("whose turn is stopped by beforeToolCall does not run the tool, and says that it was not run", async () => {
    const { runs, tools } = counted();
    const w = world([reply(toolCall("pay", {}, { id: "c1" })), reply(text("done"))], {
      tools,
      beforeToolCall: async () => w.engine.cancel("r1")
    });
    const outcome = await w.engine.admit(ask("r1")).settled;
    expect([outcome.status, runs]).toEqual(["aborted", []]);
    expect(outcome.message?.parts).toContainEqual(
      expect.objectContaining({ toolCallId: "c1", errorText: expect.stringContaining("not run") })
    );
  });

  test("that is over stops what it has started with its signal", async () => {
    const signals: AbortSignal[] = [];
    const { tools } = counted();
    const w = world([reply(toolCall("pay", {})), reply(text("done"))], {
      tools,
      beforeToolCall: async ({ signal }) => void signals.push(signal)
    });
    expect((await w.engine.admit(ask("r1")).settled).status).toBe("completed");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("that is over leaves no sleeper behind", async () => {
    const w = world([reply(text("done"))], { stall: { timeoutMs: 600_000 } });
    await w.engine.admit(ask("r1")).settled;
    // Text is stored a moment after it came.
    w.clock.skip(10_000);
    await soon();
    expect(w.clock.sleepers).toBe(0);
  });

  test("whose answer is too large is not followed by another, whatever the class thinks of its failure", async () => {
    const w = world([reply(text("x".repeat(100))), reply(text("y".repeat(100)))], {
      maxAnswerBytes: 10,
      classifyFailure: () => "transient"
    });
    const outcome = await w.engine.admit(ask("r1")).settled;
    expect(outcome).toMatchObject({ status: "error", reason: "answer_too_large" });
    expect(w.model.calls).toHaveLength(1);
  });
});

describe("recovery", () => {
  test("that the class allowed does not go on when the turn was stopped meanwhile", async () => {
    const w = world([reply(stall()), reply(stall()), reply(text("there"))], {
      stall: { timeoutMs: 1_000 },
      keepsRecovering: async () => {
        w.engine.cancel("r1");
        return true;
      }
    });
    const { settled } = w.engine.admit(ask("r1"));
    for (let round = 0; round < 8; round += 1) {
      await soon();
      w.clock.skip(60_000);
    }
    expect((await settled).status).toBe("aborted");
    expect(w.model.calls).toHaveLength(2);
    // The attempt that was not made is not counted, and its hook not called.
    expect(w.hooksCalled.filter((name) => name.startsWith("recover:"))).toHaveLength(1);
  });
});

test("a stopped turn that is cleared while its records are read ends once, and leaves nothing", async () => {
  let whileReading = () => undefined as void;
  // Above a megabyte, that it is read is made durable first.
  const w = world([reply(text("x".repeat(1_500_000)), stall())], { durable: async () => whileReading() });
  void w.engine.admit(ask("r1"));
  await soon();
  w.clock.skip(2_000);
  await soon();
  w.boot();
  w.engine.cancel("r1");
  whileReading = () => w.engine.clear();
  w.engine.resume();
  await soon();
  const ends = w.heard.flatMap((one) => (one.what === "settled" ? [one.outcome.reason] : []));
  expect([ends, w.transcript.leafId]).toEqual([["cleared"], null]);
});

describe("a queued turn whose question cannot be read", () => {
  /** Behind a turn that hangs. */
  async function unreadable() {
    const w = world([reply(stall())]);
    void w.engine.admit(ask("r1"));
    void w.engine.admit(ask("r2"));
    await soon();
    w.database.exec("DELETE FROM cf_journal WHERE body LIKE '%u-r2%'");
    w.boot();
    return w;
  }
  const endOf = (w: World) =>
    w.heard.flatMap((one) => (one.what === "settled" && one.turn.requestId === "r2" ? [one.outcome.reason] : []));

  test("is shown as a failure, now and to clients that join later", async () => {
    const w = await unreadable();
    w.engine.cancel("r1");
    w.engine.resume();
    await soon();
    expect([endOf(w), w.engine.failed()?.requestId]).toEqual([["unreadable"], "r2"]);
  });

  test("is not shown in a conversation that was cleared since", async () => {
    const w = await unreadable();
    w.engine.clear();
    w.engine.resume();
    await soon();
    expect(w.engine.openTurnIds).toEqual([]);
    expect([endOf(w), w.engine.failed()]).toEqual([[], null]);
  });
});

test("a turn whose records are gone is not owed its hook for ever", async () => {
  const w = world([], { respond: async () => undefined });
  w.conversation.transaction((row) => {
    row.respondingTurns = ["gone"];
  });
  w.boot();
  w.engine.resume();
  await soon();
  expect(w.conversation.row.respondingTurns).toEqual([]);
});
