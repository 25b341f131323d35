// How far the recovery of a turn goes before it is given up: each test is named after its promise.
import { tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { reply, stall, text, toolCall, type TestHost } from "../../src/testing/index.ts";
import {
  connect,
  die,
  endsOf,
  eventsOf,
  open,
  Patient,
  recoveringFrames,
  rejoin,
  scene,
  settleDown,
  stored,
  wake
} from "./recovery-kit.ts";
import { ask } from "../kit/frames.ts";
import { linesOf, message, toolParts, user } from "../kit/messages.ts";
import { MINUTE, never } from "../kit/time.ts";

const silences = (count: number) => Array.from({ length: count }, () => reply(stall()));

/** Dies, and is found by its alarm. */
async function dieAndWake(host: TestHost<object>): Promise<void> {
  await die(host);
  await wake(host);
}

/** Dies, and is found at once by a client that reconnects, as after a deploy. */
async function dieAndReconnect(host: TestHost<object>) {
  await die(host);
  return rejoin(host);
}

describe("attempts without progress", () => {
  test("with maxAttempts 1, the second interruption half a minute later gives the turn up, unasked", async () => {
    const host = open(silences(3), { recovery: { maxAttempts: 1 } });
    ask(await connect(host), "r1");
    await dieAndWake(host);
    await host.advance(MINUTE);
    await dieAndWake(host);
    expect(scene.exhausted).toMatchObject([
      { attempt: 2, maxAttempts: 1, reason: "max_attempts_exceeded", recoveryKind: "retry", requestId: "r1" }
    ]);
    expect(eventsOf("chat:recovery:exhausted")).toMatchObject([{ reason: "max_attempts_exceeded" }]);
    expect(scene.recoveries).toHaveLength(1);
    expect(scene.script.callCount).toBe(2);
  });

  test("interruptions within half a minute count as one", async () => {
    const host = open([...silences(2), reply(text("made it"))], { recovery: { maxAttempts: 1 } });
    ask(await connect(host), "r1");
    await dieAndReconnect(host);
    await dieAndReconnect(host);
    await settleDown(host);
    expect(scene.exhausted).toEqual([]);
    expect(scene.recoveries.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:made it");
  });

  test("progress starts the count anew, also after a compaction took away the messages that showed it", async () => {
    const host = open([...silences(2), reply(text("some "), stall()), reply(text("more."))], {
      recovery: { maxAttempts: 2 }
    });
    const patient = await host.get(Patient, "a");
    await patient.addMessages([user("h1", "once"), message("assistant", "h2", "upon a time")]);
    ask(await connect(host), "r1");
    for (let death = 0; death < 2; death += 1) {
      await dieAndWake(host);
      await host.advance(MINUTE);
    }
    await (await host.get(Patient, "a")).shorten("h1", "u-r1");
    await die(host);
    await settleDown(host);
    expect(scene.recoveries.map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:some more.");
  });

  test("a reconnect that replays what is stored is no progress", async () => {
    const host = open([reply(text("some "), stall()), ...silences(1), reply(text("more."))]);
    ask(await connect(host), "r1");
    const socket = await dieAndReconnect(host);
    expect(JSON.stringify(socket.frames)).toContain("some ");
    await host.advance(MINUTE);
    await dieAndWake(host);
    expect(scene.recoveries.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:some more.");
  });
});

describe("time without progress", () => {
  test("six minutes of silence give the turn up", async () => {
    const host = open(silences(3));
    ask(await connect(host), "r1");
    await dieAndWake(host);
    await host.advance(6 * MINUTE);
    await dieAndWake(host);
    expect(eventsOf("chat:recovery:exhausted")).toMatchObject([{ reason: "no_progress_timeout" }]);
    expect(scene.script.callCount).toBe(2);
  });

  test("so do six minutes behind a server tool that was cut off", async () => {
    const hang = tool({ inputSchema: z.object({}), execute: () => never<string>() });
    const host = open([reply(toolCall("hang", {}, { id: "c1" })), ...silences(2)], { tools: () => ({ hang }) });
    ask(await connect(host), "r1");
    await dieAndWake(host);
    await host.advance(6 * MINUTE);
    await dieAndWake(host);
    expect(eventsOf("chat:recovery:exhausted")).toMatchObject([{ reason: "no_progress_timeout" }]);
    expect(toolParts(await stored(host))).toMatchObject([{ toolCallId: "c1", state: "output-error" }]);
  });

  test.each([
    ["a client's tool", "locate"],
    ["an approval", "pay"]
  ])("not while %s is waited for: however long it takes, the answer continues the chat", async (_what, asked) => {
    const hang = tool({ inputSchema: z.object({}), execute: () => never<string>() });
    const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "paid" });
    const calls = reply(toolCall(asked, {}, { id: "question" }), toolCall("hang", {}, { id: "c1" }));
    const host = open([calls, reply(text("thanks"))], {
      recovery: { maxAttempts: 1, noProgressTimeoutMs: 0 },
      tools: () => ({ hang, pay })
    });
    ask(await connect(host), "r1", { clientTools: [{ name: "locate" }] });
    for (let death = 0; death < 3; death += 1) {
      await dieAndWake(host);
      await host.advance(6 * MINUTE);
    }
    expect(eventsOf("chat:recovery:exhausted")).toEqual([]);
    expect(scene.script.callCount).toBe(1);
    const socket = await connect(host);
    socket.send(
      asked === "pay"
        ? { type: "cf_agent_tool_approval", toolCallId: "question", approved: true, autoContinue: true }
        : { type: "cf_agent_tool_result", toolCallId: "question", toolName: asked, output: "here", autoContinue: true }
    );
    await settleDown(host);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:thanks");
    expect(toolParts(await stored(host)).map(({ toolCallId, state }) => [toolCallId, state])).toEqual([
      ["question", "output-available"],
      ["c1", "output-error"]
    ]);
  });
});

describe("deaths", () => {
  test("a turn that goes on for hours under repeated kills is never given up for its age", async () => {
    const HOURS = 8;
    const host = open(
      [...Array.from({ length: HOURS }, (_, n) => reply(text(`${n} `), stall())), reply(text("done"))],
      {
        recovery: { maxInterruptedAttempts: HOURS + 1 }
      }
    );
    ask(await connect(host), "r1");
    for (let hour = 0; hour < HOURS; hour += 1) {
      // The model is not silent for so long that it would be given up.
      await host.advance(7 * MINUTE);
      host.kill();
      await host.advance(53 * MINUTE);
      await host.restart();
      await settleDown(host);
    }
    expect(eventsOf("chat:recovery:exhausted")).toEqual([]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:0 1 2 3 4 5 6 7 done");
  });

  test("a turn whose every run dies is given up after maxInterruptedAttempts, even if each said something", async () => {
    const terminalMessage = "We could not finish this.";
    const host = open(
      Array.from({ length: 9 }, (_, n) => reply(text(`${n} `), stall())),
      { recovery: { maxInterruptedAttempts: 3, terminalMessage } }
    );
    ask(await connect(host), "r1");
    for (let death = 0; death < 2; death += 1) {
      await die(host);
      await settleDown(host);
    }
    await die(host);
    const socket = await rejoin(host);
    expect(scene.script.callCount).toBe(3);
    expect(scene.exhausted).toMatchObject([{ reason: "interrupted_attempts_exceeded", partialText: "0 1 2 " }]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:0 1 2 ");
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(recoveringFrames(socket).at(-1)).not.toBe(true);
    // It has its outcome: nothing brings it back.
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(3);
    expect(scene.exhausted).toHaveLength(1);
  });

  test("by default that is five", async () => {
    const host = open(Array.from({ length: 9 }, (_, n) => reply(text(`${n} `), stall())));
    ask(await connect(host), "r1");
    for (let death = 0; death < 7; death += 1) {
      await die(host);
      await settleDown(host);
    }
    expect(scene.script.callCount).toBe(5);
    expect(eventsOf("chat:recovery:exhausted")).toMatchObject([{ reason: "interrupted_attempts_exceeded" }]);
  });
});

describe("errors in a recovery attempt", () => {
  const failing = (error: Error, times: number) => {
    let left = times;
    return ({ attempt }: { attempt: number }) => {
      if (attempt > 1 && left-- > 0) throw error;
    };
  };

  test("an application error ends the turn as recovery_error, with the terminal message and the partial", async () => {
    const terminalMessage = "We could not finish this.";
    const host = open([reply(text("half"), stall())], {
      recovery: { terminalMessage },
      beforeTurn: failing(new Error("a bug of ours"), Infinity)
    });
    ask(await connect(host), "r1");
    const socket = await dieAndReconnect(host);
    await settleDown(host);
    expect(scene.exhausted).toMatchObject([{ reason: "recovery_error", partialText: "half" }]);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half"]);
  });

  test("a deploy in the middle of it is no failure: the attempt runs again later", async () => {
    const host = open([reply(text("half"), stall()), reply(text(" and half"))], {
      beforeTurn: failing(new Error("Durable Object reset because its code was updated."), 1)
    });
    ask(await connect(host), "r1");
    const socket = await dieAndReconnect(host);
    await settleDown(host);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half and half"]);
    expect(scene.exhausted).toEqual([]);
  });
});
