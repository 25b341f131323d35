// The versions that edits and regenerations leave, listed and chosen through the client library: what every tab shows,
// what the model is given afterwards, and what becomes of questions that wait on a branch that was left.
import { expect, test, vi } from "vitest";
import {
  createGate,
  createTestHost,
  everyCrash,
  fail,
  reply,
  text,
  toolCall,
  type Step
} from "../../src/testing/index.ts";
import { Network, shown, statusOf } from "./client-kit.ts";
import { later, open, ready, scene, stored, Subject } from "./client-subject.ts";
import { DAY_MS } from "../kit/time.ts";

type Opened = ReturnType<typeof open>;
type Client = Awaited<ReturnType<typeof ready>>;

function serving(agent: typeof Subject): Opened {
  const host = createTestHost({ agents: { Subject: agent } });
  return { host, network: new Network(host) };
}

/** Of the newest call of the model: who said what, system prompt aside. */
const prompted = (): string[] =>
  (scene.script.calls.at(-1)?.prompt ?? [])
    .filter(({ role }) => role !== "system")
    .map(({ role, content }) => {
      const parts = typeof content === "string" ? [] : content;
      return `${role}:${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`;
    });

async function say(client: Client, { network }: Opened, words: string) {
  void client.send(words);
  await network.settle();
}

/** The answer of a call, which needs the host to move. */
async function settled<T>(work: Promise<T>, { network }: Opened): Promise<T> {
  const outcome = Promise.allSettled([work]);
  await network.settle();
  const [result] = await outcome;
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

const idAt = (client: Client, index: number): string => client.getSnapshot().messages.at(index)?.id ?? "";

/** "A colour?" was answered Red, which went on with a size, and then Blue. */
const coloured = (...more: Step[]) => colouredOn(Subject, ...more);

async function colouredOn(agent: typeof Subject, ...more: Step[]) {
  const opened = open(reply(text("Red.")), reply(text("Big.")), reply(text("Blue.")), ...more);
  if (agent !== Subject) Object.assign(opened, serving(agent));
  const client = await ready(opened.network);
  await say(client, opened, "A colour?");
  const red = idAt(client, 1);
  await say(client, opened, "A size?");
  void client.regenerate(red);
  await opened.network.settle();
  return { opened, client, red, blue: idAt(client, 1) };
}

const RED = ["user:A colour?", "assistant:Red.", "user:A size?", "assistant:Big."];
const BLUE = ["user:A colour?", "assistant:Blue."];

test("a chosen version is shown to every tab with what followed it, also after a restart", async () => {
  const { opened, client, red, blue } = await coloured();
  const { host, network } = opened;
  const other = await ready(network);
  expect(shown(client)).toEqual(BLUE);
  expect(await settled(client.branches(), opened)).toEqual({ [blue]: [red, blue] });
  await settled(client.selectBranch(red), opened);
  expect(shown(client)).toEqual(RED);
  expect(shown(other)).toEqual(RED);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect(await settled(client.branches(), opened)).toEqual({ [red]: [red, blue] });
  await host.restart();
  expect(shown(await ready(network))).toEqual(RED);
});

test("the model is given exactly the chosen branch, and the conversation goes on below it", async () => {
  const { opened, client, red, blue } = await coloured(reply(text("Round.")), reply(text("Dark.")));
  await settled(client.selectBranch(red), opened);
  await say(client, opened, "A shape?");
  expect(prompted()).toEqual([...RED, "user:A shape?"]);
  expect(shown(client)).toEqual([...RED, "user:A shape?", "assistant:Round."]);
  await settled(client.selectBranch(blue), opened);
  await say(client, opened, "A shade?");
  expect(prompted()).toEqual([...BLUE, "user:A shade?"]);
  await settled(client.selectBranch(red), opened);
  expect(shown(client)).toEqual([...RED, "user:A shape?", "assistant:Round."]);
});

test("on a chosen branch a question is answered again and edited, and each version is listed where it stands", async () => {
  const { opened, client, red, blue } = await coloured(reply(text("Small.")), reply(text("Long.")));
  await settled(client.selectBranch(red), opened);
  const big = idAt(client, 3);
  void client.regenerate();
  await opened.network.settle();
  expect(prompted()).toEqual(RED.slice(0, 3));
  expect(shown(client)).toEqual([...RED.slice(0, 3), "assistant:Small."]);
  const [size, small] = [idAt(client, 2), idAt(client, 3)];
  expect(await settled(client.branches(), opened)).toEqual({ [red]: [red, blue], [small]: [big, small] });
  void client.edit(size, "A length?");
  await opened.network.settle();
  expect(prompted()).toEqual([...RED.slice(0, 2), "user:A length?"]);
  const listed = await settled(client.branches(), opened);
  expect(listed).toMatchObject({ [red]: [red, blue], [size]: [expect.any(String), size] });
  await settled(client.selectBranch(listed[size]?.[0] ?? ""), opened);
  expect(shown(client)).toEqual([...RED.slice(0, 3), "assistant:Small."]);
});

test("an unknown message is refused in words, and nothing changes", async () => {
  const { opened, client } = await coloured();
  await expect(settled(client.selectBranch("nobody"), opened)).rejects.toMatchObject({
    code: "call-failed",
    message: 'There is no message "nobody" in this conversation.'
  });
  // A client without types.
  const odd = client.call("selectBranch", [JSON.parse('{"a":1}') as string]);
  await expect(settled(odd, opened)).rejects.toMatchObject({ message: /There is no message/ });
  expect(shown(client)).toEqual(BLUE);
});

test("no version is chosen while a turn is running or waiting, and the same choice is taken afterwards", async () => {
  const gate = createGate();
  const { opened, client, red } = await coloured(reply(text("A"), gate.wait(), text("B")), reply(text("C")));
  const { host } = opened;
  await say(client, opened, "More?");
  await say(client, opened, "And?");
  await expect(settled(client.selectBranch(red), opened)).rejects.toMatchObject({
    message: "Another version can be shown when the current answer is complete."
  });
  const agent = await host.get(Subject, "a");
  await expect(agent.selectBranch(red)).rejects.toMatchObject({ message: /current answer is complete/ });
  gate.open();
  await opened.network.settle();
  expect(shown(client)).toEqual([...BLUE, "user:More?", "assistant:AB", "user:And?", "assistant:C"]);
  await settled(client.selectBranch(red), opened);
  expect(shown(client)).toEqual(RED);
});

test("a failed question that is not shown any more is not told to clients that come later", async () => {
  const { opened, client, red } = await coloured(fail(new Error("down"), { statusCode: 400 }));
  await say(client, opened, "More?");
  expect((await ready(opened.network)).getSnapshot().error).toBe("It broke.");
  await settled(client.selectBranch(red), opened);
  expect((await ready(opened.network)).getSnapshot().error).toBeUndefined();
});

/** A mail that waits for approval in an answer, beside another answer. */
async function asked(calls: Step, ...more: Step[]) {
  const opened = open(reply(text("No mail.")), calls, ...more);
  const client = await ready(opened.network);
  await say(client, opened, "Mail?");
  const plain = idAt(client, 1);
  void client.regenerate();
  await opened.network.settle();
  return { opened, client, plain, parked: idAt(client, 1) };
}

const mail = (to: string) => toolCall("mail", { to }, { id: `c-${to}` });

test("an answer that waits for approval can be left, is not asked about meanwhile, and is decided on return", async () => {
  const { opened, client, plain, parked } = await asked(
    reply(mail("ada")),
    reply(text("Aside.")),
    reply(text("Sent."))
  );
  const { host, network } = opened;
  expect(statusOf(client)).toBe("parked");
  await settled(client.selectBranch(plain), opened);
  expect(client.getSnapshot()).toMatchObject({ status: "settled", pendingApprovals: [] });
  await say(client, opened, "Well?");
  expect(shown(client)).toEqual(["user:Mail?", "assistant:No mail.", "user:Well?", "assistant:Aside."]);
  await host.restart();
  await network.notice();
  await network.reconnect();
  await settled(client.selectBranch(parked), opened);
  expect(client.getSnapshot()).toMatchObject({ status: "parked", pendingApprovals: [{ callId: "c-ada" }] });
  await client.approve("c-ada");
  await later(host, network);
  expect(scene.effects).toEqual(["mail ada"]);
  expect(shown(client).at(-1)).toContain("Sent.");
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});

test("an answer half decided can be left: no client waits for it, other branches go on, and the rest is decided on return", async () => {
  const calls = reply(mail("ada"), mail("bob"));
  const { opened, client, plain, parked } = await asked(
    calls,
    reply(mail("cyd")),
    reply(text("Cyd knows.")),
    reply(text("Both know."))
  );
  const { host, network } = opened;
  await client.approve("c-ada");
  await later(host, network);
  const other = await ready(network);
  expect([statusOf(client), statusOf(other)]).toEqual(["queued", "parked"]);
  await settled(client.selectBranch(plain), opened);
  expect([statusOf(client), statusOf(other)]).toEqual(["settled", "idle"]);
  await say(client, opened, "Mail cyd");
  await client.approve("c-cyd");
  await later(host, network);
  expect(shown(client).at(-1)).toContain("Cyd knows.");
  await settled(client.selectBranch(parked), opened);
  expect(client.getSnapshot().pendingApprovals).toMatchObject([{ callId: "c-bob" }]);
  await client.approve("c-bob");
  await later(host, network);
  expect(scene.effects.toSorted()).toEqual(["mail ada", "mail bob", "mail cyd"]);
  expect(shown(client).at(-1)).toContain("Both know.");
});

test("a client tool that ends after its branch was left runs again on return, and its answer counts then", async () => {
  const opened = open(reply(text("Small.")), reply(toolCall("measure", {}, { id: "c1" })), reply(text("It is 7.")));
  const { host, network } = opened;
  const gates = [createGate(), createGate()];
  let runs = 0;
  const measure = async () => {
    await gates[runs++]?.opened;
    return runs === 1 ? "too late" : 7;
  };
  const client = await ready(network, { tools: { measure: { execute: measure } } });
  const other = await ready(network);
  await say(client, opened, "A size?");
  const small = idAt(client, 1);
  void client.regenerate();
  await network.settle();
  const measured = idAt(client, 1);
  expect(statusOf(client)).toBe("parked");
  await settled(other.selectBranch(small), opened);
  gates[0]?.open();
  await later(host, network);
  expect(shown(client)).toEqual(["user:A size?", "assistant:Small."]);
  await settled(other.selectBranch(measured), opened);
  gates[1]?.open();
  await later(host, network);
  expect(runs).toBe(2);
  expect(outputs(client)).toEqual([7]);
  expect(shown(client).at(-1)).toContain("It is 7.");
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});

const wire = toolCall("wire", { amount: 5 }, { id: "c1" });
const outputs = (client: Client): unknown[] =>
  client
    .getSnapshot()
    .messages.flatMap(({ parts }) => parts.flatMap((part) => ("output" in part ? [part.output] : [])));

test("a parked action is listed from every branch, and decided in its own place on return", async () => {
  const { opened, client, plain, parked } = await asked(reply(wire), reply(text("I asked.")), reply(text("Wired.")));
  await settled(client.selectBranch(plain), opened);
  expect(await settled(client.call("pendingApprovals", []), opened)).toHaveLength(1);
  await settled(client.selectBranch(parked), opened);
  const [waiting] = client.getSnapshot().pendingApprovals;
  const decided = client.approve(waiting?.callId ?? "");
  await later(opened.host, opened.network);
  expect(await decided).toEqual({ wired: 5 });
  expect(outputs(client)).toEqual([{ wired: 5 }]);
  expect(shown(client).at(-1)).toBe("assistant:Wired.");
});

test("a parked action decided from another branch runs once, is told there, and stands decided where it was asked", async () => {
  const { opened, client, plain, parked } = await asked(reply(wire), reply(text("I asked.")), reply(text("Noted.")));
  const { host, network } = opened;
  await settled(client.selectBranch(plain), opened);
  const [waiting] = await settled(client.call("pendingApprovals", []), opened);
  const decided = client.approve(waiting?.executionId ?? "");
  await later(host, network);
  expect(await decided).toEqual({ wired: 5 });
  expect(shown(client).at(-2)).toContain('has an outcome: {"wired":5}');
  expect(shown(client).at(-1)).toBe("assistant:Noted.");
  await settled(client.selectBranch(parked), opened);
  expect(outputs(client)).toEqual([{ wired: 5 }]);
  expect(client.getSnapshot().pendingApprovals).toEqual([]);
  expect(scene.effects).toEqual(["wire 5"]);
});

test("a parked action that expires on a branch that is not shown is no open question on return", async () => {
  const { opened, client, plain, parked } = await asked(reply(wire), reply(text("I asked.")));
  await settled(client.selectBranch(plain), opened);
  await later(opened.host, opened.network, 31 * DAY_MS);
  await settled(client.selectBranch(parked), opened);
  expect(outputs(client)).toMatchObject([{ status: "expired" }]);
  expect(client.getSnapshot().pendingApprovals).toEqual([]);
});

test("versions are listed for the messages that are shown, and not for older ones", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  class Narrow extends Subject {
    override hydrationByteBudget = 1;
  }
  const { opened, client, red, blue } = await colouredOn(Narrow, reply(text("One.")), reply(text("Two.")));
  await say(client, opened, "Once?");
  expect(await settled(client.branches(), opened)).toEqual({ [blue]: [red, blue] });
  await say(client, opened, "Twice?");
  expect(await stored(opened.host)).toHaveLength(4);
  expect(await settled(client.branches(), opened)).toEqual({});
});

test("wherever the process dies, a choice was made or was not, and can be made again", async () => {
  // A dying process also fails to send its status.
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const chosen = { red: "" };
  const result = await everyCrash({
    create: async () => {
      const { opened, client, red } = await coloured(reply(mail("ada"), mail("bob")));
      await say(client, opened, "Mail both");
      chosen.red = red;
      await client.approve("c-ada");
      await later(opened.host, opened.network);
      client.close();
      await opened.network.settle();
      return opened.host;
    },
    script: async (host) => (await host.get(Subject, "a")).selectBranch(chosen.red),
    finish: async (host) => (await host.get(Subject, "a")).selectBranch(chosen.red),
    inspect: async (host) => {
      const messages = await stored(host);
      const conversation = host.sql(Subject, "a", "SELECT armed_continuation FROM cf_conversations");
      return { words: messages.map(({ parts }) => parts), conversation };
    },
    points: "both"
  });
  expect(result.points).toBeGreaterThan(2);
  expect(result.differences).toEqual([]);
});
