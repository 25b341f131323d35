// What memory costs does not depend on how long the conversation is: rows read and written, counted, for turns, appends
// and starts of a class with blocks, a cached prompt, a threshold and a summary.
import { StatementSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { reply, text, usage } from "../../src/testing/index.ts";
import { companion, connect, open, post, say, shown, type Server } from "./memory-kit.ts";
import { user } from "../kit/messages.ts";

const FEW = 100;
const MANY = 10_000;
const APPENDS = 1_000;

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

interface Cost {
  readonly read: number;
  readonly written: number;
}

async function costOf(host: Server, work: () => Promise<unknown>): Promise<Cost> {
  await host.idle();
  const before = host.counts;
  await work();
  await host.idle();
  const after = host.counts;
  return { read: after.rowsRead - before.rowsRead, written: after.rowsWritten - before.rowsWritten };
}

/** A conversation of so many messages, that has been looked at. */
async function filled(count: number): Promise<Server> {
  // The provider always counts what it counted before: nothing has to be noted.
  const host = open(() => reply(text("answer"), usage({ input: 1_000_000 + count, output: 1 })), { threshold: 1e9 });
  const agent = await companion(host);
  for (let from = 0; from < count; from += 1_000) await agent.fill(from, Math.min(1_000, count - from));
  return host;
}

test("a turn reads and writes as many rows after 10,000 messages as after 100, through every entry", async () => {
  const costs: Cost[][] = [];
  for (const count of [FEW, MANY]) {
    const host = await filled(count);
    const socket = await connect(host);
    await say(host, "warm 1");
    await say(host, "warm 2");
    const turns: Cost[] = [];
    for (const question of ["one", "two", "three"]) turns.push(await costOf(host, () => say(host, question)));
    for (const question of ["four", "five", "six"]) {
      turns.push(
        await costOf(host, async () => {
          post(socket, question, [user(question)]);
          await host.idle();
        })
      );
    }
    costs.push(turns);
  }
  expect(costs[1]).toEqual(costs[0]);
  const [first, second, third] = costs[1] ?? [];
  expect([second, third]).toEqual([first, first]);
  // Which requests the journal knows is read once, with the first one of a client.
  expect(costs[1]?.[5]).toEqual(costs[1]?.[4]);
  expect(first?.read).toBeLessThanOrEqual(40);
  for (const { written } of costs[1] ?? []) expect(written).toBeLessThanOrEqual(10);
});

test("each of 1,000 appends costs what the first did, after 10,000 messages as after none", async () => {
  const costs: Cost[] = [];
  for (const count of [0, MANY]) {
    const host = await filled(count);
    const agent = await companion(host);
    await agent.append(0, 10);
    const first = await costOf(host, () => agent.append(10, 100));
    await agent.append(110, APPENDS - 200);
    const last = await costOf(host, () => agent.append(APPENDS - 90, 100));
    expect(last).toEqual(first);
    costs.push(last);
  }
  expect(costs[1]).toEqual(costs[0]);
  // A message, the record of it and the conversation's row.
  expect(costs[1]?.written).toBeLessThanOrEqual(3 * 100 + 2);
});

/** Rows that a start hands out. */
async function rowsOf(work: () => Promise<unknown>): Promise<number> {
  let rows = 0;
  const all = StatementSync.prototype.all;
  const spy = vi.spyOn(StatementSync.prototype, "all").mockImplementation(function (this: StatementSync, ...values) {
    const found = all.apply(this, values);
    rows += found.length;
    return found;
  });
  await work();
  spy.mockRestore();
  return rows;
}

test("a start reads as little after 10,000 messages as after 100, compacted or not", async () => {
  const starts: number[] = [];
  for (const count of [FEW, MANY]) {
    for (const isCompacted of [false, true]) {
      const host = await filled(count);
      if (isCompacted) await (await companion(host)).cover("m1", `m${count - 5}`);
      await say(host, "warm");
      await host.idle();
      await host.restart();
      starts.push(await rowsOf(async () => (await companion(host)).content("memory")));
    }
  }
  expect(new Set(starts).size).toBe(1);
  expect(starts[0]).toBeLessThanOrEqual(30);
});

test("the first look at a compacted conversation reads what is shown, not what the summary covers", async () => {
  const reads: number[] = [];
  for (const count of [FEW, MANY]) {
    const host = await filled(count);
    await (await companion(host)).cover("m1", `m${count - 5}`);
    await host.restart();
    await companion(host);
    await host.idle();
    const before = host.counts.rowsRead;
    expect(await shown(host)).toHaveLength(6);
    reads.push(host.counts.rowsRead - before);
  }
  expect(reads[1]).toBe(reads[0]);
});

test("a cached prompt is one read per turn, however much the blocks hold", async () => {
  const host = await filled(FEW);
  await say(host, "warm 1");
  await say(host, "warm 2");
  const small = await costOf(host, () => say(host, "small"));
  await (await companion(host)).write("memory", "fact ".repeat(1_000));
  expect(await costOf(host, () => say(host, "large"))).toEqual(small);
});
