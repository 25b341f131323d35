import fc from "fast-check";
import { beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import type { Callables } from "../feature/callable.ts";
import type { TurnHistory } from "../journal/history.ts";
import { createScript, createTestHost, reply, scriptedModel, text, type Script } from "../testing/index.ts";
import { user } from "../turn/engine.test-support.ts";
import type { JournalEntry, ReadJournalOptions } from "./read-journal.ts";
import { Think } from "./think.ts";

let script: Script;

class Chat extends Think {
  override getModel() {
    return scriptedModel(script);
  }
}

class Open extends Chat {
  static override callables: Callables = ["readJournal"];
}

const QUESTION = "what is kept secret";
const ANSWER = "the whole answer";

beforeEach(() => {
  script = createScript(Array.from({ length: 5 }, () => reply(text(ANSWER))));
});

/** A host with one conversation of so many turns. */
async function conversation(turns: number) {
  const host = createTestHost({ agents: { Chat, Open } });
  const agent = await host.get(Chat, "a");
  for (let turn = 1; turn <= turns; turn += 1) await agent.saveMessages([user(`u${turn}`, QUESTION)]);
  const read = (options?: ReadJournalOptions) => agent.readJournal(options);
  return { host, agent, read };
}

const types = (entries: readonly JournalEntry[]) => entries.map(({ type }) => type);
const positions = (entries: readonly JournalEntry[]) => entries.map(({ position }) => position);

/** All of it, in pages of these sizes. */
async function pages(read: Awaited<ReturnType<typeof conversation>>["read"], limits: readonly number[]) {
  const entries: JournalEntry[] = [];
  for (let page = 0, after = 0; ; page += 1) {
    const { entries: found, cursor, more } = await read({ after, limit: limits[page % limits.length] ?? 1 });
    expect(found.length).toBeLessThanOrEqual(limits[page % limits.length] ?? 1);
    entries.push(...found);
    if (!more) return { entries, cursor };
    expect(cursor).toBeGreaterThan(after);
    after = cursor;
  }
}

describe("the journal of an inspector", () => {
  test("an empty conversation has an empty one", async () => {
    const { read } = await conversation(0);
    expect(await read()).toEqual({ entries: [], cursor: 0, more: false });
    expect(await read({ after: -50 })).toEqual({ entries: [], cursor: 0, more: false });
  });

  test("names what happened, in order, with its turn", async () => {
    const { read } = await conversation(1);
    const { entries, cursor, more } = await read();
    expect(types(entries)).toEqual([
      "turn-admitted",
      "attempt-started",
      "model-called",
      "content-segment",
      "step-finished",
      "turn-settled"
    ]);
    expect(positions(entries)).toEqual([1, 2, 3, 4, 5, 6]);
    expect([cursor, more]).toEqual([6, false]);
    expect(new Set(entries.map(({ turnId }) => turnId)).size).toBe(1);
    expect(entries.every(({ at, turnId }) => at > 0 && turnId !== undefined)).toBe(true);
  });

  test("says nothing of what was said", async () => {
    const { read } = await conversation(2);
    const shown = JSON.stringify(await read());
    for (const secret of [QUESTION, ANSWER, "whole"]) expect(shown).not.toContain(secret);
  });

  test("tells the client's name of a turn where the turn was admitted, and nowhere else", async () => {
    const { host } = await conversation(0);
    const socket = await host.connect("/agents/chat/a");
    const body = JSON.stringify({ messages: [user("u1")], trigger: "submit-message" });
    socket.send({ type: "cf_agent_use_chat_request", id: "r1", init: { method: "POST", body } });
    await host.idle();
    const { entries } = await (await host.get(Chat, "a")).readJournal();
    expect(entries.filter(({ requestId }) => requestId !== undefined)).toEqual([
      expect.objectContaining({ type: "turn-admitted", requestId: "r1" })
    ]);
  });

  test("sizes are those of storage, to the byte", async () => {
    const { host, read } = await conversation(3);
    const { entries } = await read();
    const [stored] = host.sql<{ bytes: number; breaks: number }>(
      Chat,
      "a",
      "SELECT sum(size_bytes) AS bytes, sum(count - 1) AS breaks FROM cf_journal"
    );
    const sum = entries.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
    expect(sum).toBe(Number(stored?.bytes) - Number(stored?.breaks));
    expect(entries.every(({ sizeBytes }) => sizeBytes > 0)).toBe(true);
  });

  test("pages of any size are the whole, in order, each record once and with its size", async () => {
    const { read } = await conversation(3);
    const whole = await read({ limit: 500 });
    expect(whole.more).toBe(false);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }), async (limits) => {
        expect(await pages(read, limits)).toEqual({ entries: whole.entries, cursor: whole.cursor });
      }),
      { numRuns: 30 }
    );
  });

  test.each([-1, -4, -7, -18, -1000])("%i starts so far from the end", async (after) => {
    const { read } = await conversation(3);
    const { entries } = await read();
    expect((await read({ after })).entries).toEqual(entries.slice(after));
  });

  test("its end is where the next look goes on", async () => {
    const { agent, read } = await conversation(1);
    const { cursor } = await read({ after: -1 });
    expect(await read({ after: cursor })).toEqual({ entries: [], cursor, more: false });
    await agent.saveMessages([user("u2")]);
    const { entries } = await read({ after: cursor });
    expect(types(entries).at(0)).toBe("turn-admitted");
    expect(positions(entries).at(0)).toBe(cursor + 1);
  });

  test("a cursor of another, longer conversation comes back to the end of this one", async () => {
    const { read } = await conversation(1);
    expect(await read({ after: 1_000_000 })).toEqual({ entries: [], cursor: 6, more: false });
  });

  test.each([
    [{ limit: 0 }, 1],
    [{ limit: -5 }, 1],
    [{ limit: 2 }, 2],
    [{ limit: 100_000 }, 18],
    [{ limit: Number.NaN }, 18],
    [{ limit: 1.5 }, 18],
    [{ after: Number.POSITIVE_INFINITY }, 18],
    [{ after: 17 }, 1],
    [{ after: 1_000_000 }, 0]
  ])("%j gives %i records", async (options, count) => {
    const { read } = await conversation(3);
    expect((await read(options)).entries).toHaveLength(count);
  });

  test("begins with the last clear: what was before is gone for readers", async () => {
    const { agent, read } = await conversation(2);
    await agent.clearMessages();
    expect(types((await read()).entries)).toEqual(["conversation-cleared"]);
    expect(types((await read({ after: -100 })).entries)).toEqual(["conversation-cleared"]);
  });

  test("a damaged row is set aside, and the rest is shown", async () => {
    const { host, agent, read } = await conversation(2);
    const { entries } = await read();
    const last = Number(host.sql(Chat, "a", "SELECT min(last) AS last FROM cf_journal")[0]?.last);
    host.sql(Chat, "a", "UPDATE cf_journal SET body = 'x' WHERE last = ?", last);
    expect((await read()).entries).toEqual(entries.filter(({ position }) => position > last));
    // Seen once, it has its place again.
    const after = (await agent.readJournal()).entries;
    expect(positions(after)).toEqual(positions(entries));
    expect(types(after).slice(0, last)).toEqual(Array.from({ length: last }, () => "record-quarantined"));
  });

  test("is for clients only where the class says so", async () => {
    const { host } = await conversation(0);
    for (const [path, success] of [
      ["chat", false],
      ["open", true]
    ] as const) {
      const socket = await host.connect(`/agents/${path}/a`);
      socket.send({ type: "rpc", id: "1", method: "readJournal", args: [{ after: -50 }] });
      expect(await socket.next("rpc")).toMatchObject({ success });
    }
  });
});

test("an entry's types: what stays of a turn, and what changed, on whose behalf", () => {
  expectTypeOf<JournalEntry["turn"]>().toEqualTypeOf<TurnHistory | undefined>();
  expectTypeOf<TurnHistory["outcome"]>().toEqualTypeOf<"completed" | "failed" | "aborted" | "skipped">();
  expectTypeOf<NonNullable<JournalEntry["change"]>["by"]>().toEqualTypeOf<"client" | "code" | "runner" | "operator">();
  expectTypeOf<JournalEntry["position"]>().toEqualTypeOf<number>();
});
