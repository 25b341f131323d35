// What questions that are open in a chat cost: a message beside them, a press and decisions elsewhere, in proportion to how
// many there are. Counted in rows that are returned and in characters of stored JSON that are parsed, so that a busy machine
// changes nothing.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import { answered, bot, openBot, type Host } from "./messenger-providers-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

// Hundreds of questions are posted before anything is counted.
vi.setConfig({ testTimeout: 60_000 });

const FEW = 10;
const MANY = 100;
const RATIO = MANY / FEW;
/** Longer than it takes to post all questions, or to change them, one after the other. */
const POSTED_MS = 600_000;
const EXPIRED_MS = 31 * 24 * 3_600_000;

async function asked(count: number): Promise<Host> {
  const pay = action({
    description: "Pays.",
    inputSchema: z.object({ euros: z.number() }),
    kind: "durable-pause",
    execute: () => "paid"
  });
  const calls = Array.from({ length: count }, (_, index) => toolCall("pay", { euros: index }, { id: `c${index}` }));
  const steps = [reply(...calls), ...Array.from({ length: 2 * MANY + 10 }, () => reply(text("Well.")))];
  const host = await openBot("slack", steps, { actions: () => ({ pay }), definition: { conversation: "self" } });
  await host.fetch(bot.driver.says("Pay all of them"));
  await answered(host, POSTED_MS);
  expect(open()).toBe(count);
  return host;
}

const open = () => bot.driver.fake.messages().filter(({ buttons }) => buttons.length > 0).length;

interface Cost {
  readonly rows: number;
  readonly characters: number;
}

async function costOf(host: Host, work: () => Promise<unknown>): Promise<Cost> {
  const { rowsRead } = host.counts;
  const parse = vi.spyOn(JSON, "parse");
  await work();
  const characters = parse.mock.calls.reduce((sum, [source]) => sum + String(source).length, 0);
  parse.mockRestore();
  return { rows: host.counts.rowsRead - rowsRead, characters };
}

function expectLinear(few: Cost, many: Cost): void {
  expect(many.rows / few.rows, "rows").toBeLessThan(1.5 * RATIO);
  expect(many.characters / few.characters, "characters").toBeLessThan(1.5 * RATIO);
}

async function message(count: number): Promise<Cost> {
  const host = await asked(count);
  const cost = await costOf(host, async () => {
    await host.fetch(bot.driver.says("How are you?"));
    await answered(host);
  });
  expect(open()).toBe(count);
  return cost;
}

test("a message beside a hundred open questions costs at most ten times what it costs beside ten", async () => {
  expectLinear(await message(FEW), await message(MANY));
});

async function closing(count: number): Promise<Cost> {
  const host = await asked(count);
  // Nothing is said in the chat when they expire: the next message closes all of them.
  await host.advance(EXPIRED_MS);
  expect(open()).toBe(count);
  const cost = await costOf(host, async () => {
    await host.fetch(bot.driver.says("How are you?"));
    await answered(host, 1_000);
  });
  await answered(host, POSTED_MS);
  expect(bot.driver.fake.texts().filter((one) => one.includes("Expired."))).toHaveLength(count);
  return cost;
}

test("a message after a hundred questions ended elsewhere closes them for ten times what ten cost", async () => {
  expectLinear(await closing(FEW), await closing(MANY));
});

async function press(count: number): Promise<Cost> {
  const host = await asked(count);
  const pressed = bot.driver.presses("Approve");
  const cost = await costOf(host, async () => {
    await host.fetch(pressed);
    await answered(host);
  });
  expect(open()).toBe(count - 1);
  return cost;
}

test("a press beside a hundred open questions costs at most ten times what it costs beside ten", async () => {
  expectLinear(await press(FEW), await press(MANY));
});
