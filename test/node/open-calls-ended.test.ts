// How calls that wait, or were allowed, end other than by their answer: their turn is stopped, the class has its own word
// for them, or the process dies while a late decision is carried out.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { createGate, everyCrash, reply, text, toolCall } from "../../src/testing/index.ts";
import {
  agentOf,
  answer,
  approve,
  connect,
  held,
  lastCall,
  open,
  partOf,
  scene,
  soon,
  stored,
  words,
  type Host
} from "./open-calls-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { textOf, toolParts } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";

// Every kind of call, killed at every point.
vi.setConfig({ testTimeout: 120_000 });

// Refusals are logged for the developer, too.
beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));

describe("a turn that is stopped", () => {
  test("in the middle of an allowed call says of it that it may have taken effect, and it is not run again", async () => {
    const { pause, reached, letGo } = held();
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), reply(text("Next."))], { pause });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    approve(socket, "c1");
    await host.advance(60);
    await reached;
    const running = framesOf(socket).findLast(({ type }) => type === "cf_agent_stream_resuming")?.id;
    socket.send({ type: "cf_agent_chat_request_cancel", id: running });
    await host.idle();
    expect(await partOf(host)).toMatchObject({
      state: "output-error",
      errorText: expect.stringMatching(/may or may not/)
    });
    letGo();
    ask(socket, "r2");
    await soon(host);
    expect(scene.effects).toEqual(["pay 1"]);
  });

  test("before an allowed call has started says that it was not run, and it is not run later", async () => {
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), reply(text("Next."))]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    approve(socket, "c1");
    socket.send({ type: "cf_agent_stream_resume_request" });
    await host.idle();
    const waiting = framesOf(socket).findLast(({ type }) => type === "cf_agent_stream_pending")?.id;
    socket.send({ type: "cf_agent_chat_request_cancel", id: waiting });
    await soon(host);
    expect(await partOf(host)).toMatchObject({ state: "output-error", errorText: expect.stringMatching(/not run/) });
    ask(socket, "r2");
    await soon(host);
    expect(scene.effects).toEqual([]);
    expect((await words(host)).at(-1)).toBe("assistant:Next.");
  });

  test.each<[string, (host: Host) => Promise<void>]>([
    [
      "fails before it runs an allowed call",
      async (host) => {
        scene.failsTurns = true;
        await soon(host);
        scene.failsTurns = false;
      }
    ],
    [
      "is given up before it runs an allowed call",
      async (host) => {
        await (await agentOf(host)).giveUpTurns();
        await soon(host);
      }
    ]
  ])("or %s says that the call was not run, in the newest answer and in an earlier one", async (_how, end) => {
    for (const isLate of [false, true]) {
      const aside = isLate ? [reply(text("Meanwhile."))] : [];
      const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), ...aside, reply(text("Next."))]);
      const socket = await connect(host);
      ask(socket, "r1");
      await host.idle();
      if (isLate) ask(socket, "r2");
      await host.idle();
      approve(socket, "c1");
      await end(host);
      expect(await partOf(host)).toMatchObject({ state: "output-error", errorText: expect.stringMatching(/not run/) });
      ask(socket, "r3");
      await soon(host);
      expect(scene.effects).toEqual([]);
      expect((await words(host)).at(-1)).toBe("assistant:Next.");
      expect(
        framesOf(socket)
          .filter(({ type }) => type === "cf_agent_message_updated")
          .at(-1)
      ).toMatchObject({
        message: {
          parts: expect.arrayContaining([expect.objectContaining({ toolCallId: "c1", state: "output-error" })])
        }
      });
    }
  });

  test("together with all others leaves nothing that was allowed meanwhile to be run later", async () => {
    const gate = createGate();
    const host = open([
      reply(toolCall("pay", { amount: 1 }, { id: "c1" })),
      reply(text("Mean"), gate.wait()),
      reply(text("Next."))
    ]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    ask(socket, "r2");
    await gate.reached;
    approve(socket, "c1");
    await (await agentOf(host)).giveUpTurns();
    gate.open();
    await soon(host);
    expect(await partOf(host)).toMatchObject({ state: "output-error", errorText: expect.stringMatching(/not run/) });
    ask(socket, "r3");
    await soon(host);
    expect(scene.effects).toEqual([]);
  });

  test("leaves no call of the server's open", async () => {
    const { pause, reached, letGo } = held();
    const calls = [toolCall("look", {}, { id: "c1" }), toolCall("ask_user", { prompt: "?" }, { id: "c2" })];
    const host = open([reply(...calls), reply(text("Next."))], { pause });
    const socket = await connect(host);
    ask(socket, "r1");
    await reached;
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    expect(await partOf(host, "c1")).toMatchObject({
      state: "output-error",
      errorText: expect.stringMatching(/may or may not/)
    });
    expect((await partOf(host, "c2")).state).toBe("input-available");
    letGo();
  });
});

test("a call that was allowed while its turn ran is run after that turn died and is not gone on with", async () => {
  const { pause, reached } = held();
  const calls = [toolCall("pay", { amount: 1 }, { id: "c1" }), toolCall("look", {}, { id: "c2" })];
  const host = open([reply(...calls), reply(text("Done."))], { pause, recovers: false });
  const socket = await connect(host);
  ask(socket, "r1");
  await reached;
  approve(socket, "c1");
  await host.advance(2_000);
  scene.pause = async () => {};
  await host.restart();
  await host.advance(120_000);
  expect(scene.effects).toEqual(["look", "pay 1"]);
  expect((await partOf(host, "c1")).state).toBe("output-available");
  expect((await partOf(host, "c2")).errorText).toMatch(/may or may not/);
});

describe("a class with its own word for interrupted calls", () => {
  type Part = Parameters<NonNullable<typeof scene.repair>>[0];
  /** As the README of the seeds has it. */
  const repair = (part: Part): Part | undefined => {
    if (part.type === "tool-ask_user" && "input" in part) return { type: "text", text: "Which colour?" };
    return part.type === "tool-pay" ? { type: "text", text: "(asked for money)" } : undefined;
  };

  test("has it stored in place of a client's open call when the user says something new, and not before", async () => {
    const host = open(
      [
        reply(toolCall("ask_user", { prompt: "Which colour?" }, { id: "c1" })),
        reply(text("Aside.")),
        reply(text("Green it is."))
      ],
      { repair }
    );
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    await (await agentOf(host)).saveMessages([]);
    expect((await partOf(host)).state).toBe("input-available");
    expect(promptOf(lastCall())).toContain("Which colour?");
    ask(socket, "r2");
    await host.idle();
    expect(toolParts(await stored(host))).toEqual([]);
    expect(textOf((await stored(host))[1])).toBe("Which colour?");
    answer(socket, "c1", "late");
    await soon(host);
    expect(scene.script.calls).toHaveLength(3);
  });

  test("has it in the prompt only in place of an approval", async () => {
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), reply(text("Mm.")), reply(text("Paid."))], {
      repair
    });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    ask(socket, "r2");
    await host.idle();
    expect((await partOf(host)).state).toBe("approval-requested");
    expect(promptOf(lastCall())).toContain("(asked for money)");
    approve(socket, "c1");
    await soon(host);
    expect(scene.effects).toEqual(["pay 1"]);
  });

  test("that throws does not keep a turn from its end", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), reply(text("Mm."))], {
      repair: () => {
        throw new Error("no");
      }
    });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    ask(socket, "r2");
    await host.idle();
    expect((await words(host)).at(-1)).toBe("assistant:Mm.");
    expect((await partOf(host)).state).toBe("approval-requested");
  });
});

describe("killed at every write and in every await,", () => {
  const outcome = async (host: Host) => {
    const part = await partOf(host);
    return {
      isDecided: part.state === "output-available" || /may or may not/.test(part.errorText ?? ""),
      ranTwice: scene.effects.length > 1,
      lostEffect: part.state === "output-available" && scene.effects.length !== 1,
      texts: (await words(host)).map((line) => line.replace(/^(assistant:)(?!Meanwhile).+/, "$1…")),
      answered: (await words(host)).at(-1)?.startsWith("assistant:Done")
    };
  };

  test.each([
    ["a late decision about a tool", toolCall("pay", { amount: 1 }, { id: "c1" })],
    ["a late decision about an action", toolCall("remove", { who: "bob" }, { id: "c1" })]
  ])("%s runs the call at most once, and is followed by one answer below the newest", async (_what, call) => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    let turn: Host | undefined;
    const { points } = await everyCrash({
      create: async () => {
        const done = Array.from({ length: 20 }, () => reply(text("Done.")));
        const host = open([reply(call), reply(text("Meanwhile.")), ...done], { pause: async () => turn?.boundary() });
        turn = host;
        const socket = await connect(host);
        ask(socket, "r1");
        await host.idle();
        ask(socket, "r2");
        await host.idle();
        return host;
      },
      script: async (host) => {
        approve(await connect(host), "c1");
        await soon(host);
      },
      finish: async (host) => {
        // A person who does not know whether it arrived. One who is late is refused.
        approve(await connect(host), "c1");
        await host.advance(300_000);
      },
      inspect: outcome
    });
    expect(points).toBeGreaterThan(20);
  });
});
