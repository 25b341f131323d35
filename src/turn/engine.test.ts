import { ALREADY_RECORDED } from "../session/change-log.ts";
import { tool } from "ai";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createGate, failInBand, reply, stall, text, toolCall, type Step } from "../testing/model/index.ts";
import { installedModel } from "../testing/model/installed-model.test-support.ts";
import { MAX_ARMED } from "./answers.ts";
import { textOf, user, World, type WorldInit } from "./engine.test-support.ts";

function world(steps: Step[], init: Omit<WorldInit, "model"> = {}) {
  const model = installedModel(steps);
  return Object.assign(new World({ ...init, model: () => model }), { model });
}

const ask = (requestId: string, text = requestId) => ({
  requestId,
  trigger: "ws-chat" as const,
  input: [user(`u-${requestId}`, text)]
});

describe("a turn", () => {
  test("stores its question at once and its answer under the id its stream announced", async () => {
    const w = world([reply(text("Hel"), text("lo"))]);
    const ticket = w.engine.admit(ask("r1", "hi"));
    expect(w.texts()).toEqual(["user:hi"]);
    const outcome = await ticket.settled;
    expect(outcome).toMatchObject({ status: "completed", streamed: true });
    expect(w.texts()).toEqual(["user:hi", "assistant:Hello"]);
    const start = JSON.parse(w.chunks("r1")[0]?.body ?? "{}") as { type: string; messageId: string };
    expect(start).toMatchObject({ type: "start", messageId: outcome.message?.id });
    expect(w.transcript.leaf).toBe(outcome.message?.id);
    expect(w.conversation.row.openTurns).toEqual([]);
  });

  test("is heard in order: accepted, streaming, chunks numbered from 0 without a gap, settled", async () => {
    const w = world([reply(text("a"), text("b"))]);
    await w.engine.admit(ask("r1")).settled;
    const order = w.heard.map(({ what }) => what).filter((what) => what !== "transcript");
    expect(order[0]).toBe("accepted");
    expect(order[1]).toBe("streaming");
    expect(order.at(-1)).toBe("settled");
    expect(w.chunks("r1").map(({ seq }) => seq)).toEqual(w.chunks("r1").map((_, index) => index));
  });

  test("overlapping ones end as question, answer, question, answer, and each prompt ends in its own question", async () => {
    const w = world([reply(text("one")), reply(text("two"))]);
    const first = w.engine.admit(ask("r1"));
    const second = w.engine.admit(ask("r2"));
    expect(w.engine.transcript().map(textOf)).toEqual(["user:r1", "user:r2"]);
    await Promise.all([first.settled, second.settled]);
    expect(w.texts()).toEqual(["user:r1", "assistant:one", "user:r2", "assistant:two"]);
    expect(w.model.calls.map(({ lastUserText }) => lastUserText)).toEqual(["r1", "r2"]);
  });

  test("that fails in its stream keeps what was shown, and says what the class says about it", async () => {
    const w = world([reply(text("par"), failInBand(new Error("secret provider text")))]);
    const outcome = await w.engine.admit(ask("r1")).settled;
    expect(outcome).toMatchObject({ status: "error", error: "failed in stream" });
    expect(w.texts()).toEqual(["user:r1", "assistant:par"]);
    expect(w.engine.failed()).toEqual({ requestId: "r1", text: "failed in stream", messageIds: ["u-r1"] });
    expect(JSON.stringify(w.heard)).not.toContain("secret");
  });

  test("whose failure cannot be described fails all the same, once, and the next one works", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    onTestFinished(() => log.mockRestore());
    const describeFailure = () => {
      throw new Error("secret");
    };
    const w = world([reply(failInBand(new Error("overloaded"))), reply(text("next"))], { describeFailure });
    const ended = await w.engine.admit(ask("r1")).settled;
    expect(ended).toMatchObject({ status: "error", error: "The answer could not be completed." });
    expect(await w.engine.admit(ask("r2")).settled).toMatchObject({ status: "completed" });
    expect(w.heard.filter(({ what }) => what === "settled")).toHaveLength(2);
  });

  test("stopped in the middle keeps its partial answer, and the next one works", async () => {
    const gate = createGate();
    const w = world([reply(text("half"), gate.wait(), text("never")), reply(text("next"))]);
    const ticket = w.engine.admit(ask("r1"));
    await untilChunks(w, 4);
    w.engine.cancel("r1");
    gate.open();
    expect(await ticket.settled).toMatchObject({ status: "aborted" });
    expect(w.texts()).toEqual(["user:r1", "assistant:half"]);
    expect(await w.engine.admit(ask("r2")).settled).toMatchObject({ status: "completed" });
    w.engine.cancel("unknown");
  });

  test("whose signal fired before it began reaches neither the hooks nor the model", async () => {
    const w = world([]);
    const ticket = w.engine.admit({ ...ask("r1"), trigger: "programmatic", signal: AbortSignal.abort() });
    expect(await ticket.settled).toMatchObject({ status: "aborted", streamed: false });
    expect(w.hooksCalled).toEqual([]);
    expect(w.texts()).toEqual(["user:r1"]);
  });

  test("cancelled while it waits ends at once and calls no model", async () => {
    const gate = createGate();
    const w = world([reply(text("one"), gate.wait())]);
    const first = w.engine.admit(ask("r1"));
    const second = w.engine.admit(ask("r2"));
    for (let times = 0; times < 2; times += 1) w.engine.cancel("r2");
    expect(await second.settled).toMatchObject({ status: "aborted" });
    expect(w.heard.filter(({ what }) => what === "settled")).toHaveLength(1);
    gate.open();
    await first.settled;
    await untilIdle(w);
    expect(w.model.callCount).toBe(1);
    expect(w.texts()).toEqual(["user:r1", "assistant:one", "user:r2"]);
    expect(w.heard.filter(({ what }) => what === "settled")).toHaveLength(2);
  });

  test("whose cancel is undone with the transaction around it is answered, and no listener is notified otherwise", async () => {
    const gate = createGate();
    const w = world([reply(gate.wait(), text("one")), reply(text("two"))]);
    w.engine.admit(ask("r1"));
    const waiting = w.engine.admit(ask("r2"));
    await gate.reached;
    expect(() =>
      w.conversation.transaction(() => {
        w.engine.cancel("r2");
        throw new Error("changed my mind");
      })
    ).toThrow("changed my mind");
    expect(w.heard.filter(({ what }) => what === "settled")).toEqual([]);
    gate.open();
    expect(await waiting.settled).toMatchObject({ status: "completed" });
  });

  test("cancelled, and then cleared, has the outcome that its listeners received", async () => {
    const w = world([reply(stall())]);
    w.engine.admit(ask("r1"));
    w.engine.admit(ask("r2"));
    const { turnId } = w.engine.waiting()!;
    w.engine.cancel("r2");
    w.engine.clear();
    const told = w.heard.filter((one) => one.what === "settled" && one.turn.requestId === "r2");
    expect(told).toMatchObject([{ outcome: { status: "aborted", reason: "cancelled" } }]);
    const records = [...w.journal.reader.pages()].flatMap(({ entries }) => entries.map(({ record }) => record));
    const settled = records.filter((record) => record.type === "turn-settled" && record.turnId === turnId);
    expect(settled).toMatchObject([{ outcome: "aborted", reason: "cancelled" }]);
  });

  test("cancelled just before the process died is not answered after the restart", async () => {
    const w = world([reply(text("half"), stall())]);
    void w.engine.admit(ask("r1"));
    void w.engine.admit(ask("r2"));
    await untilChunks(w, 2);
    w.engine.cancel("r2");
    w.engine.cancel("r1");
    w.boot();
    w.engine.resume();
    await untilIdle(w);
    expect(w.model.callCount).toBe(1);
    expect(w.engine.failed()).toBeNull();
  });

  test("given a function asks it when its time has come", async () => {
    const w = world([reply(text("one")), reply(text("two"))]);
    const first = w.engine.admit(ask("r1"));
    const seen: string[][] = [];
    const second = w.engine.admit({
      requestId: "r2",
      trigger: "programmatic",
      input: (transcript) => {
        seen.push(transcript.map(textOf));
        return [user("made")];
      }
    });
    await Promise.all([first.settled, second.settled]);
    expect(seen).toEqual([["user:r1", "assistant:one"]]);
    expect(w.texts()).toEqual(["user:r1", "assistant:one", "user:made", "assistant:two"]);
  });
});

describe("tools", () => {
  const weather = (execute: () => Promise<string>) => ({
    getWeather: tool({ inputSchema: z.object({ city: z.string() }), execute })
  });

  test("a call is recorded before it runs, and its outcome before the model sees it", async () => {
    const types = (w: World) =>
      w.database
        .prepare("SELECT body FROM cf_journal ORDER BY rowid")
        .all()
        .flatMap((row) => [...String(row["body"]).matchAll(/"(call-started|call-settled)"/g)].map(([, type]) => type));
    let atExecution: unknown[] = [];
    let atSecondCall: unknown[] = [];
    const w: World & { model: unknown } = world(
      [
        reply(toolCall("getWeather", { city: "Paris" })),
        () => {
          atSecondCall = types(w);
          return reply(text("sunny"));
        }
      ],
      {
        tools: weather(async () => {
          atExecution = types(w);
          return "sun";
        }),
        respond: async () => undefined
      }
    );
    await w.engine.admit(ask("r1")).settled;
    expect(atExecution).toEqual(["call-started"]);
    expect(atSecondCall).toEqual(["call-started", "call-settled"]);
    expect(w.hooksCalled).toEqual([
      "assemble:r1",
      "before:getWeather",
      "after:getWeather:true",
      "respond:r1:completed"
    ]);
  });

  test("a turn that waits for another turn of its own conversation is refused at once", async () => {
    let refusal: unknown;
    const w: World = world([reply(toolCall("getWeather", { city: "x" })), reply(text("done"))], {
      tools: weather(async () => {
        try {
          w.engine.admit({ ...ask("nested"), trigger: "programmatic" });
        } catch (error) {
          refusal = error;
        }
        return "x";
      })
    });
    await w.engine.admit(ask("r1")).settled;
    expect(refusal).toMatchObject({ code: "nested-turn" });
  });

  const clientTools = { a: tool({ inputSchema: z.object({}) }), b: tool({ inputSchema: z.object({}) }) };

  test.each([
    ["first, then second", ["call-a", "call-b"]],
    ["second, then first", ["call-b", "call-a"]]
  ])("parallel client tools answered %s continue once, after the last, in the same message", async (_, order) => {
    const w = world(
      [reply(toolCall("a", {}, { id: "call-a" }), toolCall("b", {}, { id: "call-b" })), reply(text("both known"))],
      { tools: clientTools }
    );
    const outcome = await w.engine.admit(ask("r1")).settled;
    for (const toolCallId of order) {
      expect(w.model.callCount).toBe(1);
      expect(w.engine.answerTool({ toolCallId, output: toolCallId, autoContinue: true })).toMatchObject({
        changed: true
      });
      // Again: the first answer won.
      expect(w.engine.answerTool({ toolCallId, output: "other", autoContinue: true })).toMatchObject({
        changed: false
      });
    }
    expect(w.engine.waiting()).toMatchObject({ continuation: true, messageId: outcome.message?.id });
    await untilIdle(w);
    expect(w.model.callCount).toBe(2);
    expect(w.transcript.path()).toHaveLength(2);
    expect(w.transcript.path()[1]?.id).toBe(outcome.message?.id);
    expect(w.texts()[1]).toBe("assistant:both known");
  });

  test("an answer that comes while its message still streams is not lost", async () => {
    const gate = createGate();
    const w = world([reply(toolCall("a", {}, { id: "call-a" }), gate.wait()), reply(text("known"))], {
      tools: clientTools
    });
    const ticket = w.engine.admit(ask("r1"));
    await gate.reached;
    await new Promise((resolve) => setImmediate(resolve));
    expect(w.engine.answerTool({ toolCallId: "call-a", output: 1, autoContinue: true })).toMatchObject({
      changed: true
    });
    gate.open();
    await ticket.settled;
    await untilIdle(w);
    expect(w.texts()).toEqual(["user:r1", "assistant:known"]);
  });

  test("a lone refusal that does not ask to go on continues nothing", async () => {
    const w = world([reply(toolCall("a", {}, { id: "call-a" }))], { tools: clientTools });
    await w.engine.admit(ask("r1")).settled;
    w.engine.answerTool({ toolCallId: "call-a", output: undefined, errorText: "no", autoContinue: false });
    await untilIdle(w);
    expect(w.model.callCount).toBe(1);
  });

  test("an approved tool runs once, in the continuation, and its outcome is announced as a changed message", async () => {
    let runs = 0;
    const tools = {
      pay: tool({
        inputSchema: z.object({}),
        needsApproval: true,
        execute: async () => {
          runs += 1;
          return "paid";
        }
      })
    };
    const w = world([reply(toolCall("pay", {}, { id: "call-p" })), reply(text("done"))], { tools });
    await w.engine.admit(ask("r1")).settled;
    expect(runs).toBe(0);
    expect(w.engine.answerApproval({ toolCallId: "call-p", approved: true, autoContinue: true })).toMatchObject({
      changed: true
    });
    await untilIdle(w);
    expect(runs).toBe(1);
    expect(w.heard.some((one) => one.what === "updated" && JSON.stringify(one.message).includes('"paid"'))).toBe(true);
    expect(w.chunks("r1").concat(w.heard.flatMap((one) => (one.what === "chunk" ? [one] : [])))).not.toContainEqual(
      expect.objectContaining({ body: expect.stringContaining("tool-output-available") as string })
    );
    expect(w.transcript.path()).toHaveLength(2);
  });

  test("a refused tool never runs, and the conversation goes on", async () => {
    let runs = 0;
    const tools = { pay: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => ++runs }) };
    const w = world([reply(toolCall("pay", {}, { id: "call-p" })), reply(text("all right"))], { tools });
    await w.engine.admit(ask("r1")).settled;
    w.engine.answerApproval({ toolCallId: "call-p", approved: false, autoContinue: true });
    await untilIdle(w);
    expect(runs).toBe(0);
    expect(w.texts()[1]).toBe("assistant:all right");
  });
});

test("answers that wait for their other calls are remembered up to a limit; the newest stay", async () => {
  const w = world([]);
  const call = (toolCallId: string) => ({
    type: "tool-ask" as const,
    toolCallId,
    toolName: "ask",
    state: "input-available" as const,
    input: {},
    ...{ clientExecuted: true }
  });
  for (let index = 0; index <= MAX_ARMED; index += 1) {
    w.transcript.append(
      { id: `m${index}`, role: "assistant", parts: [call(`a${index}`), call(`b${index}`)] },
      ALREADY_RECORDED
    );
    w.engine.answerTool({ toolCallId: `a${index}`, output: 1, autoContinue: true });
  }
  const armed = w.conversation.row.armedContinuations.map(({ messageId }) => messageId);
  expect(armed).toHaveLength(MAX_ARMED);
  expect([armed[0], armed.at(-1)]).toEqual(["m1", `m${MAX_ARMED}`]);
});

describe("the response hook", () => {
  test("that no agent has is not called, and nothing is recorded for it", async () => {
    const w = world([reply(text("one"))]);
    expect(await w.engine.admit(ask("r1")).settled).toMatchObject({ status: "completed" });
    expect(w.hooksCalled).toEqual(["assemble:r1"]);
    expect(w.conversation.row.respondingTurns).toEqual([]);
  });

  test("may start and await a turn, whose own hook runs too", async () => {
    const w: World = world([reply(text("one")), reply(text("two"))], {
      respond: async (turn) => {
        if (turn.requestId === "r1") await w.engine.admit({ ...ask("r2"), trigger: "programmatic" }).settled;
      }
    });
    await w.engine.admit(ask("r1")).settled;
    expect(w.hooksCalled.filter((name) => name.startsWith("respond"))).toEqual([
      "respond:r1:completed",
      "respond:r2:completed"
    ]);
    expect(w.conversation.row.respondingTurns).toEqual([]);
  });

  test("is called again after a crash that came before it returned", async () => {
    const gate = createGate();
    let calls = 0;
    const w: World = world([reply(text("one"))], {
      respond: async () => {
        calls += 1;
        if (calls === 1) await new Promise(() => undefined);
        gate.open();
      }
    });
    void w.engine.admit(ask("r1")).settled;
    await untilIdle(w);
    w.boot();
    w.engine.resume();
    await gate.opened;
    await untilIdle(w);
    expect(calls).toBe(2);
    expect(w.conversation.row.respondingTurns).toEqual([]);
  });
});

describe("a clear", () => {
  test("ends what runs and what waits, stores nothing of it, and lets the next one run", async () => {
    const gate = createGate();
    const w = world([reply(text("half"), gate.wait()), reply(text("fresh"))], { respond: async () => undefined });
    const running = w.engine.admit(ask("r1"));
    const waiting = w.engine.admit(ask("r2"));
    await gate.reached;
    w.engine.clear();
    gate.open();
    expect(await running.settled).toMatchObject({ status: "aborted", reason: "cleared" });
    expect(await waiting.settled).toMatchObject({ status: "skipped", reason: "cleared" });
    expect(w.heard.filter(({ what }) => what === "settled")).toHaveLength(2);
    await w.engine.admit(ask("r3")).settled;
    expect(w.texts()).toEqual(["user:r3", "assistant:fresh"]);
    expect(w.hooksCalled.filter((name) => name.startsWith("respond"))).toEqual(["respond:r3:completed"]);
  });

  test("right behind a chunk leaves nothing to store, and so nothing to complain about", async () => {
    const logged = vi.spyOn(console, "error");
    onTestFinished(() => logged.mockRestore());
    const w = world([reply(text("half"), text("more"), stall())]);
    const stop = w.engine.listen({ chunk: () => void (stop(), w.engine.clear()) });
    const ticket = w.engine.admit(ask("r1"));
    expect(await ticket.settled).toMatchObject({ status: "aborted", reason: "cleared" });
    await untilIdle(w);
    w.clock.skip(1000);
    await w.clock.sleep(0);
    expect(logged).not.toHaveBeenCalled();
  });
});

test("a reset gives up the turns and leaves the messages", async () => {
  const gate = createGate();
  const w = world([reply(text("half"), gate.wait()), reply(text("next"))]);
  const running = w.engine.admit(ask("r1"));
  await gate.reached;
  w.engine.reset();
  gate.open();
  expect(await running.settled).toMatchObject({ status: "aborted" });
  expect(w.texts()).toEqual(["user:r1"]);
  expect(await w.engine.admit(ask("r2")).settled).toMatchObject({ status: "completed" });
});

describe("turns that give way", () => {
  test("only the first and the newest call the model, and every question is in the transcript", async () => {
    const w = world([reply(text("one")), reply(text("three"))]);
    const tickets = ["r1", "r2", "r3"].map((id) => w.engine.admit({ ...ask(id), supersedable: true }));
    const outcomes = await Promise.all(tickets.map(({ settled }) => settled));
    expect(outcomes.map(({ status }) => status)).toEqual(["completed", "skipped", "completed"]);
    expect(w.texts()).toEqual(["user:r1", "assistant:one", "user:r2", "user:r3", "assistant:three"]);
  });

  test("one that waits out a quiet period lets others pass", async () => {
    const w = world([reply(text("first")), reply(text("later"))]);
    const patient = w.engine.admit({ ...ask("r1"), notBeforeAt: w.clock.now() + 60_000 });
    await w.engine.admit({ ...ask("r2"), trigger: "programmatic" }).settled;
    w.clock.skip(60_000);
    await patient.settled;
    expect(w.model.calls.map(({ lastUserText }) => lastUserText)).toEqual(["r2", "r1"]);
  });
});

describe("replay", () => {
  test("of a running stream is exactly what was heard so far, and what follows goes on from there", async () => {
    const gate = createGate();
    const w = world([reply(text("a"), text("b"), gate.wait(), text("c"))]);
    const ticket = w.engine.admit(ask("r1"));
    await gate.reached;
    await new Promise((resolve) => setImmediate(resolve));
    const replayed = [...(w.engine.replay("r1")?.chunks ?? [])];
    expect(w.engine.replay("r1")?.state).toBe("live");
    expect(replayed).toEqual(w.chunks("r1"));
    gate.open();
    await ticket.settled;
    expect([...(w.engine.replay("r1")?.chunks ?? [])]).toEqual(w.chunks("r1"));
    expect(w.engine.replay("r1")?.state).toBe("completed");
    expect(w.engine.replay("stranger")).toBeUndefined();
  });
});

test("a turn that cannot be worked on now asks for a wake, and that wake runs it", async () => {
  const w = world([reply(text("late"))]);
  w.failsToStayAlive = true;
  const ticket = w.engine.admit(ask("r1"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(w.engine.nextWake(1_000, 30_000)).toBe(31_000);
  w.failsToStayAlive = false;
  w.engine.runDue();
  expect(w.engine.nextWake(1_000, 30_000)).toBeNull();
  expect(await ticket.settled).toMatchObject({ status: "completed" });
  await untilIdle(w);
  expect(w.engine.nextWake(1_000, 30_000)).toBeNull();
});

/** Event-loop turns until no turn is open; there is no I/O to wait for. */
async function untilIdle(w: World): Promise<void> {
  await until(() => w.conversation.row.openTurns.length === 0 && w.conversation.row.armedContinuations.length === 0);
}

async function untilChunks(w: World, count: number): Promise<void> {
  await until(() => w.heard.filter(({ what }) => what === "chunk").length >= count);
}

async function until(condition: () => boolean): Promise<void> {
  for (let quiet = 0; quiet < 40;) {
    await new Promise((resolve) => setImmediate(resolve));
    quiet = condition() ? quiet + 1 : 0;
  }
}
