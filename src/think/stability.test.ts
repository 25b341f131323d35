import { tool, type UIMessage } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Clock } from "../host/ports.ts";
import { createGate, reply, scriptedModel, text, toolCall, type Step } from "../testing/model/index.ts";
import { user, World } from "../turn/engine.test-support.ts";
import { hasPendingInteraction, STABLE_POLL_MS, untilStable } from "./stability.ts";

type State = "input-streaming" | "input-available" | "approval-requested" | "output-available";

const call = (toolName: string, state: State, role: UIMessage["role"] = "assistant"): UIMessage => ({
  id: "m1",
  role,
  // One of the SDK's tool parts, spelled by its parts.
  parts: [{ type: `tool-${toolName}`, toolCallId: "c1", state, input: {} } as UIMessage["parts"][number]]
});

/** A real engine whose client has described a tool `browser`. */
function setup(steps: Step[] = []) {
  const model = scriptedModel(steps);
  const world = new World({ model: () => model, tools: { browser: tool({ inputSchema: z.object({}) }) } });
  const turns = world.engine;
  turns.rememberClient({ tools: [{ name: "browser", description: null, parameters: null }] });
  const ask = () => turns.admit({ requestId: "r1", trigger: "ws-chat", input: [user("u1")] });
  return { world, turns, ask, messages: () => world.transcript.path() };
}

describe("a pending interaction", () => {
  test.each<[string, UIMessage, boolean]>([
    ["an approval that was asked for", call("server", "approval-requested"), true],
    ["a call the client is to answer", call("browser", "input-available"), true],
    ["a call the server runs", call("server", "input-available"), false],
    ["a call that is still being written", call("browser", "input-streaming"), false],
    ["a call that is over", call("browser", "output-available"), false],
    ["what a user posted", call("browser", "input-available", "user"), false],
    ["a plain message", user("u1"), false]
  ])("%s", (_what, message, expected) => {
    expect(hasPendingInteraction({ ...setup(), messages: () => [message] })).toBe(expected);
  });

  test("is seen in the answer that is being streamed", async () => {
    const gate = createGate();
    const kit = setup([reply(toolCall("browser", {}), gate.wait())]);
    kit.ask();
    await vi.waitFor(() => expect(hasPendingInteraction(kit)).toBe(true));
    expect(kit.messages().map(({ role }) => role)).toEqual(["user"]);
  });
});

/** Time that passes only when it is slept away. */
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

const STANDING_CLOCK: Clock = { now: () => 0, sleep: () => new Promise(() => {}) };

describe("waiting for the conversation to rest", () => {
  test("ends at once when it rests", async () => {
    const clock = jumpingClock();
    expect(await untilStable({ ...setup(), clock })).toBe(true);
    expect(clock.slept).toEqual([]);
  });

  test("goes on while a turn is running", async () => {
    const gate = createGate();
    const kit = setup([reply(text("Hi"), gate.wait())]);
    kit.ask();
    const order: string[] = [];
    const stable = untilStable({ ...kit, clock: STANDING_CLOCK }).finally(() => order.push("stable"));
    await gate.reached;
    order.push("reached");
    gate.open();
    expect(await stable).toBe(true);
    expect(order).toEqual(["reached", "stable"]);
  });

  test("goes on while a continuation waits for its start", async () => {
    const kit = setup([reply(toolCall("browser", {}, { id: "c1" })), reply(text("Thanks"))]);
    await kit.ask().settled;
    kit.turns.answerTool({ toolCallId: "c1", output: "page", autoContinue: true });
    expect(hasPendingInteraction(kit)).toBe(false);
    const stable = untilStable({ ...kit, clock: STANDING_CLOCK });
    kit.world.clock.skip(1_000);
    expect(await stable).toBe(true);
    expect(kit.world.texts().at(-1)).toContain("Thanks");
  });

  test("notices what no listener is notified of", async () => {
    const messages = [call("browser", "input-available")];
    const clock = jumpingClock();
    const stable = untilStable({ ...setup(), messages: () => messages, clock });
    messages.pop();
    expect(await stable).toBe(true);
    expect(clock.slept).toEqual([STABLE_POLL_MS]);
  });

  test("gives up when the time is over, and not later", async () => {
    const clock = jumpingClock();
    const messages = () => [call("browser", "input-available")];
    expect(await untilStable({ ...setup(), messages, clock }, 250)).toBe(false);
    expect(clock.slept).toEqual([100, 100, 50]);
  });
});
