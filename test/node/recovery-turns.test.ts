// What a recovered turn remembers, leaves alone, and runs beside: each test is named after its promise.
import { tool, type UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { getSubAgentByName } from "../../src/agent-class/index.ts";
import { createTestHost, reply, stall, text, toolCall, type TestHost } from "../../src/testing/index.ts";
import {
  connect,
  die,
  endsOf,
  eventsOf,
  HEARTBEAT_MS,
  isTerminal,
  open,
  Patient,
  recoveringFrames,
  rejoin,
  rolesOf,
  scene,
  settleDown,
  stored,
  wake
} from "./recovery-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { linesOf, toolParts, user } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";

const half = () => reply(text("half"), stall());

describe("what was stashed during a turn comes back as recoveryData", () => {
  const starts: Record<string, (host: TestHost<object>) => Promise<unknown>> = {
    "over a socket": async (host) => ask(await connect(host), "r1"),
    "in chat()": async (host) => void (await host.get(Patient, "a")).talk("hello").catch(() => undefined),
    "in saveMessages()": async (host) =>
      void (await host.get(Patient, "a")).saveMessages([user("u1")]).catch(() => undefined)
  };

  test.each(Object.entries(starts))("%s", async (_where, start) => {
    const host = open([half(), half(), reply(text("."))], {
      beforeTurn: ({ attempt }, agent) => {
        agent.stash({ attempt: 0 });
        agent.stash({ attempt });
      }
    });
    await start(host);
    await die(host);
    await wake(host);
    await die(host);
    await settleDown(host);
    expect(scene.recoveries.map(({ recoveryData }) => recoveryData)).toEqual([{ attempt: 1 }, { attempt: 2 }]);
    expect(linesOf(await stored(host)).at(-1)).toBe("assistant:halfhalf.");
  });

  test("and null if nothing was", async () => {
    const host = open([half(), reply(text("."))]);
    ask(await connect(host), "r1");
    await die(host);
    await wake(host);
    expect(scene.recoveries).toMatchObject([{ recoveryData: null }]);
  });
});

test("a recovered turn keeps its body, its client's tools and its channel, whatever was asked since", async () => {
  const bodies: unknown[] = [];
  const host = open([half(), reply(text(" and half")), reply(text("two"))], {
    beforeTurn: ({ body }) => void bodies.push(body)
  });
  const socket = await connect(host);
  ask(socket, "r1", { tone: "kind", clientTools: [{ name: "locate" }] });
  await host.idle();
  ask(socket, "r2", { tone: "harsh", clientTools: [{ name: "other" }] });
  await die(host);
  await wake(host);
  expect(bodies).toEqual([{ tone: "kind" }, { tone: "kind" }, { tone: "harsh" }]);
  const offered = scene.script.calls.map(({ tools }) => tools.map(({ name }) => name));
  expect(offered).toEqual([["locate"], ["locate"], ["other"]]);
  expect(scene.recoveries).toMatchObject([{ lastBody: { tone: "kind" }, lastClientTools: [{ name: "locate" }] }]);
});

test("a recovered turn keeps the channel it came through", async () => {
  const host = open([half(), reply(text(" and half"))], {
    channelPolicy: (channel) => ({ instructions: `Speak as on ${channel}.` })
  });
  const patient = await host.get(Patient, "a");
  void Promise.resolve(patient.saveMessages([user("u1")], { channel: "telegram" })).catch(() => undefined);
  await die(host);
  await wake(host);
  expect(scene.script.callCount).toBe(2);
  for (const call of scene.script.calls) expect(promptOf(call)).toContain("Speak as on telegram.");
});

describe("a transcript with damage", () => {
  const settled = { type: "tool-t", state: "output-available", output: 1 } as const;
  const damaged = [
    { ...settled, toolCallId: "null", input: null },
    { ...settled, toolCallId: "empty", input: "" },
    { ...settled, toolCallId: "list", input: [] },
    { ...settled, toolCallId: "text", input: "str" },
    { ...settled, toolCallId: "json", input: '{"a":1}' },
    { type: "tool-t", toolCallId: "failed", state: "output-error", input: {}, errorText: "its own words" },
    { type: "tool-t", toolCallId: "orphan", state: "input-available", input: { b: 2 } }
  ];
  const history: UIMessage[] = [user("h1"), { id: "h2", role: "assistant", parts: damaged as UIMessage["parts"] }];

  test("is repaired once, keeps what is settled, and a second turn finds nothing to repair", async () => {
    const host = open([reply(text("one")), reply(text("two"))]);
    const patient = await host.get(Patient, "a");
    await patient.addMessages(history);
    await patient.saveMessages([user("u1")]);
    const repaired = toolParts(await stored(host));
    expect(Object.fromEntries(repaired.map(({ toolCallId, input }) => [toolCallId, input]))).toEqual({
      null: {},
      empty: {},
      list: {},
      text: {},
      json: { a: 1 },
      failed: {},
      orphan: { b: 2 }
    });
    expect(repaired.find(({ toolCallId }) => toolCallId === "failed")?.errorText).toBe("its own words");
    expect(repaired.find(({ toolCallId }) => toolCallId === "orphan")).toMatchObject({ state: "output-error" });
    expect(eventsOf("chat:transcript:repaired")).toMatchObject([{ removedToolCalls: 1, normalizedInputs: 5 }]);
    await patient.saveMessages([user("u2")]);
    expect(toolParts(await stored(host))).toEqual(repaired);
    expect(eventsOf("chat:transcript:repaired")).toHaveLength(1);
  });
});

describe("a turn on a schedule while an approval is pending", () => {
  const pay = tool({
    inputSchema: z.object({}),
    needsApproval: true,
    execute: async () => scene.effects.push("paid")
  });

  test("leaves it answerable, and its own prompt holds no call without a result", async () => {
    const host = open([reply(toolCall("pay", {}, { id: "c1" })), reply(text("an aside")), reply(text("paid"))], {
      tools: () => ({ pay })
    });
    const socket = await connect(host);
    ask(socket, "r1");
    await socket.next(isTerminal("r1"));
    await (await host.get(Patient, "a")).askIn(60);
    await host.advance(61_000);
    expect(scene.script.callCount).toBe(2);
    const results = scene.script.calls[1]?.prompt.filter(({ role }) => role === "tool");
    expect(JSON.stringify(results)).toContain('"toolCallId":"c1"');
    expect(toolParts(await stored(host))).toMatchObject([{ toolCallId: "c1", state: "approval-requested" }]);
    socket.send({ type: "cf_agent_tool_approval", toolCallId: "c1", approved: true, autoContinue: true });
    await settleDown(host);
    expect(scene.effects).toEqual(["paid"]);
    expect(toolParts(await stored(host))).toMatchObject([{ toolCallId: "c1", state: "output-available" }]);
  });
});

test("while a recovered turn streams, a schedule that is due runs", async () => {
  const host = open([half(), half(), reply(text("."))]);
  ask(await connect(host), "r1");
  await (await host.get(Patient, "a")).remindIn(60);
  await die(host);
  await wake(host);
  expect(scene.script.callCount).toBe(2);
  expect(scene.effects).toEqual([]);
  await host.advance(60_000);
  expect(scene.effects).toEqual(["reminded"]);
  const socket = await connect(host);
  expect(await socket.next("cf_agent_stream_resuming")).toMatchObject({ id: "r1" });
});

describe("a sub-agent", () => {
  class Family extends Patient {}

  test("is recovered by the root's alarm alone, and its finished steps are not repeated", async () => {
    const count = tool({ inputSchema: z.object({}), execute: async () => scene.effects.push("count") });
    open([reply(toolCall("count", {}, { id: "c1" })), reply(text("one, "), stall()), reply(text("two"))], {
      tools: () => ({ count })
    });
    const host = createTestHost({ agents: { Family }, exports: [Patient] });
    const child = async () => getSubAgentByName(await host.get(Family, "root"), Patient, "a");
    const socket = await host.connect("/agents/family/root/sub/patient/a");
    ask(socket, "r1");
    await die(host);
    expect(host.alarm(Family, "root")).toBeLessThanOrEqual(host.now + HEARTBEAT_MS);
    await wake(host);
    expect(scene.script.callCount).toBe(3);
    expect(scene.effects).toEqual(["count"]);
    expect(linesOf(await (await child()).getMessages())).toEqual(["user:u-r1", "assistant:one, two"]);
    expect(scene.recoveries).toMatchObject([{ recoveryKind: "continue", partialText: "one, " }]);
    await host.advance(25 * 60_000);
    expect(host.alarm(Family, "root")).toBeNull();
  });
});

describe("with chatRecovery = false", () => {
  async function play(recovery: boolean) {
    const count = tool({ inputSchema: z.object({}), execute: async () => scene.effects.push("count") });
    const host = open([reply(toolCall("count", {}, { id: "c1" })), reply(text("one")), reply(text("two"))], {
      recovery,
      tools: () => ({ count })
    });
    const socket = await connect(host);
    ask(socket, "r1");
    await socket.next(isTerminal("r1"));
    ask(socket, "r2");
    await socket.next(isTerminal("r2"));
    await host.idle();
    return { frames: framesOf(socket), messages: await stored(host), writes: host.counts.rowsWritten };
  }

  test("everything is the same as long as nothing is interrupted", async () => {
    expect(await play(false)).toEqual(await play(true));
  });

  test("an interrupted turn ends where it was, is not asked for again, and what waited behind it runs", async () => {
    const host = open([half(), reply(text("two"))], { recovery: false });
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    ask(socket, "r2");
    await die(host);
    await settleDown(host);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:half", "user:u-r2", "assistant:two"]);
    expect(scene.recoveries).toEqual([]);
    expect(eventsOf("chat:recovery:detected")).toEqual([]);
    const later = await rejoin(host);
    expect(recoveringFrames(later)).toEqual([]);
    expect(endsOf(later, "r1")).toEqual([]);
    expect(rolesOf(scene.script.calls[1]).at(-1)).toBe("user");
  });
});
