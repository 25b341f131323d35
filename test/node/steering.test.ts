// Steering a running turn through every way in: what the model reads, what every tab is sent, and what a kill at any point
// leaves. The model's tool waits until the test lets it go.
import { tool, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  Think,
  type MessageConcurrency,
  type Receipt,
  type SteerContext,
  type SteerDecision
} from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Steps,
  type TestHost
} from "../../src/testing/index.ts";
import { ask, framesOf, type Frame } from "../kit/frames.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";

vi.setConfig({ testTimeout: 60_000 });

let script: Script;
let held: PromiseWithResolvers<void>;
let searches = 0;
let concurrency: MessageConcurrency;
let onSteer: ((context: SteerContext) => SteerDecision | void | Promise<SteerDecision | void>) | undefined;
let stepsSeen: (string | undefined)[] = [];

class Chat extends Think {
  override messageConcurrency = concurrency;
  override getModel() {
    return scriptedModel(script);
  }
  override getTools() {
    return {
      search: tool({
        inputSchema: z.object({}),
        execute: async () => {
          searches += 1;
          await held.promise;
          return "found";
        }
      }),
      pay: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "paid" }),
      locate: tool({ inputSchema: z.object({}) })
    };
  }
  override beforeStep({ steeredFrom }: Parameters<Think["beforeStep"]>[0]) {
    stepsSeen.push(steeredFrom);
  }
  later(words: string) {
    return this.saveMessages([user(`u-${words}`, words)]);
  }
}

class Asked extends Chat {
  protected override onSteer(context: SteerContext) {
    return onSteer?.(context);
  }
}

type Host = TestHost<{ Chat: DurableObjectNamespace<Chat>; Asked: DurableObjectNamespace<Asked> }>;

/** Looks something up first, and then answers the last words it was given. */
const searching: Steps = ({ prompt }) => {
  const words = prompt.flatMap(({ role, content }) =>
    role === "user" && typeof content !== "string" ? content.map((part) => (part.type === "text" ? part.text : "")) : []
  );
  const isFirst = !JSON.stringify(prompt).includes("found");
  return isFirst
    ? reply(text("Looking. "), toolCall("search", {}, { id: "c1" }))
    : reply(text(`re ${words.at(-1) ?? ""}`));
};

function open(steps: Steps = searching): Host {
  script = createScript(steps, { maxCalls: 5_000 });
  held = Promise.withResolvers();
  searches = 0;
  stepsSeen = [];
  return createTestHost({ agents: { Chat, Asked } });
}

const socketOf = (host: Host, name = "chat") => host.connect(`/agents/${name}/a`);
const said = async (host: Host, name = "chat") => linesOf(await storedMessages(host, `/agents/${name}/a`));
const steerFrame = (key: string, id: string, words = id, kind = "steer") => ({
  type: "cf_agent_chat_steering",
  key,
  do: kind,
  id,
  message: user(`u-${id}`, words)
});
const resultOf = (socket: { frames: readonly unknown[] }, key: string) =>
  framesOf(socket).find((frame) => frame.type === "cf_agent_chat_steering_result" && frame["key"] === key);
const receiptsIn = (socket: { frames: readonly unknown[] }, id?: string) =>
  framesOf(socket)
    .filter(({ type }) => type === "cf_agent_chat_receipt")
    .map((frame) => frame["receipt"] as { id: string; state: string })
    .filter((receipt) => id === undefined || receipt.id === id)
    .map(({ id: of, state }) => `${of} ${state}`);
const endOf = (socket: { frames: readonly unknown[] }, id: string): Frame | undefined =>
  framesOf(socket).find((frame) => frame.id === id && frame.done === true);

beforeEach(() => {
  concurrency = "queue";
  onSteer = undefined;
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

/** A turn whose tool is running. */
async function searchingHost(name = "chat"): Promise<{ host: Host; socket: Awaited<ReturnType<typeof socketOf>> }> {
  const host = open();
  const socket = await socketOf(host, name);
  ask(socket, "r1");
  await host.idle();
  expect(searches).toBe(1);
  return { host, socket };
}

describe("a steer", () => {
  test("of one tab is shown in every tab, takes effect at the boundary, and its answer is streamed to all", async () => {
    const { host, socket } = await searchingHost();
    const other = await socketOf(host);
    other.send(steerFrame("k1", "s1", "in Rome"));
    await host.idle();
    expect(resultOf(other, "k1")).toMatchObject({ result: { id: "s1", state: "accepted", place: 1 } });
    const late = await socketOf(host);
    await host.idle();
    expect(framesOf(late).find(({ type }) => type === "cf_agent_chat_waiting")).toMatchObject({
      receipts: [{ id: "s1", state: "accepted", messages: [{ parts: [{ text: "in Rome" }] }] }]
    });
    held.resolve();
    await host.idle();
    expect(await said(host)).toEqual(["user:u-r1", "assistant:Looking. ", "user:in Rome", "assistant:re in Rome"]);
    for (const tab of [socket, other]) expect(receiptsIn(tab)).toEqual(["s1 accepted", "s1 applied"]);
    for (const tab of [socket, other, late]) expect(endOf(tab, "s1")).toMatchObject({ outcome: "completed" });
    expect(endOf(socket, "r1")).toMatchObject({ outcome: "completed" });
    expect(stepsSeen).toEqual([undefined, "r1"]);
    expect(searches).toBe(1);
  });

  test("is what a message of a published client is, where the class says so", async () => {
    concurrency = "steer";
    const { host, socket } = await searchingHost();
    ask(socket, "r2");
    await host.idle();
    held.resolve();
    await host.idle();
    expect(await said(host)).toEqual(["user:u-r1", "assistant:Looking. ", "user:u-r2", "assistant:re u-r2"]);
    expect(endOf(socket, "r1")).toMatchObject({ outcome: "completed" });
    expect(endOf(socket, "r2")).toMatchObject({ outcome: "completed" });
  });

  test("sent twice under one id is one message, and an id of another request is refused", async () => {
    const { host, socket } = await searchingHost();
    socket.send(steerFrame("k1", "s1"));
    socket.send(steerFrame("k2", "s1"));
    socket.send(steerFrame("k3", "r1"));
    await host.idle();
    expect(resultOf(socket, "k2")).toMatchObject({ result: { id: "s1", state: "accepted" } });
    expect(resultOf(socket, "k3")).toMatchObject({ failed: { code: "steer-id-taken" } });
    held.resolve();
    await host.idle();
    socket.send(steerFrame("k4", "s1"));
    await host.idle();
    expect(resultOf(socket, "k4")).toMatchObject({ result: { id: "s1", state: "applied", to: "r1", step: 1 } });
    expect((await said(host)).filter((line) => line === "user:s1")).toHaveLength(1);
  });

  test("of a connection that may only watch is refused, as are frames that cannot be read", async () => {
    const { host, socket } = await searchingHost();
    const watcher = await socketOf(host);
    const agent = await host.get(Chat, "a");
    void agent;
    socket.send({ type: "cf_agent_chat_steering", key: "bad", do: "steer", id: "s1", message: { role: "user" } });
    socket.send({ type: "cf_agent_chat_steering", key: "odd", do: "dance" });
    socket.send({
      type: "cf_agent_chat_steering",
      key: "no",
      do: "steer",
      id: "s1",
      message: { ...user("x"), parts: [] }
    });
    await host.idle();
    for (const key of ["bad", "odd"])
      expect(resultOf(socket, key)).toMatchObject({ failed: { code: "steer-malformed" } });
    expect(resultOf(socket, "no")).toMatchObject({ failed: { code: "steer-empty" } });
    expect(receiptsIn(watcher)).toEqual([]);
    held.resolve();
  });

  test("of code inside and outside of the turn is accepted at once, and whoever waits has the outcome of the chain", async () => {
    const host = open();
    const agent = await host.get(Chat, "a");
    const saved = agent.later("one");
    await host.idle();
    expect(await agent.steer("two")).toMatchObject({ state: "accepted", place: 1 });
    expect(await agent.followUp("three", { id: "f1" })).toMatchObject({ state: "queued", place: 2 });
    const queued = (await agent.listQueued()) as Receipt[];
    expect(queued.map(({ kind }) => kind)).toEqual(["steer", "follow-up"]);
    held.resolve();
    expect(await saved).toMatchObject({ status: "completed" });
    await host.idle();
    expect(await said(host)).toEqual([
      "user:one",
      "assistant:Looking. ",
      "user:two",
      "assistant:re two",
      "user:three",
      "assistant:re three"
    ]);
    expect(await agent.inspectReceipt("f1")).toMatchObject({ state: "started" });
  });
});

describe("a message that waits", () => {
  test("is edited and withdrawn by any tab, and the model never reads what it said before", async () => {
    const { host, socket } = await searchingHost();
    const other = await socketOf(host);
    socket.send(steerFrame("k1", "s1", "in Rome"));
    socket.send(steerFrame("k2", "f1", "and then?", "follow-up"));
    await host.idle();
    other.send({ ...steerFrame("k3", "s1", "in Oslo"), do: "edit" });
    other.send({ type: "cf_agent_chat_steering", key: "k4", do: "withdraw", id: "f1" });
    other.send({ type: "cf_agent_chat_steering", key: "k5", do: "withdraw", id: "f1" });
    await host.idle();
    expect(resultOf(other, "k3")).toMatchObject({ result: { state: "accepted", messages: [{ id: "u-s1" }] } });
    expect(resultOf(other, "k4")).toMatchObject({ result: { state: "withdrawn" } });
    expect(resultOf(other, "k5")).toMatchObject({ result: { state: "withdrawn" } });
    held.resolve();
    await host.idle();
    expect(await said(host)).toEqual(["user:u-r1", "assistant:Looking. ", "user:in Oslo", "assistant:re in Oslo"]);
    expect(JSON.stringify(script.calls)).not.toMatch(/Rome|and then/);
    other.send({ type: "cf_agent_chat_steering", key: "k6", do: "withdraw", id: "s1" });
    await host.idle();
    expect(resultOf(other, "k6")).toMatchObject({ failed: { code: "not-waiting" } });
  });

  test("stop after this step ends the turn as completed with what it has", async () => {
    const { host, socket } = await searchingHost();
    socket.send({ type: "cf_agent_chat_steering", key: "k1", do: "stop-after-step" });
    await host.idle();
    held.resolve();
    await host.idle();
    expect(resultOf(socket, "k1")).toMatchObject({ result: true });
    expect(endOf(socket, "r1")).toMatchObject({ outcome: "completed" });
    expect(await said(host)).toEqual(["user:u-r1", "assistant:Looking. "]);
  });
});

describe("onSteer", () => {
  test("may refuse, change and redirect a message; a throw refuses it", async () => {
    const { host, socket } = await searchingHost("asked");
    onSteer = ({ id, messages, running, kind }) => {
      expect({ running, kind }).toMatchObject({ running: { requestId: "r1" }, kind: "steer" });
      expect(messages).toHaveLength(1);
      if (id === "s1") return { action: "refuse", reason: "Not now." };
      if (id === "s2") return { action: "accept", input: "changed" };
      if (id === "s3") return { action: "accept", kind: "follow-up" };
      throw new Error("secret");
    };
    for (const id of ["s1", "s2", "s3", "s4"]) socket.send(steerFrame(id, id));
    await host.idle();
    expect(resultOf(socket, "s1")).toMatchObject({ failed: { code: "steer-refused", message: "Not now." } });
    expect(resultOf(socket, "s2")).toMatchObject({ result: { state: "accepted" } });
    expect(resultOf(socket, "s3")).toMatchObject({ result: { state: "queued" } });
    expect(resultOf(socket, "s4")).toMatchObject({ failed: { code: "steer-hook-failed" } });
    expect(JSON.stringify(socket.frames)).not.toContain("secret");
    held.resolve();
    await host.idle();
    expect(await said(host, "asked")).toEqual([
      "user:u-r1",
      "assistant:Looking. ",
      "user:changed",
      "assistant:re changed",
      "user:s3",
      "assistant:re s3"
    ]);
  });

  test("that is slow does not change the order in which messages came", async () => {
    const { host, socket } = await searchingHost("asked");
    const slow = Promise.withResolvers<void>();
    onSteer = async ({ id }) => {
      if (id === "s1") await slow.promise;
    };
    socket.send(steerFrame("k1", "s1"));
    socket.send(steerFrame("k2", "s2"));
    await host.idle();
    slow.resolve();
    await host.idle();
    held.resolve();
    await host.idle();
    expect((await said(host, "asked")).slice(2, 4)).toEqual(["user:s1", "user:s2"]);
  });
});

describe("a kill at every write and every await", () => {
  const ended = async (host: Host) => {
    const messages: UIMessage[] = await storedMessages(host, "/agents/chat/a");
    const lines = linesOf(messages);
    const count = (line: string) => lines.filter((one) => one === line).length;
    return {
      questions: lines.filter((line) => line.startsWith("user:")),
      once: ["user:u-r1", "user:one", "user:two"].map(count),
      // The last words are answered, whatever the kill made of the first answer.
      isAnswered: lines.at(-1) === "assistant:re two",
      open: host.sql(Chat, "a", "SELECT open_turns FROM cf_conversations")
    };
  };

  test("every accepted steer takes effect exactly once or becomes exactly one turn; order is that of acceptance", async () => {
    const result = await everyCrash({
      create: () => {
        const host = open();
        held.resolve();
        return host;
      },
      script: async (host) => {
        const socket = await socketOf(host);
        ask(socket, "r1");
        socket.send(steerFrame("k1", "s1", "one"));
        socket.send(steerFrame("k2", "s2", "two"));
        await host.idle();
      },
      finish: async (host) => {
        // A client that did not get its receipts sends its commands again.
        const socket = await socketOf(host);
        ask(socket, "r1");
        socket.send(steerFrame("k1", "s1", "one"));
        socket.send(steerFrame("k2", "s2", "two"));
        await host.idle();
        await host.advance(5 * 60_000);
      },
      inspect: ended
    });
    expect(result.points).toBeGreaterThan(20);
  });
});
