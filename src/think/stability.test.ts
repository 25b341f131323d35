import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import type { Clock } from "../host/ports.ts";
import type { TurnView } from "../turn/turn.ts";
import { hasPendingInteraction, STABLE_POLL_MS, untilStable } from "./stability.ts";
import { FakeTurns, userMessage } from "./turns.test-support.ts";

const view: TurnView = {
  turnId: "t1",
  requestId: "r1",
  messageId: "a1",
  trigger: "ws-chat",
  continuation: false,
  inputMessageIds: [],
  origin: undefined
};

type State = "input-streaming" | "input-available" | "approval-requested" | "output-available";

const call = (toolName: string, state: State, role: UIMessage["role"] = "assistant"): UIMessage => ({
  id: "m1",
  role,
  // One of the SDK's tool parts, spelled by its parts.
  parts: [{ type: `tool-${toolName}`, toolCallId: "c1", state, input: {} } as UIMessage["parts"][number]]
});

function turnsWith(clientTool: string): FakeTurns {
  const turns = new FakeTurns();
  turns.clientTools = [{ name: clientTool, description: null, parameters: null }];
  return turns;
}

describe("a pending interaction", () => {
  test.each<[string, UIMessage, boolean]>([
    ["an approval that was asked for", call("server", "approval-requested"), true],
    ["a call the client is to answer", call("browser", "input-available"), true],
    ["a call the server runs", call("server", "input-available"), false],
    ["a call that is still being written", call("browser", "input-streaming"), false],
    ["a call that is over", call("browser", "output-available"), false],
    ["what a user posted", call("browser", "input-available", "user"), false],
    ["a plain message", userMessage("u1"), false]
  ])("%s", (_what, message, expected) => {
    expect(hasPendingInteraction({ turns: turnsWith("browser"), messages: () => [message] })).toBe(expected);
  });

  test("is seen in the answer that is being streamed", () => {
    const turns = turnsWith("browser");
    const input = { type: "tool-input-available", toolCallId: "c1", toolName: "browser", input: {} };
    turns.open = { view, chunks: [{ type: "start", messageId: "a1" }, input].map((chunk) => JSON.stringify(chunk)) };
    expect(hasPendingInteraction({ turns, messages: () => [] })).toBe(true);
  });
});

/** Time that passes only when somebody sleeps. */
function jumpingClock(): Clock & { slept: number[] } {
  let now = 0;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    async sleep(ms) {
      slept.push(ms);
      await Promise.resolve();
      now += ms;
    }
  };
}

describe("waiting for the conversation to rest", () => {
  test("ends at once when it rests", async () => {
    const clock = jumpingClock();
    expect(await untilStable({ turns: new FakeTurns(), messages: () => [], clock })).toBe(true);
    expect(clock.slept).toEqual([]);
  });

  test.each<[string, (turns: FakeTurns) => void, (turns: FakeTurns) => void]>([
    ["a turn is running", (turns) => (turns.busy = true), (turns) => (turns.busy = false)],
    ["a continuation is armed", (turns) => (turns.armed = view), (turns) => (turns.armed = undefined)]
  ])("goes on while %s", async (_what, begin, end) => {
    const turns = new FakeTurns();
    begin(turns);
    const never: Clock = { now: () => 0, sleep: () => new Promise(() => {}) };
    const stable = untilStable({ turns, messages: () => [], clock: never });
    end(turns);
    turns.readers.settled(view, { status: "completed", streamed: true });
    expect(await stable).toBe(true);
  });

  test("notices what no reader is told of", async () => {
    const turns = new FakeTurns();
    turns.busy = true;
    const clock = jumpingClock();
    const stable = untilStable({ turns, messages: () => [], clock });
    turns.busy = false;
    expect(await stable).toBe(true);
    expect(clock.slept).toEqual([STABLE_POLL_MS]);
  });

  test("gives up when the time is over, and not later", async () => {
    const turns = new FakeTurns();
    turns.busy = true;
    const clock = jumpingClock();
    expect(await untilStable({ turns, messages: () => [], clock }, 250)).toBe(false);
    expect(clock.slept).toEqual([100, 100, 50]);
  });
});
