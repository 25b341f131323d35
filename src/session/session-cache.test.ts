// What is kept in memory between two writes, against what a session finds that has just begun on the same database.
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { MessageStore } from "./message-store.ts";
import { ids, openTestSession, text, type TestSession } from "./session.test-support.ts";

/** One change, by numbers that pick the messages it is about. */
type Change = readonly [kind: (typeof KINDS)[number], first: number, second: number];

const KINDS = [
  "append",
  "append",
  "branch",
  "update",
  "shorten",
  "compact",
  "delete",
  "edit",
  "select",
  "clear",
  "count"
] as const;
const change = fc.tuple(fc.constantFrom(...KINDS), fc.nat(), fc.nat());
/** Whether it stands, is undone with everything around it, or inside of a transaction that goes on. */
const plan = fc.array(fc.record({ changes: fc.array(change, { maxLength: 4 }), end: fc.nat({ max: 2 }) }), {
  maxLength: 12
});

const kept = (store: MessageStore) => ({
  totals: store.totals(),
  shown: store.shownTotals(),
  extra: store.usage.extraTokens(),
  sequence: store.usage.sequence(),
  history: ids(store.getHistory())
});

const pathIds = (store: MessageStore) =>
  store
    .getHistoryRowStats()
    .map(({ id }) => id)
    .sort();
const storedIds = ({ store }: TestSession) =>
  store.rows.table.all<{ id: string }>("SELECT id FROM assistant_messages ORDER BY id").map(({ id }) => id);

test("what is kept in memory is what is stored, whatever was written or undone in between", { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(plan, (steps) => {
      const session = openTestSession(new DatabaseSync(":memory:"));
      const { store } = session;
      const { conversation } = store.scope;
      let made = 0;
      const make = ([kind, first, second]: Change) => apply(store, kind, { first, second, id: `m${made++}` });
      for (const { changes, end } of steps) {
        kept(store);
        try {
          conversation.transaction(() => {
            for (const each of changes) {
              if (end === 2) undone(() => conversation.transaction(() => undo(() => make(each))));
              make(each);
              kept(store);
            }
            if (end === 1) throw new Undone();
          });
        } catch (error) {
          if (!(error instanceof Undone)) throw error;
        }
        expect(kept(store)).toEqual(kept(session.reboot().store));
        if (store.isLinear) expect(storedIds(session)).toEqual(pathIds(store));
      }
    }),
    { numRuns: 150 }
  );
});

class Undone extends Error {}

function undo(work: () => void): never {
  work();
  throw new Undone();
}

function undone(work: () => void): void {
  expect(work).toThrow(Undone);
}

function apply(store: MessageStore, kind: Change[0], given: { first: number; second: number; id: string }): void {
  const { id } = given;
  const path = store.getHistoryRowStats().map((row) => row.id);
  const [first, second] = [given.first, given.second].map((n) => path[n % path.length]);
  if (first === undefined || second === undefined || kind === "append") return void store.appendMessage(text(id));
  if (kind === "branch") return void store.appendMessage(text(id), first);
  if (kind === "update") return void store.updateMessage(text(first, "user", `longer text of ${id}`));
  if (kind === "shorten") return void store.shortenMessage(text(first, "user", "cut"), { keepWhole: true });
  if (kind === "delete") return store.deleteMessages([first]);
  if (kind === "edit") return store.editMessage(text(first, "user", "edited"), id);
  if (kind === "select") return void store.selectBranch(first);
  if (kind === "clear") return store.clearMessages();
  if (kind === "count") return store.noteUsage({ messageId: first, inputTokens: given.second });
  const [from, to] = [first, second].sort((a, b) => path.indexOf(a) - path.indexOf(b));
  if (from !== undefined && to !== undefined) store.addCompaction(`summary ${id}`, from, to);
}
