// Client tools, approvals and parked actions through the client library, over reloads and restarts.
import { expect, test } from "vitest";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { shown, statuses, statusOf } from "./client-kit.ts";
import { later, open, ready, scene, stored } from "./client-subject.ts";

test("an approval is asked, answered once, and the answer goes on", async () => {
  const { host, network } = open(reply(toolCall("mail", { to: "ada" }, { id: "c1" })), reply(text("Done.")));
  const client = await ready(network);
  const seen = statuses(client);
  void client.send("Mail ada");
  await network.settle();
  expect(client.getSnapshot()).toMatchObject({
    status: "parked",
    pendingApprovals: [{ callId: "c1", toolName: "mail", input: { to: "ada" } }]
  });
  await client.approve("c1");
  expect(client.getSnapshot().pendingApprovals).toEqual([]);
  await later(host, network);
  expect(scene.effects).toEqual(["mail ada"]);
  expect(statusOf(client)).toBe("settled");
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect(seen).not.toContain("recovering");
  expect(seen.at(-1)).toBe("settled");
});

test("a rejected call never runs, and the answer goes on", async () => {
  const { host, network } = open(reply(toolCall("mail", { to: "ada" }, { id: "c1" })), reply(text("Fine.")));
  const client = await ready(network);
  void client.send("Mail ada");
  await network.settle();
  await client.reject("c1");
  await later(host, network);
  expect(scene.effects).toEqual([]);
  expect(shown(client).at(-1)).toContain("Fine.");
});

test("an approval given while offline is delivered, and a parked question survives a restart of the server", async () => {
  const { host, network } = open(reply(toolCall("mail", { to: "ada" }, { id: "c1" })), reply(text("Done.")));
  const client = await ready(network);
  void client.send("Mail ada");
  await network.settle();
  await host.restart();
  await network.notice();
  const approved = client.approve("c1");
  await network.reconnect();
  await later(host, network);
  await approved;
  expect(scene.effects).toEqual(["mail ada"]);
  expect(client.getSnapshot()).toMatchObject({ status: "settled", pendingApprovals: [] });
});

test("a parked action is on the screen of a new page, and runs once when it is approved there", async () => {
  const { host, network } = open(
    reply(toolCall("wire", { amount: 5 }, { id: "c1" })),
    reply(text("I asked.")),
    reply(text("Wired."))
  );
  const first = await ready(network);
  void first.send("Wire 5");
  await network.settle();
  first.close();
  await host.restart();
  const client = await ready(network);
  const [asked] = client.getSnapshot().pendingApprovals;
  expect(asked).toMatchObject({ callId: "c1", toolName: "wire", descriptor: { summary: "Wires it for good." } });
  expect(statusOf(client)).toBe("parked");
  const decided = client.approve(asked?.executionId ?? "");
  expect(client.getSnapshot().pendingApprovals).toEqual([]);
  await later(host, network);
  expect(await decided).toEqual({ wired: 5 });
  expect(scene.effects).toEqual(["wire 5"]);
  expect(client.getSnapshot()).toMatchObject({ status: "settled", pendingApprovals: [] });
  expect(shown(client).at(-1)).toContain("Wired.");
});

test("a program can decide over approvals", async () => {
  const { host, network } = open(reply(toolCall("mail", { to: "ada" }, { id: "c1" })), reply(text("Done.")));
  const client = await ready(network, { onApproval: ({ toolName }: { toolName: string }) => toolName === "mail" });
  void client.send("Mail ada");
  await network.settle();
  await later(host, network);
  expect(scene.effects).toEqual(["mail ada"]);
});

const clock = (runs: string[], rerun = true) => ({
  tools: {
    clock: {
      description: "The time here.",
      rerun,
      execute: () => {
        runs.push("run");
        return { time: "noon" };
      }
    }
  }
});

test("a client tool runs once, in the tab that asked, and the answer goes on", async () => {
  const { host, network } = open(reply(toolCall("clock", {}, { id: "c1" })), reply(text("It is noon.")));
  const runs: string[][] = [[], []];
  const one = await ready(network, clock(runs[0] ?? []));
  const two = await ready(network, clock(runs[1] ?? []));
  void one.send("Time?");
  await network.settle();
  await later(host, network);
  expect(runs).toEqual([["run"], []]);
  expect(shown(one).at(-1)).toBe("assistant:It is noon.");
  expect(one.getSnapshot().messages).toEqual(await stored(host));
  expect(two.getSnapshot().messages).toEqual(await stored(host));
  expect([statusOf(one), statusOf(two)]).toEqual(["settled", "settled"]);
});

test("a client tool that fails tells the model why", async () => {
  const { host, network } = open(reply(toolCall("clock", {}, { id: "c1" })), reply(text("No clock.")));
  const client = await ready(network, {
    tools: {
      clock: {
        execute: () => {
          throw new Error("It stands still.");
        }
      }
    }
  });
  void client.send("Time?");
  await network.settle();
  await later(host, network);
  expect(JSON.stringify(scene.script.calls[1]?.prompt)).toContain("It stands still.");
  expect(shown(client).at(-1)).toBe("assistant:No clock.");
});

test("a call found after a refresh is run again, unless its tool must not be", async () => {
  for (const rerun of [true, false]) {
    const { host, network } = open(reply(toolCall("clock", {}, { id: "c1" })), reply(text("It is noon.")));
    // A page that offers the tool and is gone before it answers.
    const first = await ready(network, { tools: { clock: { execute: () => new Promise(() => undefined) } } });
    void first.send("Time?");
    await network.settle();
    first.close();
    const runs: string[] = [];
    const second = await ready(network, clock(runs, rerun));
    await later(host, network);
    expect(runs).toEqual(rerun ? ["run"] : []);
    expect(statusOf(second)).toBe(rerun ? "settled" : "parked");
    if (rerun) continue;
    second.answerTool("c1", { time: "one" });
    await network.settle();
    await later(host, network);
    expect(statusOf(second)).toBe("settled");
  }
});

test("an approval and a client's call stay on the screen while the conversation goes on, and are decided later", async () => {
  const { host, network } = open(
    reply(toolCall("mail", { to: "ada" }, { id: "c1" })),
    reply(toolCall("clock", {}, { id: "c2" })),
    reply(text("Meanwhile.")),
    reply(text("It is noon.")),
    reply(text("Mailed."))
  );
  const client = await ready(network, {
    tools: { clock: { rerun: false, execute: () => new Promise(() => undefined) } }
  });
  for (const words of ["Mail ada", "Time?", "Else?"]) {
    void client.send(words);
    await network.settle();
  }
  expect(client.getSnapshot()).toMatchObject({
    status: "settled",
    pendingApprovals: [{ callId: "c1", toolName: "mail" }],
    pendingToolCalls: [{ callId: "c2", toolName: "clock" }]
  });
  client.answerTool("c2", "noon");
  await later(host, network);
  await client.approve("c1");
  await later(host, network);
  expect(scene.effects).toEqual(["mail ada"]);
  expect(client.getSnapshot()).toMatchObject({ status: "settled", pendingApprovals: [], pendingToolCalls: [] });
  expect(client.getSnapshot().error).toBeUndefined();
  expect(shown(client).slice(-3)).toEqual(["assistant:Meanwhile.", "assistant:It is noon.", "assistant:Mailed."]);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});
