// What clients see of a turn that is interrupted and recovered: each test is named after its promise.
import { tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { reply, stall, text, toolCall, type TestHost, type TestSocket } from "../../src/testing/index.ts";
import {
  connect,
  die,
  endsOf,
  eventsOf,
  isTerminal,
  open,
  Patient,
  recoveringFrames,
  rejoin,
  scene,
  settleDown,
  stored,
  wake
} from "./recovery-kit.ts";
import { ask, type Frame, framesOf } from "../kit/frames.ts";
import { linesOf, toolParts } from "../kit/messages.ts";
import { MINUTE, never } from "../kit/time.ts";

const half = () => reply(text("half"), stall());
/** What a client has built from the frames of one request. */
function shownText(socket: TestSocket, id: string): string {
  return framesOf(socket)
    .filter(({ type, id: of, body }) => type === "cf_agent_use_chat_response" && of === id && body)
    .map(({ body }) => JSON.parse(body ?? "{}") as { type: string; delta?: string })
    .map(({ type, delta }) => (type === "text-delta" ? delta : ""))
    .join("");
}

const chunkNumbers = (socket: TestSocket) =>
  framesOf(socket).flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []));

/** The model goes silent for ten minutes in the same process, so clients stay connected. */
const untilStalled = (host: TestHost<object>) => host.advance(11 * MINUTE);

describe("a client that stays through it", () => {
  test("is told once that the answer is being recovered, sees one stream, and is told that it is over", async () => {
    const host = open([half(), reply(text(" and half"))]);
    const [asker, observer] = [await connect(host), await connect(host)];
    ask(asker, "r1");
    await untilStalled(host);
    for (const socket of [asker, observer]) {
      expect(recoveringFrames(socket)).toEqual([true, false]);
      expect(endsOf(socket, "r1")).toEqual(["completed"]);
      expect(shownText(socket, "r1")).toBe("half and half");
      const flag = framesOf(socket).find(({ type }) => type === "cf_agent_chat_recovering");
      expect(flag).toMatchObject({ id: "r1" });
    }
    expect(chunkNumbers(asker)).toEqual([...new Set(chunkNumbers(asker))]);
  });

  test("is told once however often the recovery itself is interrupted", async () => {
    const host = open([half(), reply(stall()), reply(stall()), reply(text(" and half"))], {
      recovery: { noProgressTimeoutMs: 60 * MINUTE },
      // The class chose a short window: of long silences two in a row are the end.
      beforeTurn: () => ({ chatStreamStallTimeoutMs: 2 * MINUTE })
    });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.advance(15 * MINUTE);
    expect(recoveringFrames(socket)).toEqual([true, false]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:half and half");
  });
});

describe("a client that comes back", () => {
  /** Recovered attempts that hang before they stream. */
  const hangs = ({ attempt }: { attempt: number }) => (attempt > 1 ? never<void>() : undefined);

  test("is told that an answer is being recovered, also after another restart, for a quarter of an hour", async () => {
    const host = open([half()], { beforeTurn: hangs, recovery: { noProgressTimeoutMs: 60 * MINUTE } });
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    const flags = async () => {
      const socket = await connect(host);
      await host.idle();
      return framesOf(socket).filter(({ type }) => type === "cf_agent_chat_recovering");
    };
    expect(await flags()).toEqual([{ type: "cf_agent_chat_recovering", recovering: true, id: "r1" }]);
    await die(host);
    await wake(host);
    await host.advance(12 * MINUTE);
    expect(await flags()).toMatchObject([{ recovering: true }]);
    await host.advance(3 * MINUTE);
    expect(await flags()).toEqual([]);
  });

  test("while the recovered answer streams, is offered the stream in place of that", async () => {
    const host = open([half(), reply(text(" and"), stall()), reply(text(" half"))]);
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    const socket = await connect(host);
    await host.idle();
    expect(framesOf(socket).find(({ type }) => type === "cf_agent_stream_resuming")).toMatchObject({ id: "r1" });
    expect(recoveringFrames(socket)).toEqual([]);
    await untilStalled(host);
    expect(recoveringFrames(socket)).toEqual([false]);
  });

  test("between two attempts is shown the partial answer and that it is being recovered", async () => {
    const host = open([half(), reply(stall()), reply(text(" and half"))]);
    ask(await connect(host), "r1");
    await die(host);
    await rejoin(host);
    // The second quick death: the third attempt waits for five seconds.
    await die(host);
    const socket = await rejoin(host);
    expect(recoveringFrames(socket)).toEqual([true]);
    expect(linesOf(framesOf(socket).findLast(({ messages }) => messages)?.messages ?? [])).toEqual([
      "user:u-r1",
      "assistant:half"
    ]);
    await settleDown(host);
    expect(recoveringFrames(socket)).toEqual([true, false]);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(shownText(socket, "r1")).toBe("half and half");
  });

  test("resumes the recovered stream from its first chunk, without gap or repetition", async () => {
    const host = open([half(), reply(text(" and"), stall()), reply(text(" half"))]);
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    const socket = await rejoin(host);
    await untilStalled(host);
    expect(shownText(socket, "r1")).toBe("half and half");
    const numbers = chunkNumbers(socket);
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(framesOf(socket).filter(isTerminal("r1"))).toHaveLength(1);
  });

  test("finds the failure that happened while no client was connected, and the partial answer", async () => {
    const terminalMessage = "We could not finish this.";
    const host = open([half(), reply(stall())], { recovery: { maxInterruptedAttempts: 2, terminalMessage } });
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    await die(host);
    await settleDown(host);
    expect(eventsOf("chat:recovery:exhausted")).toHaveLength(1);
    const socket = await rejoin(host);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(recoveringFrames(socket)).toEqual([]);
    const snapshot = framesOf(socket).find(({ messages }) => messages)?.messages ?? [];
    expect(linesOf(snapshot)).toEqual(["user:u-r1", "assistant:half"]);
    await host.restart();
    const later = await rejoin(host);
    expect(endsOf(later, "r1")).toEqual([`error: ${terminalMessage}`]);
  });
});

describe("onChatRecovery that refuses", () => {
  const count = tool({ inputSchema: z.object({}), execute: async () => scene.effects.push("count") });
  const refuse = () => ({ persist: false, continue: false });

  test("keeps the result of a tool, does not go on, and a client that comes back is shown an error", async () => {
    const host = open([reply(toolCall("count", {}, { id: "c1" })), reply(stall())], {
      tools: () => ({ count }),
      recover: refuse
    });
    ask(await connect(host), "r1");
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(2);
    expect(toolParts(await stored(host))).toMatchObject([{ toolCallId: "c1", state: "output-available", output: 1 }]);
    expect(eventsOf("chat:recovery:skipped")).toMatchObject([{ reason: "continue_disabled" }]);
    const socket = await rejoin(host);
    expect(framesOf(socket).filter(isTerminal("r1"))).toMatchObject([{ error: true }]);
    expect(recoveringFrames(socket)).toEqual([]);
  });

  test("of text alone stores nothing", async () => {
    const host = open([half()], { recover: refuse });
    ask(await connect(host), "r1");
    await die(host);
    await settleDown(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1"]);
    const socket = await rejoin(host);
    expect(framesOf(socket).filter(isTerminal("r1"))).toMatchObject([{ error: true }]);
  });

  test("to keep the text, but goes on, has the answer written anew", async () => {
    const host = open([half(), reply(text("whole"))], { recover: () => ({ persist: false }) });
    ask(await connect(host), "r1");
    await die(host);
    await settleDown(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:whole"]);
    expect(scene.recoveries).toHaveLength(1);
  });

  test("to go on, but keeps the text, leaves it in the conversation", async () => {
    const host = open([half()], { recover: () => ({ continue: false }) });
    ask(await connect(host), "r1");
    await die(host);
    await settleDown(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half"]);
  });
});

describe("what people do while an answer is being recovered", () => {
  /** Half an answer, a death, and a second attempt that hangs. */
  async function hanging(
    after: Parameters<typeof open>[0] = []
  ): Promise<{ host: TestHost<object>; socket: TestSocket }> {
    const host = open([half(), reply(text(" more"), stall()), ...after]);
    ask(await connect(host), "r1");
    await die(host);
    const socket = await rejoin(host);
    await host.advance(2_000);
    return { host, socket };
  }

  test("a new message waits for its turn: no failure is shown and nothing is answered twice", async () => {
    const { host, socket } = await hanging([reply(text(" end")), reply(text("two"))]);
    ask(socket, "r2");
    await untilStalled(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half more end", "user:u-r2", "assistant:two"]);
    const ends = framesOf(socket).filter((frame: Frame) => isTerminal("r1")(frame) || isTerminal("r2")(frame));
    expect(ends.map(({ id, outcome, error }) => [id, outcome, error ?? false])).toEqual([
      ["r1", "completed", false],
      ["r2", "completed", false]
    ]);
    expect(recoveringFrames(socket).at(-1)).toBe(false);
  });

  test("stop ends it at once, keeps what there is, and nothing brings it back", async () => {
    const { host, socket } = await hanging();
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual(["aborted"]);
    expect(recoveringFrames(socket).at(-1)).toBe(false);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half more"]);
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(2);
    expect(eventsOf("chat:recovery:skipped")).toMatchObject([{ requestId: "r1", reason: "cancelled" }]);
  });

  test("stop between two attempts does not wait for the next one", async () => {
    const host = open([half(), reply(stall())]);
    ask(await connect(host), "r1");
    await die(host);
    await rejoin(host);
    await die(host);
    const socket = await rejoin(host);
    expect(recoveringFrames(socket)).toEqual([true]);
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    expect(recoveringFrames(socket)).toEqual([true, false]);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half"]);
    await settleDown(host);
    expect(scene.script.callCount).toBe(2);
  });

  test("stop that the process did not live to obey is obeyed by the next one", async () => {
    const host = open([half()], { beforeTurn: ({ attempt }) => (attempt === 2 ? never() : undefined) });
    ask(await connect(host), "r1");
    await die(host);
    const socket = await rejoin(host);
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(1);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half"]);
    expect(recoveringFrames(await rejoin(host))).toEqual([]);
  });

  test("a clear empties the conversation, and nothing of the answer comes back", async () => {
    const { host, socket } = await hanging([reply(text("two"))]);
    const other = await connect(host);
    socket.send({ type: "cf_agent_chat_clear" });
    await other.next("cf_agent_chat_clear");
    expect(recoveringFrames(socket).at(-1)).toBe(false);
    expect(await stored(host)).toEqual([]);
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(2);
    expect(await stored(host)).toEqual([]);
    ask(await connect(host), "r2");
    await host.idle();
    expect(linesOf(await stored(host))).toEqual(["user:u-r2", "assistant:two"]);
  });
});

describe("a tab that is connected when a turn ends that cannot be answered", () => {
  const terminalMessage = "We could not finish this.";
  const endFrames = (socket: TestSocket, id: string) =>
    framesOf(socket).filter(({ type, id: of, done }) => type === "cf_agent_use_chat_response" && of === id && done);
  const failure = { body: terminalMessage, error: true, outcome: "error", messageIds: ["u-r1"] };

  test("is told that it was given up before its first word, after a restart and in every tab", async () => {
    const host = open([], {
      beforeTurn: () => never<void>(),
      recovery: { maxInterruptedAttempts: 2, terminalMessage }
    });
    ask(await connect(host), "r1");
    await die(host);
    await connect(host);
    await die(host);
    // Both come before the pause is over that quick deaths are followed by.
    const [joining, watching] = [await rejoin(host), await connect(host)];
    await host.idle();
    expect([joining, watching].map((socket) => endFrames(socket, "r1"))).toEqual([[], []]);
    await settleDown(host);
    expect(eventsOf("chat:recovery:exhausted")).toHaveLength(1);
    expect(endFrames(watching, "r1")).toMatchObject([failure]);
    expect(endsOf(joining, "r1")).toEqual([`error: ${terminalMessage}`]);
    // One that waits for a stream, as the published clients do, receives it on that stream.
    const offer = framesOf(watching).findLast(({ type }) => type.startsWith("cf_agent_stream_"));
    expect(offer).toMatchObject({ type: "cf_agent_stream_resuming", id: "r1" });
    for (const socket of [joining, watching]) {
      expect(linesOf(framesOf(socket).findLast(({ messages }) => messages)?.messages ?? [])).toEqual(["user:u-r1"]);
      expect(recoveringFrames(socket).at(-1)).toBe(false);
    }
  });

  test("is told that it was given up before its first word, also if another tab asked", async () => {
    const outOfMemory = () => {
      throw new Error("Durable Object's isolate exceeded its memory limit and was reset.");
    };
    const host = open([], { beforeTurn: outOfMemory, recovery: { terminalMessage } });
    const [asking, watching] = [await connect(host), await connect(host)];
    ask(asking, "r1");
    await settleDown(host);
    expect(eventsOf("chat:recovery:exhausted")).toMatchObject([{ reason: "out_of_memory" }]);
    expect(endFrames(asking, "r1")).toMatchObject([failure]);
    expect(endFrames(watching, "r1")).toMatchObject([failure]);
  });

  test("is told that it failed for good after a restart, before its first word", async () => {
    const host = open([], {
      beforeTurn: ({ attempt }) => {
        if (attempt > 1) throw new Error("a bug");
        return never<void>();
      },
      recovery: { terminalMessage }
    });
    ask(await connect(host), "r1");
    await die(host);
    const socket = await connect(host);
    await settleDown(host);
    expect(endFrames(socket, "r1")).toMatchObject([failure]);
  });

  test("is told that it failed before its first word, also on a connection that is newer than the one it asked on", async () => {
    const assembled = Promise.withResolvers<void>();
    const host = open([], {
      beforeTurn: async () => {
        await assembled.promise;
        throw new Error("no such model");
      }
    });
    const asking = await connect(host);
    ask(asking, "r1");
    await host.idle();
    asking.close();
    const socket = await connect(host);
    await host.idle();
    assembled.resolve();
    await host.idle();
    expect(endFrames(socket, "r1")).toMatchObject([{ body: "no such model", error: true, outcome: "error" }]);
  });

  test("is told that its request cannot be read any more, and so is one that comes later; the next is answered", async () => {
    const host = open([reply(text("one"), stall()), reply(text(" more")), reply(text("three"))]);
    const first = await connect(host);
    ask(first, "r1");
    await host.idle();
    ask(first, "r2");
    await host.idle();
    const [{ last } = { last: 0 }] = host.sql(
      Patient,
      "a",
      "SELECT last FROM cf_journal WHERE body LIKE '%\"r2\"%' ORDER BY last LIMIT 1"
    );
    await die(host);
    host.sql(Patient, "a", "UPDATE cf_journal SET body = 'garbage' WHERE last = ?", Number(last));
    const socket = await connect(host);
    await settleDown(host);
    expect(endFrames(socket, "r1")).toMatchObject([{ outcome: "completed" }]);
    expect(endFrames(socket, "r2")).toMatchObject([
      { error: true, outcome: "error", body: "The request could not be read. Please send it again." }
    ]);
    expect(eventsOf("chat:request:failed")).toMatchObject([{ requestId: "r2", stage: "recovery" }]);
    expect(endsOf(await rejoin(host), "r2")).toEqual(["error: The request could not be read. Please send it again."]);
    ask(socket, "r3");
    await host.idle();
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:three");
  });
});
