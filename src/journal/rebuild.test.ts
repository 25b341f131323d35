import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { moves, play } from "./journal-script.test-support.ts";
import { createTables, MemorySql, openTestJournal } from "./memory-sql.test-support.ts";

describe("a conversation's row that cannot be read", () => {
  it("is what the records say: the same turns are open, and the same hooks are owed", () => {
    fc.assert(
      fc.property(moves, (script) => {
        const sql = new MemorySql(new DatabaseSync(":memory:"));
        createTables(sql);
        const journal = openTestJournal(sql);
        play(journal, script);
        const { openTurns, respondingTurns, generation } = journal.conversation.row;
        sql.run("UPDATE cf_conversations SET open_turns = '{\"', responding_turns = '[1'");
        const again = openTestJournal(sql).conversation.row;
        expect(again.openTurns).toEqual(openTurns);
        expect(again.respondingTurns.toSorted()).toEqual(respondingTurns.toSorted());
        expect(again.generation).toBe(generation);
      }),
      { numRuns: 60 }
    );
  });
});
