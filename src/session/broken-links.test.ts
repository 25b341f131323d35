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
