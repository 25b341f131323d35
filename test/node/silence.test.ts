// A model that has said nothing for a minute: every client is shown since when, may stop it, and is shown no error. Each
// test is named after its promise.
import { PassThrough } from "node:stream";
import { tool } from "ai";
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { Screen } from "../process/framework/screen.ts";
import { converse } from "../../src/cli/chat/converse.ts";
import { createGate, reply, stall, text, toolCall } from "../../src/testing/index.ts";
import { statusOf } from "./client-kit.ts";
import { later, open, ready, stored } from "./client-subject.ts";
import { connect, Judge, open as openJudge } from "./limits-kit.ts";
import { endsOf } from "./recovery-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { MINUTE, SECOND } from "../kit/time.ts";

afterEach(() => void vi.restoreAllMocks());

const silentSince = (client: { getSnapshot(): { silentSince: number | undefined } }) =>
  client.getSnapshot().silentSince;

test("after a minute every client is shown since when the model is silent, and not before", async () => {
  const { host, network } = open(reply(text("Half "), stall()));
  const [asker, watcher] = [await ready(network), await ready(network)];
  void asker.send("Hi");
  await network.settle();
  const begun = host.now;
  await host.advance(MINUTE - 1);
  await network.settle();
  expect([silentSince(asker), silentSince(watcher)]).toEqual([undefined, undefined]);
  await host.advance(1);
  await network.settle();
  expect([silentSince(asker), silentSince(watcher)]).toEqual([begun, begun]);
  expect([asker.getSnapshot().error, statusOf(asker)]).toEqual([undefined, "running"]);
});

test("the next word ends the silence, and a further one is shown again", async () => {
  const [first, second] = [createGate(), createGate()];
  const { host, network } = open(reply(text("a "), first.wait(), text("b "), second.wait(), text("c")));
  const client = await ready(network);
  void client.send("Hi");
  await network.settle();
  const begun = host.now;
  await host.advance(90 * SECOND);
  await network.settle();
  expect(silentSince(client)).toBe(begun);
  first.open();
  await network.settle();
  expect(silentSince(client)).toBeUndefined();
  await host.advance(MINUTE);
  await network.settle();
  expect(silentSince(client)).toBe(begun + 90 * SECOND);
  second.open();
  await network.settle();
  expect([silentSince(client), statusOf(client)]).toEqual([undefined, "settled"]);
});

test("a client that comes later is shown it too, before the first word and behind it, and may stop the turn", async () => {
  for (const words of [[], [text("Half ")]]) {
    const { host, network } = open(reply(...words, stall()));
    const asker = await ready(network);
    const ended = asker.send("Hi");
    await network.settle();
    const begun = host.now;
    await host.advance(2 * MINUTE);
    await network.settle();
    const late = await ready(network);
    await network.settle();
    expect(silentSince(late)).toBe(begun);
    expect(["queued", "running"]).toContain(statusOf(late));
    void late.stop();
    await later(host, network);
    expect(await ended).toMatchObject({ outcome: "aborted" });
    expect([silentSince(asker), silentSince(late)]).toEqual([undefined, undefined]);
    expect(asker.getSnapshot().messages).toEqual(await stored(host));
  }
});

test("in the terminal the silence is one line with how to stop it, and Ctrl-C does", async () => {
  const { host, network } = open(reply(text("Half "), stall()));
  const [input, output] = [new PassThrough(), new PassThrough({ encoding: "utf8" })];
  const screen = new Screen();
  output.on("data", (piece: string) => screen.write(piece));
  const client = await ready(network);
  const left = converse(client, { input, output, hasColors: false }, { title: "subject a", history: 0 });
  await vi.waitFor(() => expect(screen.text).toContain(">"));
  input.write("Hi\r");
  await vi.waitFor(async () => {
    await network.settle();
    expect(screen.text).toContain("\nHalf");
  });
  const time = new Date(host.now).toTimeString().slice(0, 8);
  await host.advance(MINUTE - 1);
  await network.settle();
  expect(screen.text).not.toContain("said nothing");
  await host.advance(5 * MINUTE);
  await network.settle();
  const line = `\nThe model has said nothing since ${time}; it may still be thinking. Ctrl-C stops the answer.\n`;
  expect(screen.text.split(line)).toHaveLength(2);
  // Ctrl-C: first for the answer, then to leave.
  input.write("\u0003");
  await vi.waitFor(async () => {
    await later(host, network);
    expect(statusOf(client)).toBe("settled");
  });
  input.write("\u0003");
  expect(await left).toBe(0);
});

test("a connection that breaks in the silence shows it again", async () => {
  const { host, network } = open(reply(text("Half "), stall()));
  const client = await ready(network);
  void client.send("Hi");
  await network.settle();
  const begun = host.now;
  await host.advance(2 * MINUTE);
  await network.cut();
  await network.reconnect();
  expect(silentSince(client)).toBe(begun);
});

test("a tool that runs for long is no silence, also where the stall counts it", async () => {
  const gate = createGate();
  const wait = tool({ inputSchema: z.object({}), execute: async () => (await gate.opened, "done") });
  const host = openJudge([reply(toolCall("wait", {})), reply(text("There."))], {
    stallMs: 20 * MINUTE,
    tools: () => ({ wait })
  });
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  await host.advance(10 * MINUTE);
  gate.open();
  await host.idle();
  expect(framesOf(socket).filter(({ type }) => type === "cf_agent_chat_silent")).toEqual([]);
  expect(endsOf(socket, "r1")).toEqual(["completed"]);
});

test("a silence is a frame of its own, once per silence, and no row", async () => {
  const host = openJudge([reply(stall())]);
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  const begun = host.now;
  await host.advance(2 * SECOND);
  const changes = () =>
    host
      .sql(Judge, "a", "SELECT name FROM sqlite_master WHERE type = 'table'")
      .flatMap((table) =>
        host.sql(
          Judge,
          "a",
          `SELECT COUNT(*) AS count, '${String(table["name"])}' AS name FROM "${String(table["name"])}"`
        )
      );
  const before = changes();
  await host.advance(9 * MINUTE);
  const frames = framesOf(socket).filter(({ type }) => type === "cf_agent_chat_silent");
  expect(frames).toEqual([{ type: "cf_agent_chat_silent", id: "r1", since: begun }]);
  expect(changes()).toEqual(before);
});
