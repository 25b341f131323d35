// What a client keeps of receipts: those that wait in their order, and of the others the newest.
import { expect, test } from "vitest";
import { ENDED_RECEIPTS, withEnded, withReceipts, type ClientReceipt } from "./receipts.ts";

const receipt = (id: string, state: ClientReceipt["state"]): ClientReceipt => ({
  ...{ id, state, kind: "follow-up", at: 0, messageIds: [id] }
});

test("a receipt is kept once, with what it came to, and the oldest of too many is forgotten", () => {
  const ids = Array.from({ length: ENDED_RECEIPTS + 3 }, (_, index) => `r${index}`);
  const all = ids.reduce<readonly ClientReceipt[]>((known, id) => withEnded(known, [receipt(id, "started")]), []);
  expect(all.map(({ id }) => id)).toEqual(ids.slice(3));
  const [first = receipt("none", "started")] = all;
  const again = withEnded(all, [receipt(first.id, "dropped")]);
  expect(again).toHaveLength(ENDED_RECEIPTS);
  expect(again.at(-1)).toMatchObject({ id: first.id, state: "dropped" });
});

test("a message that was passed on and came back waits again, and is no end", () => {
  const passed = withEnded([receipt("b", "started")], [receipt("a", "passed")]);
  expect(withEnded(passed, [receipt("a", "accepted")])).toEqual([receipt("b", "started")]);
});

test("what waits is no end, and a list without an end changes nothing", () => {
  const known = [receipt("a", "withdrawn")];
  expect(withEnded(known, [receipt("b", "queued"), receipt("c", "accepted")])).toBe(known);
  const waiting = withReceipts([], { receipts: [receipt("b", "queued")], isAll: true });
  expect(withReceipts(waiting, { receipts: [receipt("b", "started")], isAll: false })).toEqual([]);
});
