// Half an answer of a model that fails, as clients see it that were shown that half: at no moment does it stand before the
// words of the next model, and what all of them end with is what is stored.
import { beforeEach, expect, test, vi } from "vitest";
import { foldChunk, foldedMessage, startFold, type FoldChunk, type MessageFold } from "../../src/model/index.ts";
import { createGate, failInBand, reply, text } from "../../src/testing/index.ts";
import { Network, shown } from "./client-kit.ts";
import { PlainNetwork } from "./plain-kit.ts";
import { ask, endFramesOf, framesOf, type Frame } from "../kit/frames.ts";
import { linesOf, textOf } from "../kit/messages.ts";
import { agentOf, openScene, stored } from "./models-kit.ts";

beforeEach(() => {
  const spies = [vi.spyOn(console, "warn"), vi.spyOn(console, "error")].map((spy) => spy.mockReturnValue(undefined));
  return () => spies.forEach((spy) => spy.mockRestore());
});

/** The first model is shown, and breaks off when the gate is opened; the second one pauses in the middle. */
function scene() {
  const shownHalf = createGate();
  const inTheMiddle = createGate();
  const host = openScene({
    a: [reply(text("First hal"), shownHalf.wait(), failInBand(new Error("overloaded_error")))],
    b: [reply(text("A whole "), inTheMiddle.wait(), text("answer."))]
  });
  return { host, shownHalf, inTheMiddle };
}

/** What a client of the AI SDK shows after each frame: its own fold of the stream, or the message that took its place. */
function textsShown(frames: readonly Frame[]): string[] {
  let fold: MessageFold | undefined;
  let words = "";
  return frames.map((frame) => {
    if (frame.type === "cf_agent_use_chat_response" && frame.body && !frame.done) {
      const chunk = JSON.parse(frame.body) as FoldChunk;
      // A second start does not begin the message anew: the SDK's client goes on with the one that it has.
      fold = foldChunk(fold ?? startFold("answer"), chunk);
      words = textOf(foldedMessage(fold));
    } else if (frame.type === "cf_agent_message_updated") words = textOf(frame.message);
    else if (frame.type === "cf_agent_chat_messages") words = textOf(frame.messages?.at(-1));
    return words;
  });
}

test("over a WebSocket, as the AI SDK's client reads it: the half goes away, and the end brings the whole", async () => {
  const { host, shownHalf, inTheMiddle } = scene();
  const socket = await host.connect("/agents/fallback/a");
  ask(socket, "r1");
  await host.idle();
  expect(textsShown(framesOf(socket)).at(-1)).toBe("First hal");
  shownHalf.open();
  await host.idle();
  expect(textsShown(framesOf(socket)).at(-1)).toBe("");
  inTheMiddle.open();
  await host.idle();
  const texts = textsShown(framesOf(socket));
  expect(texts.at(-1)).toBe("A whole answer.");
  expect(texts.filter((words) => words.includes("First") && words.includes("whole"))).toEqual([]);
  expect(endFramesOf(socket, "r1")).toMatchObject([{ outcome: "completed" }]);
});

test("in everthink's client: the half goes away, and the whole is streamed in its place", async () => {
  const { host, shownHalf, inTheMiddle } = scene();
  await agentOf(host);
  const network = Object.assign(new Network(host), { agent: "Fallback" });
  const client = network.client();
  await network.settle();
  const seen = new Set<string>();
  client.subscribe(() => void seen.add(shown(client).at(-1) ?? ""));
  void client.send("Hi");
  await network.settle();
  expect(shown(client)).toEqual(["user:Hi", "assistant:First hal"]);
  shownHalf.open();
  await network.settle();
  expect(shown(client)).toEqual(["user:Hi", "assistant:A whole "]);
  inTheMiddle.open();
  await network.settle();
  expect(shown(client)).toEqual(["user:Hi", "assistant:A whole answer."]);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect([...seen].filter((words) => words.includes("First") && words.includes("whole"))).toEqual([]);
});

test("over plain HTTP: the response ends there with an error, and the answer is stored", async () => {
  const { host, shownHalf, inTheMiddle } = scene();
  const page = new PlainNetwork(host).open({ address: "/agents/fallback/a" });
  const sent = page.sendMessage({ text: "Hi" });
  await host.idle();
  shownHalf.open();
  await sent;
  expect(page.error?.message).toContain("begun anew");
  expect(textOf(page.messages.at(-1))).toBe("First hal");
  inTheMiddle.open();
  await host.idle();
  expect(linesOf(await stored(host))).toEqual(["user:Hi", "assistant:A whole answer."]);
});

test("a caller of chat() that can leave is told to; for others a second start begins the answer anew", async () => {
  const { host, shownHalf, inTheMiddle } = scene();
  const events: { type: string; delta?: string }[] = [];
  const patient = (await agentOf(host)).chat("Hi", {
    onStart: () => undefined,
    onEvent: (json) => void events.push(JSON.parse(json) as (typeof events)[number]),
    onDone: () => void events.push({ type: "done" }),
    onError: (words) => void events.push({ type: words })
  });
  await host.idle();
  shownHalf.open();
  inTheMiddle.open();
  await patient;
  const restart = events.findLastIndex(({ type }) => type === "start");
  const said = (part: typeof events) => part.map(({ delta = "" }) => delta).join("");
  expect(said(events.slice(0, restart))).toBe("First hal");
  expect(said(events.slice(restart))).toBe("A whole answer.");
  expect(events.at(-1)).toEqual({ type: "done" });

  const again = scene();
  const notified: string[] = [];
  const leaving = (await agentOf(again.host)).chat("Hi", {
    onStart: () => undefined,
    onEvent: (json) => void notified.push(json),
    onDone: () => void notified.push("done"),
    onError: () => void notified.push("error"),
    onInterrupted: () => void notified.push("interrupted")
  });
  await again.host.idle();
  again.shownHalf.open();
  await leaving;
  expect(notified.at(-1)).toBe("interrupted");
  expect(notified.join()).not.toContain("whole");
});
