// What one more question costs while many wait: the same, however many they are.
import { StatementSync } from "node:sqlite";
import { beforeEach, expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import {
  createTestHost,
  createGate,
  type Gate,
  reply,
  scriptedModel,
  text,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { framesOf, sendChat } from "../kit/frames.ts";
import { user } from "../kit/messages.ts";

const QUESTIONS = 600;
/** Of the first questions and of the last. */
const COMPARED = 50;
/** The first ones make tables, and may be followed by a snapshot each. */
const WARM = 25;

let gate: Gate;

class Slow extends Think<object> {
  override getModel() {
    return scriptedModel([reply(gate.wait(), text("At last."))]);
  }
}

let host: TestHost<object>;
let asker: TestSocket;
let watcher: TestSocket;

beforeEach(async () => {
  gate = createGate();
  host = createTestHost({ agents: { Slow } });
  asker = await host.connect("/agents/slow/a");
  watcher = await host.connect("/agents/slow/a");
  await host.idle();
});

function ask(index: number): void {
  const messages = [user(`u${index}`, `Question ${index}?`)];
  sendChat(asker, `r${index}`, messages);
}

const sizeOf = (socket: TestSocket) => JSON.stringify(socket.frames).length;
const shown = (socket: TestSocket) =>
  (socket.frames as { type: string; messages: { id: string }[] }[])
    .filter(({ type }) => type === "cf_agent_chat_messages")
    .at(-1)
    ?.messages.map(({ id }) => id);

test("the last of many waiting questions costs no more statements and bytes than one of the first", async () => {
  const statements = vi.spyOn(StatementSync.prototype, "all");
  const costs: { statements: number; bytes: number }[] = [];
  for (let index = 0; index < QUESTIONS; index += 1) {
    const before = { statements: statements.mock.calls.length, bytes: sizeOf(asker) + sizeOf(watcher) };
    if (index === WARM) statements.mockClear();
    ask(index);
    await host.idle();
    if (index < WARM) continue;
    const bytes = sizeOf(asker) + sizeOf(watcher) - before.bytes;
    costs.push({ statements: statements.mock.calls.length - (index === WARM ? 0 : before.statements), bytes });
  }
  const sum = (some: typeof costs) => ({
    statements: some.reduce((total, one) => total + one.statements, 0),
    bytes: some.reduce((total, one) => total + one.bytes, 0)
  });
  const [first, last] = [sum(costs.slice(0, COMPARED)), sum(costs.slice(-COMPARED))];
  expect(last.statements / first.statements).toBeLessThan(1.2);
  // Snapshots grow with the conversation, and there are fewer of them than questions.
  expect(last.bytes).toBeLessThanOrEqual(first.bytes);
});

test("other tabs show all questions a moment later, with few snapshots", async () => {
  for (let index = 0; index < 100; index += 1) ask(index);
  await host.idle();
  await host.advance(1_000);
  const all = Array.from({ length: 100 }, (_, index) => `u${index}`);
  expect(shown(watcher)).toEqual(all);
  expect(shown(asker)).toEqual(all);
  const snapshots = framesOf(watcher).filter(({ type }) => type === "cf_agent_chat_messages");
  expect(snapshots.length).toBeLessThan(25);
});

test("what other tabs are owed comes before the next answer begins", async () => {
  for (let index = 0; index < 30; index += 1) ask(index);
  await host.idle();
  expect(shown(watcher)?.length).toBeLessThan(30);
  gate.open();
  await host.idle();
  const frames = framesOf(watcher);
  const second = frames.findIndex(({ type, id }) => type === "cf_agent_use_chat_response" && id === "r1");
  const whole = frames.findIndex(({ messages }) => messages?.length === 30 || messages?.length === 31);
  expect(second).toBeGreaterThan(0);
  expect(whole).toBeGreaterThan(0);
  expect(whole).toBeLessThan(second);
});
