import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { ids, openTestSession, text } from "./session.test-support.ts";

test.each([1, 2, 3])("a message whose parent is unreadable costs nothing of the history above it: m%i", (broken) => {
  const session = openTestSession(new DatabaseSync(":memory:"));
  for (const id of ["m0", "m1", "m2", "m3"]) session.store.appendMessage(text(id));
  session.memory.run(`UPDATE assistant_messages SET parent_id = '{"' WHERE id = 'm${broken}'`);
  const after = session.reboot();
  expect(ids(after.store.getHistory())).toEqual(["m0", "m1", "m2", "m3"]);
  expect(after.setAside).toMatchObject([{ table: "assistant_messages", key: `m${broken}`, body: '{"' }]);
  // Mended once.
  expect(ids(after.reboot().store.getHistory())).toEqual(["m0", "m1", "m2", "m3"]);
  after.store.appendMessage(text("m4"));
  expect(ids(after.store.getHistory())).toHaveLength(5);
});

test("the first message of a history with an unreadable parent is its beginning", () => {
  const session = openTestSession(new DatabaseSync(":memory:"));
  for (const id of ["m0", "m1"]) session.store.appendMessage(text(id));
  session.memory.run(`UPDATE assistant_messages SET parent_id = 'x' WHERE id = 'm0'`);
  expect(ids(session.reboot().store.getHistory())).toEqual(["m0", "m1"]);
});

test("a newest message that is unreadable is found again at the first look, and said to be bad", () => {
  const session = openTestSession(new DatabaseSync(":memory:"));
  for (const id of ["m0", "m1", "m2", "m3"]) session.store.appendMessage(text(id));
  session.store.addCompaction("summary", "m0", "m1");
  const totals = session.store.shownTotals();
  session.memory.run(`UPDATE cf_conversations SET leaf = '{"'`);
  const after = session.reboot();
  expect(after.store.leafId).toBe("m3");
  expect(ids(after.store.getHistory()).slice(1)).toEqual(["m2", "m3"]);
  expect(after.store.shownTotals()).toEqual(totals);
  expect(after.setAside).toMatchObject([{ table: "cf_conversations", key: ".leaf", body: '{"' }]);
  after.store.appendMessage(text("m4"));
  const again = after.reboot();
  expect(ids(again.store.getHistory()).slice(1)).toEqual(["m2", "m3", "m4"]);
  expect(again.setAside).toEqual([]);
});

test("of a conversation whose messages are all gone, nothing is the newest", () => {
  const session = openTestSession(new DatabaseSync(":memory:"));
  session.store.appendMessage(text("m0"));
  session.memory.run("DELETE FROM assistant_messages");
  const after = session.reboot();
  expect(after.store.leafId).toBeNull();
  after.store.appendMessage(text("m1"));
  expect(ids(after.store.getHistory())).toEqual(["m1"]);
});

test.each([
  ["nothing", ""],
  ["bytes", new Uint8Array([0, 255])],
  ["broken JSON", "{"],
  ["a number", -7]
])("a message whose content is %s is reported once, and the others stay", (_name, garbage) => {
  const session = openTestSession(new DatabaseSync(":memory:"));
  for (const id of ["m0", "m1", "m2"]) session.store.appendMessage(text(id));
  session.memory.run("UPDATE assistant_messages SET content = ? WHERE id = 'm1'", garbage);
  const after = session.reboot();
  expect(ids(after.store.getHistory())).toEqual(["m0", "m2"]);
  expect(after.setAside).toHaveLength(1);
  const again = after.reboot();
  expect(ids(again.store.getHistory())).toEqual(["m0", "m2"]);
  expect(again.setAside).toEqual([]);
});
