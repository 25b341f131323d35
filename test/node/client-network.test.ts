// The client library when cables are pulled, servers die and frames come twice. Rows of the lessons' section D are named
// where they are pinned.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createGate, failInBand, reply, stall, text, toolCall } from "../../src/testing/index.ts";
import { quietly } from "../../src/testing/chaos/run.ts";
import { shown, statuses, statusOf } from "./client-kit.ts";
import { later, open, ready, scene, stored } from "./client-subject.ts";

test("a connection that breaks in the middle takes nothing off the screen, and the rest follows", async () => {
  const gate = createGate();
  const { host, network } = open(reply(text("Half "), gate.wait(), text("and half.")));
  const client = await ready(network);
  const lists = new Set<string>();
  void client.send("Hi");
  await network.settle();
  client.subscribe(() => lists.add(shown(client).join("|")));
  await network.cut();
  expect(client.getSnapshot()).toMatchObject({ connection: "reconnecting", status: "running" });
  gate.open();
  await network.settle();
  await network.reconnect();
  expect([...lists].every((list) => list.startsWith("user:Hi|assistant:Half "))).toBe(true);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect(statusOf(client)).toBe("settled");
});

test("stop pressed while offline reaches the turn on the next connection", async () => {
  const { network } = open(reply(text("Half "), stall()));
  const client = await ready(network);
  const ended = client.send("Hi");
  await network.settle();
  await network.cut();
  client.stop();
  await network.reconnect();
  expect(await ended).toMatchObject({ outcome: "aborted" });
  expect(statusOf(client)).toBe("settled");
});

test("D2, D12: a turn whose server died goes on, is shown as such, and ends", async () => {
  const { host, network } = open(reply(text("Half "), stall()), reply(text("and half.")));
  const client = await ready(network);
  const seen = statuses(client);
  const ended = client.send("Hi");
  await later(host, network, 2_000);
  await host.restart();
  await network.notice();
  expect(shown(client)).toEqual(["user:Hi", "assistant:Half "]);
  await network.reconnect();
  await later(host, network, 120_000);
  expect(shown(client)).toEqual(["user:Hi", "assistant:Half and half."]);
  expect(client.getSnapshot()).toMatchObject({ status: "settled", isRecovering: false, error: undefined });
  expect(await ended).toMatchObject({ outcome: "completed" });
  expect(seen.at(-1)).toBe("settled");
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});

test("D3, D4: a failure while offline is told after the reconnect, with the text that was there", async () => {
  const gate = createGate();
  const { host, network } = open(reply(text("Half "), gate.wait(), failInBand(new Error("boom"))));
  const client = await ready(network);
  const ended = client.send("Hi");
  await network.settle();
  await network.cut();
  gate.open();
  await later(host, network);
  await network.reconnect();
  expect(await ended).toMatchObject({ outcome: "error", error: "It broke." });
  expect(client.getSnapshot()).toMatchObject({ status: "settled", error: "It broke." });
  expect(shown(client)).toEqual(["user:Hi", "assistant:Half "]);
  // A page that comes later learns of it as well (D13: as an error, not as a message).
  const other = await ready(network);
  expect(other.getSnapshot()).toMatchObject({ status: "settled", error: "It broke." });
  expect(other.getSnapshot().messages).toEqual(await stored(host));
});

test("an answer that ended while offline leaves no spinner behind", async () => {
  const gate = createGate();
  const { host, network } = open(reply(text("Half "), gate.wait(), text("and half.")));
  const client = await ready(network);
  const ended = client.send("Hi");
  await network.settle();
  await network.cut();
  gate.open();
  await later(host, network);
  await network.reconnect();
  expect(statusOf(client)).toBe("settled");
  expect(await ended).toMatchObject({ outcome: "completed" });
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});

test("messages written while offline are sent once, in order, when the network is back", async () => {
  const { host, network } = open(reply(text("One.")), reply(text("Two.")));
  const client = await ready(network);
  await network.cut();
  const ends = [client.send("first"), client.send("second")];
  expect(shown(client)).toEqual(["user:first", "user:second"]);
  expect(statusOf(client)).toBe("queued");
  await network.reconnect();
  await later(host, network);
  expect((await Promise.all(ends)).map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
  expect(shown(client)).toEqual(["user:first", "assistant:One.", "user:second", "assistant:Two."]);
});

test("a message is asked once and answered, after whichever write the server died", async () => {
  let hasCrashed = true;
  for (let writes = 0; hasCrashed; writes += 1) {
    // A kill may cost an attempt; the next one finds an answer too.
    const { host, network } = open(...Array.from({ length: 3 }, () => reply(text("Answer."))));
    const client = await ready(network);
    const ended = client.send("Hi");
    if (writes === 0) host.kill();
    else host.crashAfterWrite(writes);
    await quietly(() => host.untilCrashOrIdle());
    hasCrashed = host.crashed;
    await host.restart();
    await network.notice();
    await network.reconnect();
    await later(host, network, 120_000);
    expect(shown(client), `after ${writes} writes`).toEqual(["user:Hi", "assistant:Answer."]);
    expect(client.getSnapshot().messages).toEqual(await stored(host));
    expect(statusOf(client)).toBe("settled");
    expect(await ended).toMatchObject({ outcome: "completed" });
    if (!hasCrashed) expect(writes).toBeGreaterThan(3);
  }
});

const disturbances = fc.array(fc.constantFrom("cut", "reconnect", "restart", "pass", "twice", "once"), {
  maxLength: 8
});

test("whatever happens to network and server, screen and storage agree in the end, and the mail is sent once", async () => {
  const play = async (before: readonly string[], after: readonly string[]) => {
    const again = Array.from({ length: 12 }, () => reply(text("Done.")));
    const { host, network } = open(reply(text("Asking. "), toolCall("mail", { to: "ada" }, { id: "c1" })), ...again);
    const client = await ready(network);
    const disturb = async (kinds: readonly string[]) => {
      for (const kind of kinds) {
        if (kind === "cut") await network.cut();
        if (kind === "reconnect") await network.reconnect();
        if (kind === "restart") await host.restart().then(() => network.notice());
        if (kind === "pass") await later(host, network, 100);
        if (kind === "twice") network.copies = 2;
        if (kind === "once") network.copies = 1;
      }
    };
    void client.send("Mail ada");
    await disturb(before);
    await network.reconnect();
    await later(host, network, 120_000);
    expect(client.getSnapshot()).toMatchObject({ status: "parked", pendingApprovals: [{ callId: "c1" }] });
    void client.approve("c1");
    await disturb(after);
    await network.reconnect();
    await later(host, network, 120_000);
    expect(client.getSnapshot()).toMatchObject({ status: "settled", pendingApprovals: [], error: undefined });
    expect(client.getSnapshot().messages).toEqual(await stored(host));
    expect(scene.effects).toEqual(["mail ada"]);
    client.close();
  };
  await quietly(() =>
    fc.assert(fc.asyncProperty(disturbances, disturbances, play), { numRuns: Number(process.env["RUNS"] ?? 40) })
  );
});

test("frames that come twice change nothing", async () => {
  const { host, network } = open(
    reply(text("Looking. "), toolCall("mail", { to: "ada" }, { id: "c1" })),
    reply(text("Done."))
  );
  network.copies = 2;
  const client = await ready(network);
  void client.send("Hi");
  await network.settle();
  expect(shown(client)).toEqual(["user:Hi", "assistant:Looking. "]);
  await client.approve("c1");
  await later(host, network);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect(scene.effects).toEqual(["mail ada"]);
});

test("D10: connections that break in quick succession end with what is stored", async () => {
  const gate = createGate();
  const { host, network } = open(reply(text("Half "), gate.wait(), text("and half.")));
  const client = await ready(network);
  void client.send("Hi");
  await network.settle();
  for (let round = 0; round < 5; round += 1) {
    await network.cut();
    await network.reconnect();
  }
  gate.open();
  await network.settle();
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect(statusOf(client)).toBe("settled");
});

test("D11: a call made offline waits for the network, one that was under way is reported as lost", async () => {
  const { network } = open();
  const client = await ready(network);
  const held = expect(client.call("hold", [])).rejects.toMatchObject({ code: "call-lost" });
  await network.settle();
  await network.cut();
  await held;
  const sum = client.call("add", [1]);
  await network.reconnect();
  expect(await sum).toBe(1);
});

test("D14: each connection asks for its query anew, and the screen stays", async () => {
  const { network } = open(reply(text("Hello.")));
  let token = 0;
  const client = await ready(network, { query: async () => ({ token: String((token += 1)) }) });
  void client.send("Hi");
  await network.settle();
  await network.cut();
  await network.reconnect();
  const tokens = network.urls.map((url) => new URL(url).searchParams.get("token"));
  expect(tokens).toEqual(["1", "2"]);
  expect(new Set(network.urls.map((url) => new URL(url).searchParams.get("_pk"))).size).toBe(1);
  expect(shown(client)).toEqual(["user:Hi", "assistant:Hello."]);
});

test("a turn that ends while its stream is being joined again leaves its client tool to be run before the next question", async () => {
  const gate = createGate();
  const steps = [reply(text("Half "), gate.wait(), toolCall("clock", {}, { id: "c1" })), reply(text("It is noon."))];
  const { host, network } = open(...steps, reply(text("You are welcome.")));
  const runs: string[] = [];
  const client = await ready(network, { tools: { clock: { execute: () => void runs.push("run") } } });
  const waiting: string[][] = [];
  const report = () => void waiting.push(client.getSnapshot().pendingToolCalls.map(({ callId }) => callId));
  const next = client.send("Time?").then(report);
  await network.settle();
  await network.cut();
  // The turn ends after the offer, and before the server has its acknowledgement.
  network.onSent = (type) => {
    if (type === "cf_agent_stream_resume_ack") gate.open();
    return type === "cf_agent_stream_resume_ack";
  };
  await network.reconnect();
  await later(host, network);
  await next;
  expect(waiting).toEqual([["c1"]]);
  network.onSent = () => false;
  await later(host, network);
  expect(runs).toEqual(["run"]);
  expect(shown(client).at(-1)).toBe("assistant:Half It is noon.");
});
