// Work that is run again after a crash asks its questions once: schedules, queue items, fibers and response hooks, killed
// at each of their writes and awaits, leave the conversation that an undisturbed run leaves.
import type { UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { FiberRecoveryContext } from "../../src/agent-class/index.ts";
import { Think, type ChatResponseResult } from "../../src/index.ts";
import { createTestHost, everyCrash, planModel, type TestHost } from "../../src/testing/index.ts";
import { textOf, user } from "../kit/messages.ts";

// Each test plays its conversation once per write and await.
vi.setConfig({ testTimeout: 30_000 });

const PAGES = ["Page 1.", "Page 2.", "Page 3."];
const silent = { onStart() {}, onEvent() {}, onDone() {}, onError() {} };

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => void vi.restoreAllMocks());

/** Another id at every call, as user code makes them. */
function question(text: string): UIMessage[] {
  return [user(crypto.randomUUID(), text)];
}

class Diary extends Think {
  // One test kills five processes in a row, which may all fall into the same attempt.
  override chatRecovery = { maxInterruptedAttempts: 6 };

  override getModel() {
    const texts = ["Good morning.", "And then?", "Done?", ...PAGES];
    return planModel(Object.fromEntries(texts.map((text) => [text, [{ text: `Answer to: ${text}` }]])));
  }

  later(callback: "greet" | "greetByFunction" | "greetByCallback" | "greetInFiber") {
    return this.schedule(60, callback, undefined, { idempotent: true });
  }

  /** Two questions of one run, by two of the ways there are. */
  async greet() {
    await this.saveMessages(question("Good morning."));
    await this.runTurn({ input: "And then?" });
  }

  async greetByFunction() {
    await this.saveMessages(() => question("Good morning."));
  }

  async greetByCallback() {
    await this.chat("Good morning.", silent);
  }

  async greetInFiber() {
    await this.runFiber("greet", () => this.saveMessages(question("Good morning.")));
  }

  readPages() {
    return this.startFiber("read", (fiber) => this.readFrom(0, fiber.stash), { idempotencyKey: "read" });
  }

  async readFrom(first: number, stash: (data: unknown) => void) {
    for (const [index, page] of PAGES.entries()) {
      if (index < first) continue;
      await this.saveMessages(question(page));
      stash(index + 1);
    }
    await this.saveMessages(question("Done?"));
  }

  override async onFiberRecovered({ name, snapshot }: FiberRecoveryContext) {
    if (name !== "read") return;
    await this.runFiber("read", (fiber) => this.readFrom((snapshot as number | null) ?? 0, fiber.stash));
    return { status: "completed" as const };
  }

  said() {
    return this.messages.map(textOf);
  }
}

class Eager extends Diary {
  override async onChatResponse({ message }: ChatResponseResult) {
    if (textOf(message) === "Answer to: Good morning.") await this.saveMessages(question("And then?"));
  }
}

type Host = TestHost<{ Diary: DurableObjectNamespace<Diary> }>;

const conversation = (...questions: string[]) => questions.flatMap((text) => [text, `Answer to: ${text}`]);

interface Killed {
  readonly agent?: typeof Diary;
  readonly script: (host: Host) => Promise<unknown>;
  /** What a client does that does not know whether its call was taken before the crash. */
  readonly again: (host: Host) => Promise<unknown>;
}

/** The conversation that every death leaves. */
async function killEverywhere({ agent = Diary, script, again }: Killed): Promise<string[]> {
  let left: string[] = [];
  const { points } = await everyCrash({
    create: async () => {
      const host = createTestHost({ agents: { Diary: agent } });
      await host.get(agent, "d");
      return host;
    },
    script,
    finish: async (host) => {
      await again(host);
      await host.advance(3_600_000);
    },
    inspect: async (host) => {
      left = await (await host.get(agent, "d")).said();
      return left;
    }
  });
  expect(points).toBeGreaterThan(10);
  return left;
}

/** Scheduled, and run a minute later. Scheduled again if the first process did not live to do it. */
const scheduled = (callback: Parameters<Diary["later"]>[0]): Killed => ({
  script: async (host) => {
    await (await host.get(Diary, "d")).later(callback);
    await host.advance(61_000);
  },
  again: async (host) => {
    const diary = await host.get(Diary, "d");
    if ((await diary.said()).length === 0) await diary.later(callback);
  }
});

describe("killed at every write and await, the questions are asked once", () => {
  test("of a schedule", async () => {
    expect(await killEverywhere(scheduled("greet"))).toEqual(conversation("Good morning.", "And then?"));
  });

  test("of a schedule that gives its messages as a function", async () => {
    expect(await killEverywhere(scheduled("greetByFunction"))).toEqual(conversation("Good morning."));
  });

  test("of a schedule that follows its answer by a callback", async () => {
    expect(await killEverywhere(scheduled("greetByCallback"))).toEqual(conversation("Good morning."));
  });

  test("of a fiber inside a schedule", async () => {
    expect(await killEverywhere(scheduled("greetInFiber"))).toEqual(conversation("Good morning."));
  });

  test("of a queue item", async () => {
    const enqueue = async (host: Host) => {
      const diary = await host.get(Diary, "d");
      const [item] = host.sql(Diary, "d", "SELECT 1 FROM sqlite_master WHERE name = 'cf_work'");
      if (item === undefined && (await diary.said()).length === 0) await diary.queue("greet", null);
    };
    expect(await killEverywhere({ script: enqueue, again: enqueue })).toEqual(
      conversation("Good morning.", "And then?")
    );
  });

  test("of a fiber that goes on from its checkpoint", async () => {
    const read = async (host: Host) => (await host.get(Diary, "d")).readPages();
    expect(await killEverywhere({ script: read, again: read })).toEqual(conversation(...PAGES, "Done?"));
  });

  test("of a response hook", async () => {
    const ask = async (host: Host) => {
      const message = user("u1", "Good morning.");
      await (await host.get(Eager, "d")).saveMessages([message], { idempotencyKey: "greeting" });
    };
    expect(await killEverywhere({ agent: Eager, script: ask, again: ask })).toEqual(
      conversation("Good morning.", "And then?")
    );
  });
});

test("a response hook that finds its question still open does not wait for itself", async () => {
  let found = 0;
  for (let writes = 1; writes < 20; writes++) {
    const host = createTestHost({ agents: { Diary: Eager } });
    const eager = await host.get(Eager, "d");
    host.crashAfterWrite(writes);
    await Promise.resolve(eager.saveMessages(question("Good morning."))).catch(() => undefined);
    if (!(await host.untilCrashOrIdle())) break;
    const [row] = host.sql<{ turns: string; hooks: string }>(
      Eager,
      "d",
      "SELECT open_turns AS turns, responding_turns AS hooks FROM cf_conversations"
    );
    if (!row || row.turns === "[]" || row.hooks === "[]") continue;
    found += 1;
    await host.restart();
    await host.advance(60_000);
    expect(await (await host.get(Eager, "d")).said()).toEqual(conversation("Good morning.", "And then?"));
    expect(host.sql(Eager, "d", "SELECT responding_turns AS hooks FROM cf_conversations")).toEqual([{ hooks: "[]" }]);
  }
  expect(found).toBeGreaterThan(0);
});

test("a turn that a recovery hook starts runs after onStart, and no start waits for it", async () => {
  const order: string[] = [];
  class Careful extends Diary {
    override getModel() {
      order.push("model");
      return super.getModel();
    }

    override async onStart() {
      await Promise.resolve();
      order.push("start");
    }

    hang() {
      return this.startFiber("hang", () => new Promise(() => undefined));
    }

    override async onFiberRecovered(): Promise<{ status: "completed" }> {
      order.push(`hook, ${this.messages.length} messages`);
      await this.saveMessages(question("Good morning."));
      order.push("answered");
      return { status: "completed" };
    }
  }
  const host = createTestHost({ agents: { Careful } });
  await (await host.get(Careful, "d")).hang();
  order.length = 0;
  await host.restart();
  const before = host.now;
  await host.get(Careful, "d");
  expect(host.now).toBe(before);
  await host.idle();
  expect(order).toEqual(["hook, 0 messages", "start", "model", "answered"]);
});

test("a fiber that is killed again and again asks each of its questions once", async () => {
  for (let writes = 5; writes < 40; writes += 3) {
    const host = createTestHost({ agents: { Diary } });
    await host.get(Diary, "d");
    host.crashAfterWrite(writes);
    const reading = await host.get(Diary, "d");
    await Promise.resolve(reading.readPages()).catch(() => undefined);
    for (let death = 0; death < 4; death++) {
      await host.untilCrashOrIdle();
      host.crashAfterWrite(writes);
      if (host.crashed) await host.restart();
      await host.advance(60_000).catch(() => undefined);
    }
    if (host.crashed) await host.restart();
    host.crashAfterWrite(Number.MAX_SAFE_INTEGER);
    await (await host.get(Diary, "d")).readPages();
    await host.advance(3_600_000);
    expect(await (await host.get(Diary, "d")).said(), `dead after every ${writes} writes`).toEqual(
      conversation(...PAGES, "Done?")
    );
  }
});
