// A long queue is stored so that each turn costs the same, and is read again as it was.
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { turnId } from "../util/ids.ts";
import { Conversation } from "./conversation.ts";
import { createTables, Crash, MemorySql, openTestJournal, type TestJournal } from "./memory-sql.test-support.ts";
import { TURNS_IN_ROW } from "./open-turn-rows.ts";
import { admitted, settled } from "./record-samples.test-support.ts";

beforeEach(() => void vi.spyOn(console, "error").mockReturnValue(undefined));

function fresh(): TestJournal {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  return openTestJournal(sql);
}

const admit = (journal: TestJournal, id: string) => void journal.writer.append([admitted(turnId(id))]);
const settle = (journal: TestJournal, id: string) => void journal.writer.append([settled({ turnId: turnId(id) })]);
const open = ({ conversation }: TestJournal) => conversation.row.openTurns;
const openIds = (journal: TestJournal) => open(journal).map((turn) => turn.turnId);
const waiting = ({ sql }: TestJournal) =>
  sql.catalog.hasTable("cf_waiting_turns") ? sql.all("SELECT * FROM cf_waiting_turns").length : undefined;
const rebooted = ({ sql }: TestJournal) => openTestJournal(sql.reboot());
const ids = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);

describe("the open turns of a conversation", () => {
  test("that fit in its row need no other row, and no table", () => {
    const journal = fresh();
    for (const id of ids(TURNS_IN_ROW)) admit(journal, id);
    expect(waiting(journal)).toBeUndefined();
    expect(open(rebooted(journal))).toEqual(open(journal));
  });

  test("that do not fit have one row each until they come into it, and none when they are over", () => {
    const journal = fresh();
    const all = ids(3 * TURNS_IN_ROW);
    for (const id of all) admit(journal, id);
    expect(waiting(journal)).toBe(2 * TURNS_IN_ROW);
    for (const id of all.slice(0, TURNS_IN_ROW)) settle(journal, id);
    expect(waiting(journal)).toBe(TURNS_IN_ROW);
    expect(openIds(rebooted(journal))).toEqual(all.slice(TURNS_IN_ROW));
    for (const id of all.slice(TURNS_IN_ROW)) settle(journal, id);
    expect(waiting(journal)).toBe(0);
    expect(openIds(rebooted(journal))).toEqual([]);
  });

  test("are read after any history as they were, in any order of their ends, also when transactions are undone", () => {
    const move = fc.record({ admits: fc.boolean(), which: fc.nat(60), isUndone: fc.boolean(), reboots: fc.boolean() });
    fc.assert(
      fc.property(fc.array(move, { minLength: 60, maxLength: 150, size: "max" }), (script) => {
        let journal = fresh();
        let expected: string[] = [];
        script.forEach(({ admits, which, isUndone, reboots }, index) => {
          const before = expected;
          const id = admits || expected.length === 0 ? `t${index}` : expected[which % expected.length]!;
          expected = expected.includes(id) ? expected.filter((one) => one !== id) : [...expected, id];
          const change = () => (before.includes(id) ? settle(journal, id) : admit(journal, id));
          if (isUndone) {
            expect(() =>
              journal.sql.transaction(() => {
                change();
                throw new Error("undone");
              })
            ).toThrow("undone");
            expected = before;
          } else change();
          expect(openIds(journal)).toEqual(expected);
          if (reboots) journal = rebooted(journal);
          expect(openIds(journal)).toEqual(expected);
        });
      }),
      { numRuns: 30 }
    );
  });

  test("are those of whole appends after a crash at any write", () => {
    const all = ids(2 * TURNS_IN_ROW + 2);
    const life = [
      ...all.map((id) => (journal: TestJournal) => admit(journal, id)),
      ...all.map((id) => (journal: TestJournal) => settle(journal, id))
    ];
    const states = life.map((_, done) => {
      const journal = fresh();
      for (const step of life.slice(0, done)) step(journal);
      return openIds(journal);
    });
    for (let crashAt = 1; ; crashAt += 1) {
      let journal = fresh();
      journal.sql.crashAtWrite(crashAt);
      let done = 0;
      try {
        for (; done < life.length; done += 1) life[done]!(journal);
      } catch (error) {
        expect(error).toBeInstanceOf(Crash);
      }
      if (done === life.length) return void expect(crashAt).toBeGreaterThan(life.length);
      journal = rebooted(journal);
      expect(openIds(journal)).toEqual(states[done]);
      for (; done < life.length; done += 1) life[done]!(journal);
      expect([openIds(rebooted(journal)), waiting(journal)]).toEqual([[], 0]);
    }
  });

  test("cost the same bytes, however many wait", () => {
    const journal = fresh();
    const bytes = vi.spyOn(journal.sql, "run");
    const written = () => {
      const sum = bytes.mock.calls.flat().reduce<number>((total, one) => total + String(one).length, 0);
      bytes.mockClear();
      return sum;
    };
    const costs: number[] = [];
    for (const id of ids(1_000)) {
      admit(journal, id);
      costs.push(written());
    }
    for (const id of ids(1_000)) {
      settle(journal, id);
      costs.push(written());
    }
    const most = Math.max(...costs);
    expect(most).toBeLessThan(5_000 + 150 * TURNS_IN_ROW);
  });
});

describe("a database of an older version", () => {
  test("with a long list in its row is read whole, and its turns get rows with the next change", () => {
    const journal = fresh();
    const all = ids(100);
    for (const id of all) admit(journal, id);
    journal.sql.run("UPDATE cf_conversations SET open_turns = ?", JSON.stringify(open(journal)));
    journal.sql.run("DROP TABLE cf_waiting_turns");
    const upgraded = rebooted(journal);
    expect(openIds(upgraded)).toEqual(all);
    settle(upgraded, "t0");
    expect(waiting(upgraded)).toBe(99 - TURNS_IN_ROW);
    expect(openIds(rebooted(upgraded))).toEqual(all.slice(1));
  });
});

describe("a row of a waiting turn that is garbage", () => {
  test.each(["turn_id = x'00'", "request_id = 7", "generation = 'x'", "first_sequence = 'x'"])(
    "(%s) is set aside, and the journal says which turns are open",
    (damage) => {
      const journal = fresh();
      const all = ids(40);
      for (const id of all) admit(journal, id);
      const of = "conversation_id = '' AND first_sequence = (SELECT MAX(first_sequence) FROM cf_waiting_turns)";
      journal.sql.run(`UPDATE cf_waiting_turns SET ${damage} WHERE ${of}`);
      expect(openIds(rebooted(journal))).toEqual(all);
      // Repaired: the next process finds nothing wrong.
      expect(new Conversation(journal.sql.reboot()).isDamaged).toBe(false);
      expect(openIds(rebooted(journal))).toEqual(all);
    }
  );
});

test("the other conversations of an object count all of their open turns", () => {
  const journal = fresh();
  for (const id of ids(40)) admit(journal, id);
  expect(new Conversation(journal.sql, "second").others()).toEqual([{ id: "", generation: 0, openTurns: 40 }]);
});
