// What it costs to answer a long queue: the bytes sent to each socket and the bytes written grow with the number of turns,
// not with its square, and every tab ends with what is stored.
import { StatementSync } from "node:sqlite";
import type { UIMessage } from "ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import {
  createGate,
  createTestHost,
  fail,
  failInBand,
  reply,
  scriptedModel,
  text,
  type Gate,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";

vi.setConfig({ testTimeout: 60_000 });

const FEW = 60;
const MANY = 300;

let gate: Gate;
let host: TestHost<{ Slow: typeof Slow }>;

class Slow extends Think<object> {
  override chatRecovery = false;
  override getModel() {
    return scriptedModel(() => reply(gate.wait(), text("At last.")));
  }
}

/** Every turn but the first ends like this. */
let step: Step;

class Ending extends Slow {
  override getModel() {
    return gate.isOpen ? scriptedModel([step]) : super.getModel();
  }
}

beforeEach(() => void vi.spyOn(console, "error").mockReturnValue(undefined));
afterEach(() => void vi.restoreAllMocks());

function ask(socket: TestSocket, index: number): void {
  const messages = [user(`u${index}`, `Question ${index}?`)];
  const init = { method: "POST", body: JSON.stringify({ messages }) };
  socket.send({ type: "cf_agent_use_chat_request", id: `r${index}`, init });
}

const sizeOf = ({ frames }: TestSocket) => JSON.stringify(frames).length;

const stored = async () => await storedMessages(host, "/agents/slow/a");

/** The list in the last whole transcript. */
const shown = ({ frames }: TestSocket) =>
  (frames as { type: string; messages?: UIMessage[] }[]).filter(({ type }) => type === "cf_agent_chat_messages").at(-1)
    ?.messages;

interface Drained {
  readonly asker: number;
  readonly watcher: number;
  /** Values given to SQL statements. */
  readonly written: number;
}

/** Queues so many questions, lets them be answered, and counts what came after the last question. */
async function drain(questions: number, leaves: boolean): Promise<Drained> {
  gate = createGate();
  host = createTestHost({ agents: { Slow: Ending } });
  const asker = await host.connect("/agents/slow/a");
  const watcher = await host.connect("/agents/slow/a");
  await host.idle();
  for (let index = 0; index < questions; index += 1) ask(asker, index);
  await host.idle();
  if (leaves) asker.close();
  await host.advance(30_000);
  const before = { asker: sizeOf(asker), watcher: sizeOf(watcher) };
  const statements = vi.spyOn(StatementSync.prototype, "all");
  gate.open();
  await host.idle();
  const values = statements.mock.calls.flat().filter((value) => typeof value === "string");
  statements.mockRestore();
  // At once, without a pause.
  const now = await stored();
  expect(now.filter(({ role }) => role === "user")).toHaveLength(questions);
  expect(shown(watcher)).toEqual(now);
  if (!leaves) expect(shown(asker)).toEqual(now);
  return {
    asker: sizeOf(asker) - before.asker,
    watcher: sizeOf(watcher) - before.watcher,
    written: values.reduce((sum, value) => sum + value.length, 0)
  };
}

const endings: [string, Step, boolean][] = [
  ["complete", reply(text("Here you are.")), false],
  ["fail before their stream", fail(new Error("refused"), { isRetryable: false }), false],
  ["fail in their stream", reply(text("Well,"), failInBand("refused")), false],
  ["complete when their client has left", reply(text("Here you are.")), true],
  ["fail when their client has left", fail(new Error("refused"), { isRetryable: false }), true]
];

test.each(endings)(
  "turns of a long queue that %s cost each socket and the disk the same, however many they are",
  async (_how, ending, leaves) => {
    step = ending;
    const few = await drain(FEW, leaves);
    const many = await drain(MANY, leaves);
    const most = (MANY / FEW) * 1.5;
    expect(many.watcher / few.watcher).toBeLessThan(most);
    if (!leaves) expect(many.asker / few.asker).toBeLessThan(most);
    expect(many.written / few.written).toBeLessThan(most);
  }
);
