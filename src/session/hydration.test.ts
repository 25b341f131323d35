import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { HYDRATION_BYTE_BUDGET, LiveView, type HydrationWindow } from "./hydration.ts";
import { ids, openTestSession, text } from "./session.test-support.ts";

function open(budgetBytes = HYDRATION_BYTE_BUDGET) {
  vi.spyOn(console, "warn")
    .mockReset()
    .mockImplementation(() => undefined);
  const session = openTestSession(new DatabaseSync(":memory:"));
  const windows: HydrationWindow[] = [];
  const failures: unknown[] = [];
  const view = () =>
    new LiveView({
      store: session.store,
      budgetBytes: () => budgetBytes,
      onWindowed: (window) => windows.push(window),
      onFailure: (error) => failures.push(error)
    });
  return { ...session, windows, failures, openView: view, view: view() };
}

test("the budget is 24 MiB", () => expect(HYDRATION_BYTE_BUDGET).toBe(25_165_824));

test("nothing is read before it is asked for, and nothing again while nothing changes", () => {
  const { store, sql, openView } = open();
  for (let index = 0; index < 100; index += 1) store.appendMessage(text(`m${index}`));
  sql.reset();
  const view = openView();
  expect(sql.statements).toEqual([]);
  const { messages } = view;
  expect(messages).toHaveLength(100);
  sql.reset();
  expect(view.messages).toBe(messages);
  expect(sql.statements).toEqual([]);
});

test("an append to a long conversation is followed by reading that message only", () => {
  const { store, sql, view } = open();
  for (let index = 0; index < 1_000; index += 1) store.appendMessage(text(`m${index}`));
  expect(view.messages).toHaveLength(1_000);
  store.appendMessage(text("new"));
  sql.reset();
  expect(view.messages.at(-1)).toEqual(text("new"));
  expect(view.messages).toHaveLength(1_001);
  expect(sql.rowsRead).toBeLessThanOrEqual(3);
});

test("a transcript of 300 KB with a budget of 64 KB shows its end, says so once, and goes on after the full path", () => {
  const { store, windows, view } = open(64 * 1024);
  for (let index = 0; index < 30; index += 1) store.appendMessage(text(`m${index}`, "user", "x".repeat(10_000)));
  expect(ids(view.messages)).toEqual(["m24", "m25", "m26", "m27", "m28", "m29"]);
  view.invalidate();
  expect(view.messages).toHaveLength(6);
  expect(windows).toEqual([{ totalContentBytes: store.totals().bytes, budgetBytes: 65_536, hydratedMessages: 6 }]);
  expect(console.warn).toHaveBeenCalledOnce();
  store.appendMessage(text("m30"));
  expect(view.messages.at(-1)?.id).toBe("m30");
  expect(windows).toHaveLength(2);
  expect(store.getPathLength()).toBe(31);
  expect(store.getHistory()).toHaveLength(31);
});

test("the view never has fewer than four messages, whatever their size, and no limit means none", () => {
  const { store, view } = open(1);
  for (let index = 0; index < 9; index += 1) store.appendMessage(text(`m${index}`, "user", "x".repeat(10_000)));
  expect(ids(view.messages)).toEqual(["m5", "m6", "m7", "m8"]);
  store.appendMessage(text("m9"));
  expect(ids(view.messages)).toEqual(["m6", "m7", "m8", "m9"]);
  for (const budget of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    const unlimited = open(budget);
    for (let index = 0; index < 9; index += 1) unlimited.store.appendMessage(text(`m${index}`));
    expect(unlimited.view.messages).toHaveLength(9);
    expect(unlimited.windows).toEqual([]);
  }
});

test("a branch off the beginning of a window is shown with what comes before it", () => {
  const { store, view, sql } = open(6_000);
  for (let index = 0; index < 40; index += 1) store.appendMessage(text(`m${index}`, "user", "x".repeat(500)));
  const first = view.messages[0]?.id ?? "";
  expect(ids(view.messages)).toHaveLength(10);
  store.appendMessage(text("branch"), first);
  const fits = store.readRecent(null, 6_000, 4).messages.map(({ message }) => message.id);
  expect(fits.length).toBeGreaterThan(8);
  expect(ids(view.messages)).toEqual(fits);
  store.appendMessage(text("beside"), first);
  expect(ids(view.messages)).toEqual([...fits.slice(0, -1), "beside"]);
  store.appendMessage(text("below"));
  sql.reset();
  expect(view.messages.at(-1)?.id).toBe("below");
  expect(sql.rowsRead).toBeLessThanOrEqual(3);
});

test("a failing read is an error with a name, is reported, and the next one recovers", () => {
  const { store, memory, failures, view } = open();
  store.appendMessage(text("m1"));
  memory.run("ALTER TABLE assistant_messages RENAME TO away");
  expect(() => view.messages).toThrow(expect.objectContaining({ code: "history-unreadable" }));
  expect(failures).toHaveLength(1);
  memory.run("ALTER TABLE away RENAME TO assistant_messages");
  expect(view.messages).toEqual([text("m1")]);
  store.appendMessage(text("m2"));
  expect(ids(view.messages)).toEqual(["m1", "m2"]);
});

test("an update of an unknown id never adds a message to the view", () => {
  const { store, view } = open();
  store.appendMessage(text("m1"));
  expect(view.messages).toHaveLength(1);
  store.updateMessage(text("nobody"));
  expect(ids(view.messages)).toEqual(["m1"]);
});

test("what an undone transaction wrote is not in the view", () => {
  const { store, host, view } = open();
  store.appendMessage(text("m1"));
  expect(view.messages).toHaveLength(1);
  expect(() =>
    host.conversation("").transaction(() => {
      store.appendMessage(text("m2"));
      expect(view.messages).toHaveLength(2);
      throw new Error("undone");
    })
  ).toThrow("undone");
  expect(ids(view.messages)).toEqual(["m1"]);
});

test("after any writes the view is the end of the stored path", () => {
  const write = fc.oneof(
    fc.record({ do: fc.constant("append"), at: fc.option(fc.nat(20), { nil: undefined }), look: fc.boolean() }),
    fc.record({ do: fc.constantFrom("update", "delete", "edit", "clear"), at: fc.nat(20), look: fc.boolean() })
  );
  fc.assert(
    fc.property(fc.array(write, { maxLength: 30 }), fc.constantFrom(1, 400, 10_000), (writes, budget) => {
      const { store, view } = open(budget);
      let next = 0;
      for (const { do: what, at, look } of writes) {
        const target = text(`m${at}`, "user", `${what} ${next}`);
        if (what === "append") store.appendMessage(text(`m${next++}`), at === undefined ? undefined : `m${at}`);
        if (what === "update") store.updateMessage(target);
        if (what === "delete") store.deleteMessages([target.id]);
        if (what === "edit") store.editMessage(target, `m${next++}`);
        if (what === "clear" && at === 0) store.clearMessages();
        if (look) void view.messages;
      }
      const { messages } = store.getRecentHistory(null, budget, 4);
      const all = store.getHistory();
      // Following appends may keep a few more than reading afresh would, within the same budget.
      expect(view.messages.length).toBeGreaterThanOrEqual(Math.min(messages.length, 4));
      expect(view.messages).toEqual(view.messages.length === 0 ? [] : all.slice(-view.messages.length));
      view.invalidate();
      expect(view.messages).toEqual(messages);
    })
  );
});
