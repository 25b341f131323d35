// The client library steers: receipts, what waits in every tab, and what a lost connection and a person in doubt change.
import { tool } from "ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import { CallFailedError, type ThinkClient, type TurnEnd } from "../../src/client/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { Network } from "./client-kit.ts";
import { linesOf } from "../kit/messages.ts";

let script: Script;
let held: PromiseWithResolvers<void>;
/** Every message that comes while a turn runs is a steer. */
let isSteering = false;
/** The second answer waits here. */
let slow: ReturnType<typeof createGate>;

class Subject extends Think {
  override messageConcurrency = isSteering ? ("steer" as const) : ("queue" as const);
  override getModel() {
    return scriptedModel(script);
  }
  override getTools() {
    return {
      search: tool({ inputSchema: z.object({}), execute: async () => held.promise.then(() => "found") })
    };
  }
}

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

const queuedIn = (client: ThinkClient) =>
  client
    .getSnapshot()
    .queued.map(({ kind, place, messages }) => [
      kind,
      place,
      ...linesOf((messages ?? []).map((message) => ({ ...message, parts: [...message.parts] })))
    ]);
const shownIn = (client: ThinkClient) => linesOf([...client.getSnapshot().messages]);

/** Two tabs, and a turn whose tool runs. */
async function running(options: { isSteering?: boolean; isSlow?: boolean } = {}) {
  held = Promise.withResolvers();
  isSteering = options.isSteering ?? false;
  slow = createGate();
  if (!options.isSlow) slow.open();
  script = createScript([
    reply(text("Looking. "), toolCall("search", {}, { id: "c1" })),
    reply(text("In "), slow.wait(), text("Rome.")),
    reply(text("And then.")),
    reply(text("More."))
  ]);
  const network = new Network(createTestHost({ agents: { Subject } }));
  const [client, other] = [network.client(), network.client()];
  await network.settle();
  const asked = client.send("Search in Paris.");
  await network.settle();
  return { network, client, other, asked };
}

test("what waits is shown in every tab apart from the conversation, and joins it when it takes effect", async () => {
  const { network, client, other } = await running();
  const steered = client.steer("No, in Rome.");
  const followed = other.followUp("And then?");
  await network.settle();
  expect(await steered).toMatchObject({ kind: "steer", state: "accepted" });
  expect(await followed).toMatchObject({ kind: "follow-up", state: "queued" });
  const waiting = [
    ["steer", 1, "user:No, in Rome."],
    ["follow-up", 2, "user:And then?"]
  ];
  const late = network.client();
  await network.settle();
  for (const tab of [client, other, late]) {
    expect(queuedIn(tab)).toEqual(waiting);
    expect(shownIn(tab)).toEqual(["user:Search in Paris.", "assistant:Looking. "]);
  }
  held.resolve();
  await network.settle();
  for (const tab of [client, other, late]) {
    expect(queuedIn(tab)).toEqual([]);
    expect(tab.getSnapshot().receipts).toMatchObject([
      { kind: "steer", state: "applied", step: 1 },
      { kind: "follow-up", state: "started" }
    ]);
    expect(shownIn(tab)).toEqual([
      "user:Search in Paris.",
      "assistant:Looking. ",
      "user:No, in Rome.",
      "assistant:In Rome.",
      "user:And then?",
      "assistant:And then."
    ]);
  }
});

test("a message that waits is edited and withdrawn from another tab, and not any more once it took effect", async () => {
  const { network, client, other } = await running();
  const { id } = await settled(network, client.steer("No, in Rome."));
  const second = await settled(network, client.followUp("And then?"));
  await settled(network, other.editQueued(id, "No, in Oslo."));
  await settled(network, other.withdraw(second.id));
  for (const tab of [client, other]) expect(queuedIn(tab)).toEqual([["steer", 1, "user:No, in Oslo."]]);
  held.resolve();
  await network.settle();
  expect(shownIn(client)).toContain("user:No, in Oslo.");
  const late = other.editQueued(id, "too late");
  late.catch(() => undefined);
  await network.settle();
  await expect(late).rejects.toBeInstanceOf(CallFailedError);
});

test("a steer that is sent again after its connection was lost is one message", async () => {
  const { network, client } = await running();
  network.losesFrames = true;
  const steered = client.steer("No, in Rome.");
  await network.settle();
  network.losesFrames = false;
  await network.cut();
  await network.reconnect();
  expect(await steered).toMatchObject({ state: "accepted" });
  expect(queuedIn(client)).toEqual([["steer", 1, "user:No, in Rome."]]);
  held.resolve();
  await network.settle();
  expect(shownIn(client).filter((line) => line === "user:No, in Rome.")).toHaveLength(1);
});

test("stop after this step lets the answer end where it is", async () => {
  const { network, client } = await running();
  expect(await settled(network, client.stopAfterStep())).toBe(true);
  held.resolve();
  await network.settle();
  expect(shownIn(client)).toEqual(["user:Search in Paris.", "assistant:Looking. "]);
  expect(client.getSnapshot().status).toBe("settled");
});

async function settled<T>(network: Network, work: Promise<T>): Promise<T> {
  await network.settle();
  return work;
}

test("send() resolves with the end of the chain", async () => {
  const { network, client, asked } = await running({ isSlow: true });
  let end: TurnEnd | undefined;
  void asked.then((ended) => (end = ended));
  const steered = client.steer("No, in Rome.");
  await network.settle();
  await steered;
  held.resolve();
  await network.settle();
  // The first turn is over, and the one that took over is not.
  expect(end).toBeUndefined();
  slow.open();
  await network.settle();
  expect(shownIn(client).at(-1)).toBe("assistant:In Rome.");
  expect(end).toMatchObject({ outcome: "completed", answeredBy: expect.any(String) });
  expect(end?.answeredBy).not.toBe(end?.requestId);
});

test("send() of a message that is read together with a later one resolves with the end of the turn that answers both", async () => {
  const { network, client, other } = await running({ isSteering: true });
  const both = [client.send("No, in Rome.")];
  await network.settle();
  both.push(other.send("And cheap."));
  await network.settle();
  held.resolve();
  await network.settle();
  const [first, second] = await Promise.all(both);
  expect([first?.outcome, second?.outcome]).toEqual(["completed", "completed"]);
  expect(first?.answeredBy).toBe(second?.requestId);
});

test("send() resolves, too, when the turn that took over ended while the client was away", async () => {
  const { network, client, asked } = await running({ isSlow: true });
  const steered = client.steer("No, in Rome.");
  await network.settle();
  await steered;
  held.resolve();
  await network.settle();
  let isOver = false;
  void asked.then(() => (isOver = true));
  await network.cut();
  expect(isOver).toBe(false);
  slow.open();
  await network.settle();
  await network.reconnect();
  expect(await asked).toMatchObject({ outcome: "unknown", answeredBy: expect.any(String) });
  expect(shownIn(client).at(-1)).toBe("assistant:In Rome.");
});
