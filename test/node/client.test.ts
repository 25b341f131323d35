// The client library against a real Think on the in-process host: what people in one or several tabs see and do. Rows of
// the lessons' section D are named where they are pinned.
import { expect, test, vi } from "vitest";
import { createGate, reply, stall, text } from "../../src/testing/index.ts";
import { shown, statuses, statusOf } from "./client-kit.ts";
import { later, open, ready, scene, stored } from "./client-subject.ts";

test("a message is shown at once, answered, and ends as what is stored", async () => {
  const { host, network } = open(reply(text("Hello.")));
  const client = await ready(network);
  const seen = statuses(client);
  const ended = client.send("Hi");
  expect(shown(client)).toEqual(["user:Hi"]);
  await network.settle();
  expect(await ended).toMatchObject({ outcome: "completed" });
  expect(shown(client)).toEqual(["user:Hi", "assistant:Hello."]);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect(seen).toEqual(["idle", "queued", "running", "settled"]);
});

test("a subscriber that fails does not keep the client, or other subscribers, from what is said", async () => {
  const complaint = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { host, network } = open(reply(text("Hello.")));
  const client = await ready(network);
  client.subscribe(() => {
    throw new Error("broken component");
  });
  const seen = statuses(client);
  void client.send("Hi");
  await network.settle();
  expect(client.getSnapshot().messages).toEqual(await stored(host));
  expect(seen.at(-1)).toBe("settled");
  expect(complaint).toHaveBeenCalled();
  complaint.mockRestore();
});

test("D6: a page refreshed in the middle shows the question and what was said, and then the rest", async () => {
  const gate = createGate();
  const { host, network } = open(reply(text("Half "), gate.wait(), text("and half.")));
  const first = await ready(network);
  void first.send("Hi");
  await network.settle();
  first.close();
  const second = await ready(network);
  expect(shown(second)).toEqual(["user:Hi", "assistant:Half "]);
  expect(statusOf(second)).toBe("running");
  gate.open();
  await network.settle();
  expect(shown(second)).toEqual(["user:Hi", "assistant:Half and half."]);
  expect(statusOf(second)).toBe("settled");
  expect(second.getSnapshot().messages).toEqual(await stored(host));
});

test("a second tab sees question and answer as they come, and both end with what is stored", async () => {
  const gate = createGate();
  const { host, network } = open(reply(text("Half "), gate.wait(), text("and half.")));
  const [one, two] = [await ready(network), await ready(network)];
  void one.send("Hi");
  await network.settle();
  expect(shown(two)).toEqual(["user:Hi", "assistant:Half "]);
  expect(statusOf(two)).toBe("running");
  gate.open();
  await network.settle();
  expect(two.getSnapshot().messages).toEqual(await stored(host));
  expect(one.getSnapshot().messages).toEqual(await stored(host));
});

test("D5: stop ends the turn from any tab, and no tab spins afterwards", async () => {
  const { host, network } = open(reply(text("Half "), stall()));
  const [one, two] = [await ready(network), await ready(network)];
  const ended = one.send("Hi");
  await network.settle();
  two.stop();
  await network.settle();
  expect(await ended).toMatchObject({ outcome: "aborted" });
  expect([statusOf(one), statusOf(two)]).toEqual(["settled", "settled"]);
  expect(shown(one)).toEqual(["user:Hi", "assistant:Half "]);
  expect(one.getSnapshot().messages).toEqual(await stored(host));
});

test("stop also ends what waits: it never begins", async () => {
  const { network } = open(reply(text("Half "), stall()), reply(text("Never said.")));
  const client = await ready(network);
  const ends = [client.send("first"), client.send("second")];
  await network.settle();
  client.stop();
  await network.settle();
  expect(await Promise.all(ends)).toMatchObject([{ outcome: "aborted" }, { outcome: "aborted" }]);
  expect(scene.script.calls).toHaveLength(1);
});

test("D1, D7: a question asked while another is answered waits behind that answer, for every tab", async () => {
  const gate = createGate();
  const { network } = open(reply(text("One"), gate.wait()), reply(text("Two")));
  const one = await ready(network);
  void one.send("first");
  await network.settle();
  void one.send("second");
  await network.settle();
  expect(shown(one)).toEqual(["user:first", "assistant:One", "user:second"]);
  const two = await ready(network);
  expect(statusOf(two)).toBe("running");
  gate.open();
  await network.settle();
  expect(shown(one)).toEqual(["user:first", "assistant:One", "user:second", "assistant:Two"]);
  expect(shown(two)).toEqual(shown(one));
  expect([statusOf(one), statusOf(two)]).toEqual(["settled", "settled"]);
});

test("another answer replaces the old one on the screen of every tab", async () => {
  const { host, network } = open(reply(text("Red.")), reply(text("Blue.")));
  const [one, two] = [await ready(network), await ready(network)];
  void one.send("A colour?");
  await network.settle();
  const ended = one.regenerate();
  expect(shown(one)).toEqual(["user:A colour?"]);
  await network.settle();
  expect(await ended).toMatchObject({ outcome: "completed" });
  expect(shown(one)).toEqual(["user:A colour?", "assistant:Blue."]);
  expect(two.getSnapshot().messages).toEqual(await stored(host));
  expect(one.getSnapshot().messages).toEqual(await stored(host));
});

test("an edited message takes its place, and what followed it leaves the screen", async () => {
  const { host, network } = open(reply(text("Red.")), reply(text("Big.")), reply(text("Blue.")));
  const client = await ready(network);
  void client.send("A colour?");
  await network.settle();
  void client.send("A size?");
  await network.settle();
  const [question] = client.getSnapshot().messages;
  void client.edit(question?.id ?? "", "Another colour?");
  expect(shown(client)).toEqual(["user:Another colour?"]);
  await network.settle();
  expect(shown(client)).toEqual(["user:Another colour?", "assistant:Blue."]);
  expect(client.getSnapshot().messages).toEqual(await stored(host));
});

test("clear empties every tab, and a message written right after is answered", async () => {
  const { host, network } = open(reply(text("One.")), reply(text("Two.")));
  const [one, two] = [await ready(network), await ready(network)];
  void one.send("first");
  await network.settle();
  one.clear();
  void one.send("second");
  await later(host, network);
  expect(shown(one)).toEqual(["user:second", "assistant:Two."]);
  expect(shown(two)).toEqual(shown(one));
  expect(one.getSnapshot().messages).toEqual(await stored(host));
});

test("state comes with the connection, is shared, and calls are answered", async () => {
  const { network } = open();
  const [one, two] = [await ready(network), await ready(network)];
  const sum = one.call("add", [2]);
  await network.settle();
  expect(await sum).toBe(2);
  expect(two.getSnapshot().state).toEqual({ count: 2 });
  two.setState({ count: 7 });
  await network.settle();
  expect(one.getSnapshot().state).toEqual({ count: 7 });
  const failed = one.call("fail", []);
  await Promise.all([expect(failed).rejects.toThrow("no"), network.settle()]);
  expect(one.getSnapshot().identity).toEqual({ agent: "subject", name: "a" });
});
