// Messages that are given to a running turn, on a real journal: what they change, in which order, and what callers of the
// turn are given.
import { tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createGate, reply, stall, text, toolCall, usage, type Step } from "../testing/model/index.ts";
import { installedModel } from "../testing/model/installed-model.test-support.ts";
import type { Admission } from "./admit.ts";
import { textOf, user, World, type WorldInit } from "./engine.test-support.ts";
import type { Receipt } from "./receipts.ts";
import { WAITING_LIMIT, WAITING_LIMIT_BYTES } from "./steering.ts";

function newGate() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  return { opened, open };
}

interface Running {
  readonly w: World & { readonly model: ReturnType<typeof installedModel> };
  /** The tool of the first step waits here. */
  readonly gate: { open(): void };
  readonly runs: () => number;
}

/** A turn whose tool is running. The steps are those after the first. */
function running(steps: Step[], init: Omit<WorldInit, "model"> = {}): Running {
  const gate = newGate();
  let runs = 0;
  const search = tool({
    inputSchema: z.object({}),
    execute: async () => {
      runs += 1;
      await gate.opened;
      return "found";
    }
  });
  const model = installedModel([reply(text("Looking. "), toolCall("search", {}, { id: "c1" })), ...steps]);
  const w = Object.assign(new World({ tools: { search }, ...init, model: () => model }), { model });
  return { w, gate, runs: () => runs };
}

const ask = (requestId: string, words = requestId): Admission => ({
  requestId,
  trigger: "ws-chat",
  input: [user(`u-${requestId}`, words)]
});
const steer = (requestId: string, words = requestId): Admission => ({ ...ask(requestId, words), entry: "steer" });
const followUp = (requestId: string): Admission => ({ ...ask(requestId), entry: "follow-up" });

const toolRuns = async ({ runs }: Running) => until(() => runs() === 1);
const until = async (isSo: () => boolean) => {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 2_000) throw new Error("it does not happen");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
};
const idle = (w: World) => until(() => w.conversation.row.openTurns.length === 0);
const receiptsOf = (w: World, id: string): Receipt["state"][] =>
  w.heard.flatMap((one) => (one.what === "receipt" && one.receipt.id === id ? [one.receipt.state] : []));
/** What the model reads after the system prompt, as roles and texts. */
const promptOf = (w: Running["w"], call: number) =>
  JSON.stringify(w.model.calls[call]?.prompt.filter(({ role }) => role !== "system"));

describe("a steer", () => {
  test("takes effect after the tools that run and before the next call of the model, and no tool is repeated", async () => {
    const it = running([reply(text("In Rome."))]);
    const first = it.w.engine.admit(ask("r1", "search in Paris"));
    await toolRuns(it);
    it.w.engine.admit(steer("s1", "no, in Rome"));
    expect(it.w.engine.steering.waiting()).toMatchObject([{ id: "s1", state: "accepted", place: 1 }]);
    it.gate.open();
    await idle(it.w);
    expect(it.w.texts()).toEqual([
      "user:search in Paris",
      "assistant:Looking. ",
      "user:no, in Rome",
      "assistant:In Rome."
    ]);
    expect(it.runs()).toBe(1);
    const prompt = promptOf(it.w, 1);
    expect(prompt.indexOf("found")).toBeGreaterThan(0);
    expect(prompt.indexOf("found")).toBeLessThan(prompt.indexOf("no, in Rome"));
    expect(it.w.model.callCount).toBe(2);
    // The caller of the first turn is given the outcome of the chain.
    expect(await first.settled).toMatchObject({ status: "completed", message: { parts: expect.anything() } });
    expect(textOf((await first.settled).message!)).toBe("assistant:In Rome.");
    expect(receiptsOf(it.w, "s1")).toEqual(["accepted", "applied"]);
    expect(it.w.engine.steering.receipt("s1")).toMatchObject({ state: "applied", to: "r1", step: 1 });
    const ended = it.w.heard.filter((one) => one.what === "settled");
    expect(ended).toMatchObject([
      { turn: { requestId: "r1" }, outcome: { status: "completed", reason: "steered" } },
      { turn: { requestId: "s1", steered: { fromRequestId: "r1" } }, outcome: { status: "completed" } }
    ]);
  });

  test("that finds no further boundary becomes the next turn, before every follow-up", async () => {
    const gate = createGate();
    const model = installedModel([reply(text("A"), gate.wait()), reply(text("B")), reply(text("C"))]);
    const w = Object.assign(new World({ model: () => model }), { model });
    w.engine.admit(ask("r1"));
    await until(() => w.chunks("r1").length > 2);
    w.engine.admit(followUp("f1"));
    w.engine.admit(steer("s1"));
    expect(w.engine.steering.waiting().map(({ id, place }) => [id, place])).toEqual([
      ["s1", 1],
      ["f1", 2]
    ]);
    expect(w.engine.transcript().map(textOf)).toEqual(["user:r1", "user:s1", "user:f1"]);
    gate.open();
    await idle(w);
    expect(w.texts()).toEqual(["user:r1", "assistant:A", "user:s1", "assistant:B", "user:f1", "assistant:C"]);
    expect(receiptsOf(w, "s1")).toEqual(["accepted", "started"]);
    expect(receiptsOf(w, "f1")).toEqual(["queued", "started"]);
  });

  test("of two people at once is read together with the other, in the order of acceptance", async () => {
    const it = running([reply(text("Both."))]);
    it.w.engine.admit(ask("r1"));
    await toolRuns(it);
    it.w.engine.admit(steer("s1", "shorter"));
    it.w.engine.admit(steer("s2", "and in French"));
    it.gate.open();
    await idle(it.w);
    expect(it.w.texts()).toEqual([
      "user:r1",
      "assistant:Looking. ",
      "user:shorter",
      "user:and in French",
      "assistant:Both."
    ]);
    expect(receiptsOf(it.w, "s1")).toEqual(["accepted", "applied"]);
    expect(receiptsOf(it.w, "s2")).toEqual(["accepted", "applied"]);
    expect(it.w.model.callCount).toBe(2);
  });

  test("of an idle conversation is a turn at once", async () => {
    const model = installedModel([reply(text("Hello."))]);
    const w = new World({ model: () => model });
    w.engine.admit(steer("s1", "hi"));
    await idle(w);
    expect(w.texts()).toEqual(["user:hi", "assistant:Hello."]);
    expect(receiptsOf(w, "s1").at(-1)).toBe("started");
  });

  test("waits for the end of a turn with structured output, whose answer is one value", async () => {
    const { Output } = await import("ai");
    const output = Output.object({ schema: z.object({ city: z.string() }) });
    const it = running([reply(text('{"city":"Paris"}')), reply(text('{"city":"Rome"}'))], {
      settings: { output }
    });
    const first = it.w.engine.admit(ask("r1"));
    await toolRuns(it);
    it.w.engine.admit(steer("s1", "Rome"));
    it.gate.open();
    expect(await first.settled).toMatchObject({ status: "completed", output: { city: "Paris" } });
    await idle(it.w);
    expect(receiptsOf(it.w, "s1")).toEqual(["accepted", "started"]);
  });

  test("on another channel does not end the turn: other people read its answer", async () => {
    const it = running([reply(text("done")), reply(text("hello"))]);
    it.w.engine.admit({ ...ask("r1"), channel: "telegram" });
    await toolRuns(it);
    it.w.engine.admit({ ...steer("s1"), channel: "web" });
    it.gate.open();
    await idle(it.w);
    expect(it.w.texts()).toEqual(["user:r1", "assistant:Looking. done", "user:s1", "assistant:hello"]);
  });

  test("that is cancelled after it took over leaves the words of the other to be answered", async () => {
    const it = running([reply(text("Shorter."))]);
    it.w.engine.listen({
      receipt: ({ id, state }) => {
        if (id === "s2" && state === "applied") it.w.engine.cancel("s2");
      }
    });
    it.w.engine.admit(ask("r1"));
    await toolRuns(it);
    it.w.engine.admit(steer("s1", "shorter"));
    it.w.engine.admit(steer("s2", "and in French"));
    it.gate.open();
    await idle(it.w);
    expect(it.w.texts().filter((one) => one.startsWith("assistant"))).toEqual([
      "assistant:Looking. ",
      "assistant:Shorter."
    ]);
  });
});

describe("what callers wait for", () => {
  test("is stopped by the signal of the first turn, and by its request id, wherever the chain is", async () => {
    for (const how of ["signal", "id"] as const) {
      const stop = new AbortController();
      const it = running([reply(text("Long"), stall())]);
      const first = it.w.engine.admit({ ...ask("r1"), signal: stop.signal });
      await toolRuns(it);
      it.w.engine.admit(steer("s1"));
      it.gate.open();
      await until(() => it.w.chunks("s1").length > 2);
      expect(it.w.engine.isOpen("r1")).toBe(true);
      if (how === "signal") stop.abort();
      else it.w.engine.cancel("r1");
      expect(await first.settled).toMatchObject({ status: "aborted" });
    }
  });

  test("under a key is the outcome of the chain, while it runs and afterwards", async () => {
    const it = running([reply(text("Rome."))]);
    const keyed = { ...ask("r1"), idempotencyId: "k1" };
    it.w.engine.admit(keyed);
    await toolRuns(it);
    it.w.engine.admit(steer("s1"));
    it.gate.open();
    await idle(it.w);
    const again = it.w.engine.admit({ ...keyed, requestId: "r2" });
    expect(again.isFound).toBe(true);
    expect(textOf((await again.settled).message!)).toBe("assistant:Rome.");
    expect(textOf(it.w.engine.outcomeOf("r1")!.message!)).toBe("assistant:Rome.");
  });

  test("counts steps and tokens on: a chain has the budget of one turn", async () => {
    const spent = usage({ input: 30, output: 10 });
    const gate = newGate();
    const search = tool({ inputSchema: z.object({}), execute: async () => gate.opened.then(() => "found") });
    const model = installedModel([reply(toolCall("search", {}, { id: "c1" }), spent), reply(text("never"))]);
    const w = Object.assign(new World({ tools: { search }, maxTokens: 40, model: () => model }), { model });
    const first = w.engine.admit(ask("r1"));
    await until(() => w.hooksCalled.includes("before:search"));
    w.engine.admit(steer("s1"));
    gate.open();
    expect(await first.settled).toMatchObject({ status: "error" });
    expect(w.model.callCount).toBe(1);
    expect(w.engine.usedTokens("r1")).toBe(40);
  });
});

describe("a message that waits", () => {
  test("reaches the model as it was edited, and not at all once it was withdrawn", async () => {
    const it = running([reply(text("ok")), reply(text("never"))]);
    it.w.engine.admit(ask("r1"));
    await toolRuns(it);
    it.w.engine.admit(steer("s1", "in Rome"));
    it.w.engine.admit(followUp("f1"));
    const edited = it.w.engine.steering.edit("s1", [{ type: "text", text: "in Oslo" }]);
    expect(edited).toMatchObject({ state: "accepted", messages: [{ id: "u-s1", parts: [{ text: "in Oslo" }] }] });
    expect(it.w.engine.steering.withdraw("f1")).toMatchObject({ state: "withdrawn" });
    expect(it.w.engine.transcript().map(textOf)).toEqual(["user:r1", "user:in Oslo"]);
    it.gate.open();
    await idle(it.w);
    expect(it.w.texts()).toEqual(["user:r1", "assistant:Looking. ", "user:in Oslo", "assistant:ok"]);
    expect(JSON.stringify(it.w.model.calls)).not.toContain("Rome");
    expect(it.w.engine.steering.receipt("f1")).toMatchObject({ state: "withdrawn" });
    for (const id of ["s1", "f1", "unknown"]) {
      expect(() => it.w.engine.steering.withdraw(id)).toThrow("does not wait any more");
      expect(() => it.w.engine.steering.edit(id, [])).toThrow("does not wait any more");
    }
  });

  test("is one of 32 at most, of 256 KB at most, and a refused one leaves nothing", async () => {
    const it = running([]);
    it.w.engine.admit(ask("r1"));
    await toolRuns(it);
    const large = steer("large", "x".repeat(WAITING_LIMIT_BYTES));
    expect(() => it.w.engine.admit(large)).toThrow(expect.objectContaining({ code: "waiting-too-large" }));
    for (let n = 0; n < WAITING_LIMIT; n++) it.w.engine.admit(n % 2 ? steer(`s${n}`) : followUp(`f${n}`));
    expect(() => it.w.engine.admit(steer("s-more"))).toThrow(expect.objectContaining({ code: "too-many-waiting" }));
    expect(() => it.w.engine.steering.edit("f0", [{ type: "text", text: "x".repeat(WAITING_LIMIT_BYTES) }])).toThrow(
      expect.objectContaining({ code: "waiting-too-large" })
    );
    expect(
      it.w.engine.steering
        .waiting()
        .map(({ id }) => id[0])
        .join("")
    ).toBe("s".repeat(16) + "f".repeat(16));
    it.w.engine.clear();
    expect(it.w.engine.steering.waiting()).toEqual([]);
    expect(receiptsOf(it.w, "f0").at(-1)).toBe("dropped");
    it.gate.open();
  });
});

describe("stop after this step", () => {
  test("ends the turn with what it has, as completed, before the next call of the model", async () => {
    const it = running([reply(text("never"))]);
    const first = it.w.engine.admit(ask("r1"));
    await toolRuns(it);
    expect(it.w.engine.steering.stopAfterStep()).toBe(true);
    expect(it.w.engine.steering.stopAfterStep("r1")).toBe(true);
    expect(it.w.engine.steering.stopAfterStep("unknown")).toBe(false);
    it.gate.open();
    expect(await first.settled).toMatchObject({ status: "completed", reason: "stopped-after-step" });
    expect(it.w.model.callCount).toBe(1);
    expect(it.w.texts()).toEqual(["user:r1", "assistant:Looking. "]);
    expect(it.w.engine.steering.stopAfterStep()).toBe(false);
  });
});

describe("a process that dies", () => {
  test("after a steer took over ends the first turn there: the model is not called for it again", async () => {
    const it = running([reply(text("In Rome."))]);
    it.w.engine.admit(ask("r1"));
    await toolRuns(it);
    it.w.engine.admit(steer("s1", "in Rome"));
    // The last thing that the first process writes.
    const { writer } = it.w.journal;
    const append = writer.append.bind(writer);
    let isDead = false;
    writer.append = (records) => {
      if (isDead) throw new Error("dead");
      const changed = append(records);
      isDead = records.some(({ type }) => type === "steer-applied");
      return changed;
    };
    const errors = silence();
    it.gate.open();
    await until(() => isDead);
    it.w.boot();
    it.w.engine.resume();
    await idle(it.w);
    errors.restore();
    expect(it.w.texts()).toEqual(["user:r1", "assistant:Looking. ", "user:in Rome", "assistant:In Rome."]);
    expect(it.w.engine.steering.receipt("s1")).toMatchObject({ state: "applied", step: 1 });
    expect(it.runs()).toBe(1);
  });

  test("between two steps lets the steer take over before the model is asked again", async () => {
    const it = running([reply(stall()), reply(text("In Rome."))]);
    it.w.engine.admit(ask("r1"));
    await toolRuns(it);
    it.gate.open();
    await until(() => it.w.model.callCount === 2);
    it.w.engine.admit(steer("s1", "in Rome"));
    it.w.boot();
    it.w.engine.resume();
    await until(() => it.w.clock.sleepers > 0 || it.w.conversation.row.openTurns.length === 0);
    it.w.clock.skip(120_000);
    await idle(it.w);
    expect(it.w.texts()).toEqual(["user:r1", "assistant:Looking. ", "user:in Rome", "assistant:In Rome."]);
    expect(it.w.model.callCount).toBe(3);
  });
});

function silence() {
  const { error } = console;
  console.error = () => undefined;
  return { restore: () => void (console.error = error) };
}
