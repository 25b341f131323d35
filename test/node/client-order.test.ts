// What a person does while there is no connection reaches the agent in the order it was done, once, also when the
// connection breaks or the server dies in the middle of it.
import { expect, test } from "vitest";
import { createGate, reply, stall, text, toolCall, type Step } from "../../src/testing/index.ts";
import { quietly } from "../../src/testing/chaos/run.ts";
import { shown, statusOf } from "./client-kit.ts";
import { later, open, ready, scene, stored } from "./client-subject.ts";

const asksFirst = (): Step => reply(text("Asking. "), toolCall("mail", { to: "ada" }, { id: "c1" }));
const answers = (count: number): Step[] => Array.from({ length: count }, () => reply(text("Fine.")));

test("an approval given before a question is not overtaken by it, and the call runs", async () => {
  const { host, network } = open(asksFirst(), ...answers(2));
  const client = await ready(network);
  await client.send("Mail ada");
  await network.cut();
  const [approved, asked] = [client.approve("c1"), client.send("How are you?")];
  await network.reconnect();
  await later(host, network, 120_000);
  await approved;
  expect(await asked).toMatchObject({ outcome: "completed" });
  expect(scene.effects).toEqual(["mail ada"]);
  expect(client.getSnapshot()).toMatchObject({ pendingApprovals: [], messages: await stored(host) });
});

test("the result of a client tool goes out before the question asked after it", async () => {
  const { host, network } = open(reply(toolCall("clock", {}, { id: "c1" })), ...answers(2));
  const client = await ready(network, {
    tools: { clock: { rerun: false, execute: () => new Promise(() => undefined) } }
  });
  await client.send("Time?");
  await network.cut();
  const [answered, asked] = [client.answerTool("c1", { time: "noon" }), client.send("And the date?")];
  await network.reconnect();
  await later(host, network, 120_000);
  await answered;
  expect(await asked).toMatchObject({ outcome: "completed" });
  expect(JSON.stringify(await stored(host))).toContain('"noon"');
  expect(client.getSnapshot()).toMatchObject({ pendingToolCalls: [], messages: await stored(host) });
});

test("a stop ends what was asked before it, and not what was asked after it", async () => {
  const { host, network } = open(reply(stall()), ...answers(1));
  const client = await ready(network);
  await network.cut();
  const first = client.send("first");
  const stopped = client.stop();
  const second = client.send("second");
  await network.reconnect();
  await later(host, network);
  await stopped;
  expect([await first, await second]).toMatchObject([{ outcome: "aborted" }, { outcome: "completed" }]);
  expect(shown(client).at(-1)).toBe("assistant:Fine.");
});

test("a question asked after a branch was chosen goes on from that branch", async () => {
  const { host, network } = open(reply(text("Red.")), reply(text("Blue.")), reply(text("Because.")));
  const client = await ready(network);
  await client.send("Colour?");
  const [, red] = client.getSnapshot().messages;
  await client.regenerate();
  await network.cut();
  const [chosen, asked] = [client.selectBranch(red?.id ?? ""), client.send("Why?")];
  await network.reconnect();
  await later(host, network);
  await chosen;
  expect(await asked).toMatchObject({ outcome: "completed" });
  expect(shown(client)).toEqual(["user:Colour?", "assistant:Red.", "user:Why?", "assistant:Because."]);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});

test("an edit and the question after it are two questions, in that order", async () => {
  const { host, network } = open(reply(text("One.")), reply(text("Two.")), reply(text("Three.")));
  const client = await ready(network);
  await client.send("first");
  const [question] = client.getSnapshot().messages;
  await network.cut();
  const ends = [client.edit(question?.id ?? "", "first, better"), client.send("second")];
  await network.reconnect();
  await later(host, network);
  expect(await Promise.all(ends)).toMatchObject([{ outcome: "completed" }, { outcome: "completed" }]);
  expect(shown(client)).toEqual(["user:first, better", "assistant:Two.", "user:second", "assistant:Three."]);
});

test("a clear takes along what was done before it, and nothing that was done after it", async () => {
  const { host, network } = open(...answers(3));
  const client = await ready(network);
  await client.send("old");
  await network.cut();
  const before = client.send("before");
  const cleared = client.clear();
  const after = client.send("after");
  await network.reconnect();
  await later(host, network);
  await cleared;
  expect([await before, await after]).toMatchObject([{ outcome: "skipped" }, { outcome: "completed" }]);
  expect(shown(client)).toEqual(["user:after", "assistant:Fine."]);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});

test("what was cleared away offline is not shown again before the agent has cleared it", async () => {
  const { network } = open(...answers(1));
  const client = await ready(network);
  await client.send("old");
  await network.cut();
  void client.clear();
  const lists = new Set<string>();
  client.subscribe(() => lists.add(shown(client).join("|")));
  await network.reconnect();
  expect([...lists]).toEqual([""]);
});

test("a call made after a state and a question is answered after both have arrived", async () => {
  const { host, network } = open(...answers(1));
  const client = await ready(network);
  await network.cut();
  client.setState({ count: 10 });
  void client.send("Hi");
  const sum = client.call("add", [1]);
  await network.reconnect();
  await later(host, network);
  expect(await sum).toBe(11);
  const commands = network.sent.map(({ type }) => type).filter((type) => !type?.includes("resume"));
  expect(commands).toEqual(["cf_agent_state", "cf_agent_use_chat_request", "rpc"]);
});

test("a decision over a parked action survives a connection that breaks before its answer, and runs once", async () => {
  for (const arrives of [true, false]) {
    const { host, network } = open(reply(toolCall("wire", { amount: 5 }, { id: "c1" })), ...answers(3));
    const client = await ready(network);
    await client.send("Wire 5");
    network.losesFrames = !arrives;
    const decided = client.approve("c1");
    await network.cut();
    network.losesFrames = false;
    await network.reconnect();
    await later(host, network, 120_000);
    expect(await decided, `arrives: ${arrives}`).toEqual({ wired: 5 });
    expect(scene.effects).toEqual(["wire 5"]);
    expect(client.getSnapshot()).toMatchObject({ pendingApprovals: [], messages: await stored(host) });
  }
});

test("approve, then ask: both arrive and nothing is done twice, after whichever write the server dies", async () => {
  let hasCrashed = true;
  for (let writes = 0; hasCrashed; writes += 1) {
    const { host, network } = open(asksFirst(), ...answers(6));
    const client = await ready(network);
    await client.send("Mail ada");
    await network.cut();
    const asked = (void client.approve("c1"), client.send("How are you?"));
    if (writes > 0) host.crashAfterWrite(writes);
    await quietly(async () => {
      await network.reconnect();
      // Long enough for the continuation to begin.
      await host.advance(1_000).catch(() => undefined);
      await host.untilCrashOrIdle();
    });
    hasCrashed = host.crashed || writes === 0;
    await host.restart();
    await network.notice();
    await network.reconnect();
    await later(host, network, 120_000);
    // A call that had begun is never begun again by itself: it is shown as interrupted.
    const isInterrupted = JSON.stringify(await stored(host)).includes('"output-error"');
    const mails = scene.effects.length;
    expect(isInterrupted ? mails <= 1 : mails === 1, `after ${writes} writes: ${mails} mails`).toBe(true);
    expect(await asked).toMatchObject({ outcome: "completed" });
    expect(client.getSnapshot()).toMatchObject({ pendingApprovals: [], messages: await stored(host) });
    if (!hasCrashed) expect(writes).toBeGreaterThan(5);
  }
});

test("what is done while an answer streams waits for no end of it", async () => {
  const gate = createGate();
  const { host, network } = open(reply(text("Half "), gate.wait(), text("and half.")), ...answers(1));
  const client = await ready(network);
  void client.send("Hi");
  await network.settle();
  const [stopped, asked] = [client.stop(), client.send("second")];
  gate.open();
  await later(host, network);
  await stopped;
  expect(await asked).toMatchObject({ outcome: "completed" });
  expect(statusOf(client)).toBe("settled");
});

test("a stop is known to the agent when its promise resolves, also for a turn of another tab", async () => {
  const { host, network } = open(reply(text("Half "), stall()));
  const one = await ready(network);
  const two = await ready(network);
  const ended = one.send("Hi");
  await network.settle();
  await two.stop();
  await later(host, network);
  expect(await ended).toMatchObject({ outcome: "aborted" });
});
