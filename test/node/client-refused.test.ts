// What a client says when it is not let in, and when the agent refuses what a person did.
import { expect, test, vi } from "vitest";
import { createThinkClient, type ThinkClientOptions } from "../../src/client/index.ts";
import { reply, stall, text, toolCall } from "../../src/testing/index.ts";
import { type Network, shown } from "./client-kit.ts";
import { later, open, ready, scene, stored } from "./client-subject.ts";

test("an address that the server does not know ends what was asked, with the server's words", async () => {
  const { network } = open();
  network.answer = { status: 404, words: "No such page" };
  const client = network.client();
  const ended = client.send("Hi");
  const call = client.call("add", [1]).catch(String);
  await network.settle();
  for (let attempt = 0; attempt < 3; attempt += 1) await network.reconnect();
  const problem = "The server refused the connection: 404 No such page";
  expect(await ended).toEqual({ requestId: expect.any(String), outcome: "error", error: problem });
  expect(await call).toContain(problem);
  expect(client.getSnapshot()).toMatchObject({
    connection: "refused",
    connectionError: problem,
    error: problem,
    status: "settled"
  });
  // What was written stays for the person to send again.
  expect(shown(client)).toEqual(["user:Hi"]);
  const attempts = network.urls.length;
  expect(await client.send("Still there?")).toMatchObject({ outcome: "error", error: problem });
  await expect(client.approve("c1")).rejects.toMatchObject({ code: "client-closed", message: problem });
  await network.reconnect();
  expect(network.urls).toHaveLength(attempts);
});

test("a client that was refused can be connected again, and then all is as before", async () => {
  const { host, network } = open(reply(text("Hello.")));
  network.answer = { status: 403, words: "Log in first" };
  const client = network.client();
  await network.settle();
  for (let attempt = 0; attempt < 3; attempt += 1) await network.reconnect();
  expect(client.getSnapshot()).toMatchObject({ connection: "refused" });
  network.answer = undefined;
  client.connect();
  await network.settle();
  expect(client.getSnapshot()).toMatchObject({ connection: "open", connectionError: undefined });
  expect(await client.send("Hi")).toMatchObject({ outcome: "completed" });
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});

test("while a server cannot be reached the reason is told, and what was asked waits", async () => {
  const { host, network } = open(reply(text("Hello.")));
  network.isUp = false;
  const client = network.client();
  const ended = client.send("Hi");
  await network.settle();
  await network.reconnect();
  expect(client.getSnapshot()).toMatchObject({
    connection: "reconnecting",
    connectionError: "The server cannot be reached.",
    status: "queued",
    error: undefined
  });
  network.isUp = true;
  await network.reconnect();
  await later(host, network);
  expect(await ended).toMatchObject({ outcome: "completed" });
  expect(client.getSnapshot().connectionError).toBeUndefined();
});

test("a program may give up after some attempts", async () => {
  const { network } = open();
  network.isUp = false;
  const client = createThinkClient({ ...network.options({}, "a"), maxRetries: 2 } as ThinkClientOptions);
  const ended = client.send("Hi");
  await network.settle();
  for (let attempt = 0; attempt < 3; attempt += 1) await network.reconnect();
  expect(await ended).toMatchObject({ outcome: "error", error: "The server cannot be reached." });
  expect(client.getSnapshot().connection).toBe("refused");
});

test("closed for good in the middle: what the agent has may go on there, the rest was never asked", async () => {
  const { network } = open(reply(text("Half "), stall()));
  const client = await ready(network);
  const [running, unsent] = [client.send("Hi"), client.send("And?")];
  await network.settle();
  network.losesFrames = true;
  const late = client.send("Never arrives");
  await network.kick(4001, "Your session has ended");
  const problem = "The server closed the connection: Your session has ended (4001).";
  expect(await running).toMatchObject({ outcome: "unknown", error: problem });
  expect(await unsent).toMatchObject({ error: problem });
  expect(await late).toMatchObject({ outcome: "error", error: problem });
  expect(client.getSnapshot()).toMatchObject({ connection: "refused", connectionError: problem });
});

test("a message that is too large to be sent ends at once with an error, and the connection stays", async () => {
  const { network } = open();
  const client = await ready(network);
  const { outcome, error } = await client.send("x".repeat(33_600_000));
  expect([outcome, error]).toEqual(["error", expect.stringContaining("too large to be sent")]);
  expect(client.getSnapshot()).toMatchObject({ connection: "open", error });
  expect(network.urls).toHaveLength(1);
});

test("a message that the server finds too large is not sent again", async () => {
  const { host, network } = open(reply(text("Hello.")));
  const client = await ready(network);
  network.losesFrames = true;
  const [large, small] = [client.send("large ".repeat(1_000)), client.send("small")];
  await network.kick(1009, "Message is too large");
  network.losesFrames = false;
  await network.reconnect();
  await later(host, network);
  expect(await large).toMatchObject({ outcome: "error", error: expect.stringContaining("too large") });
  expect(await small).toMatchObject({ outcome: "completed" });
});

test("an answer that is too large to be sent is the error of that answer, and the question is back", async () => {
  const { network } = open(reply(toolCall("clock", {}, { id: "c1" })));
  const client = await ready(network, { tools: { clock: { execute: () => new Promise(() => undefined) } } });
  await client.send("Time?");
  await expect(client.answerTool("c1", "x".repeat(33_600_000))).rejects.toMatchObject({ code: "frame-too-large" });
  expect(client.getSnapshot()).toMatchObject({
    connection: "open",
    pendingToolCalls: [{ callId: "c1" }],
    error: expect.stringContaining("too large")
  });
});

const refusals: [string, (id: string, error: string) => object][] = [
  ["a frame of its own", (toolCallId, error) => ({ type: "cf_agent_chat_error", toolCallId, error })],
  ["a frame of the tools", (toolCallId, error) => ({ type: "cf_agent_tool_error", toolCallId, error })],
  [
    "an end with the call's id",
    (id, body) => ({ type: "cf_agent_use_chat_response", id, body, done: true, error: true })
  ]
];

test.each(refusals)(
  "a refused approval is the error of that approval, and the question is back: %s",
  async (_how, frame) => {
    const { network } = open(reply(toolCall("mail", { to: "ada" }, { id: "c1" })));
    const client = await ready(network);
    await client.send("Mail ada");
    network.losesFrames = true;
    const approved = client.approve("c1");
    expect(client.getSnapshot().pendingApprovals).toEqual([]);
    network.tell(frame("c1", "This connection may not approve."));
    await expect(approved).rejects.toMatchObject({
      code: "command-refused",
      message: "This connection may not approve."
    });
    expect(client.getSnapshot()).toMatchObject({
      error: "This connection may not approve.",
      pendingApprovals: [{ callId: "c1" }]
    });
    expect(scene.effects).toEqual([]);
  }
);

/** Answers to the call are refused, a few times: a client that never stops would keep the test from failing. */
function refuse(network: Network, type: string): void {
  let refusals = 0;
  network.onSent = (sent) => {
    if (sent !== type) return false;
    refusals += 1;
    if (refusals < 5) network.tell({ type: "cf_agent_tool_error", toolCallId: "c1", error: "Not by you." });
    return true;
  };
}

test("a refused result of a client tool is not computed and sent again and again", async () => {
  const { network } = open(reply(toolCall("clock", {}, { id: "c1" })));
  let runs = 0;
  const client = await ready(network, { tools: { clock: { execute: () => (runs += 1) } } });
  refuse(network, "cf_agent_tool_result");
  await client.send("Time?");
  await network.settle();
  expect(client.getSnapshot()).toMatchObject({ error: "Not by you.", pendingToolCalls: [{ callId: "c1" }] });
  expect(runs).toBe(1);
});

test("an approval that a program gave and the agent refused is left to a person", async () => {
  const { network } = open(reply(toolCall("mail", { to: "ada" }, { id: "c1" })));
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  let asked = 0;
  const client = await ready(network, {
    onApproval: () => {
      asked += 1;
      return true;
    }
  });
  refuse(network, "cf_agent_tool_approval");
  await client.send("Mail ada");
  await network.settle();
  expect([asked, client.getSnapshot().pendingApprovals]).toMatchObject([1, [{ callId: "c1" }]]);
  expect(logged.mock.calls.flat().join(" ")).toContain("could not be decided");
  logged.mockRestore();
});

test("a refused clear brings back what it took off the screen", async () => {
  const { host, network } = open(reply(text("Hello.")));
  const client = await ready(network);
  await client.send("Hi");
  network.onSent = (type) => {
    if (type !== "cf_agent_chat_clear") return false;
    network.tell({ type: "cf_agent_chat_error", error: "This connection is readonly." });
    return true;
  };
  const cleared = client.clear();
  await expect(cleared).rejects.toMatchObject({ code: "command-refused", message: "This connection is readonly." });
  await network.settle();
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect(client.getSnapshot().error).toBe("This connection is readonly.");
});
