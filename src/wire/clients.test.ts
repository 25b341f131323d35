// How often a client is sent the whole transcript.
import { expect, test } from "vitest";
import { ClientView } from "./clients.ts";

const AT_ONCE = 20;

function view(): ClientView {
  return new ClientView({ key: {}, isOpen: true, send: () => true });
}

test("many snapshots go at once, and then one per pause, which grows with their size where only the order is missing", () => {
  const small = view();
  const large = view();
  for (let count = 0; count < AT_ONCE; count += 1) {
    expect([small.snapshotDueMs(0, "order"), large.snapshotDueMs(0, "order")]).toEqual([0, 0]);
    small.tookSnapshot(0, 100);
    large.tookSnapshot(0, 160_000);
  }
  expect([small.snapshotDueMs(0, "order"), large.snapshotDueMs(0, "order")]).toEqual([250, 40_000]);
  expect([small.snapshotDueMs(0, "messages"), large.snapshotDueMs(0, "messages")]).toEqual([250, 250]);
  expect([small.snapshotDueMs(250, "order"), large.snapshotDueMs(39_999, "order")]).toEqual([0, 1]);
});

test("a client is sent 4,000 characters of snapshots per second for the order, however slowly a queue is answered", () => {
  const one = view();
  let sent = 0;
  for (let turn = 0; turn < 1_000; turn += 1) {
    const now = turn * 5_000;
    if (one.snapshotDueMs(now, "order") > 0) continue;
    one.tookSnapshot(now, 140 * (turn + 1_000));
    if (turn >= AT_ONCE) sent += 140 * (turn + 1_000);
  }
  expect(sent).toBeLessThan(1_000 * 5 * 4_000 * 1.05);
  expect(sent).toBeGreaterThan(0);
});

test("questions that people ask at their pace are shown at once, however large the conversation is", () => {
  const one = view();
  for (let count = 0; count < 100; count += 1) {
    expect(one.snapshotDueMs(count * 2_000, "messages")).toBe(0);
    one.tookSnapshot(count * 2_000, 20_000_000);
  }
});

test("a client that lacks messages and their order lacks messages, until it was sent all", () => {
  const one = view();
  one.owe("order");
  one.owe("messages");
  one.owe("order");
  expect([one.owed, one.isInSync]).toEqual(["messages", false]);
  one.tookSnapshot(0, 100);
  expect([one.owed, one.isInSync]).toEqual([undefined, true]);
});
