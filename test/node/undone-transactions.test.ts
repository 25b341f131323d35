// User code may open a transaction of its own around anything of ours, and undo it. What is shown afterwards is what is
// stored, and what a restart finds: nothing that is kept in memory outlives the rows it was read from.
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { Think, type Session } from "../../src/index.ts";
import { createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";
import { textsOf, user } from "../kit/messages.ts";

const WRITES = {
  "a message that was appended": (chat: Chat) => chat.append("ghost"),
  "a message that was changed": (chat: Chat) => chat.update("first", "changed"),
  "a message that was added": (chat: Chat) => chat.addMessages([user("ghost")]),
  "a conversation that was cleared": (chat: Chat) => chat.clearMessages(),
  "a state that was set": (chat: Chat) => chat.setState({ note: "lost" }),
  "a configuration that was stored": (chat: Chat) => chat.configure({ tier: "lost" }),
  "a schedule that was set": (chat: Chat) => chat.remind("lost")
};
type Write = keyof typeof WRITES;
const NAMES = Object.keys(WRITES) as Write[];

class Chat extends Think<object, { note: string }> {
  override initialState = { note: "old" };
  readonly #changes: string[] = [];
  override getModel() {
    return scriptedModel([reply(text("one")), reply(text("two"))]);
  }
  override onStateChanged(state: { note: string }) {
    this.#changes.push(state.note);
  }
  override configureSession(session: Session) {
    return session.withContext("memory", { description: "Notes" });
  }
  /** The text of the block before and after it is undone. */
  async undoBlock() {
    const seen: (string | undefined)[] = [];
    await this.ctx.storage.transaction(async (transaction) => {
      await this.session.replaceContextBlock("memory", "lost");
      seen.push(this.look().memory);
      transaction.rollback();
    });
    return [...seen, this.look().memory];
  }
  remind(what: string) {
    return this.schedule(60, "note", what);
  }
  note(what: string) {
    this.sql`CREATE TABLE IF NOT EXISTS notes (what TEXT)`;
    this.sql`INSERT INTO notes VALUES (${what})`;
  }
  notes() {
    return this.sql<{ what: string }>`SELECT what FROM notes`.map(({ what }) => what);
  }
  append(id: string) {
    return this.appendMessageToHistory(user(id));
  }
  update(id: string, now: string) {
    return this.updateMessageInHistory(user(id, now));
  }
  changes() {
    return this.#changes;
  }
  /** Writes, looks at everything and undoes it; "nested": inside of a transaction that goes on. */
  async undo(write: Write, how: "sync" | "nested" | "async") {
    const { storage } = this.ctx;
    const lost = () => {
      void WRITES[write](this);
      this.look();
      throw new Error("undone");
    };
    const caught = () => {
      expect(() => storage.transactionSync(lost)).toThrow("undone");
    };
    if (how === "sync") return caught();
    if (how === "nested") return storage.transactionSync(caught);
    await expect(storage.transaction(async () => lost())).rejects.toThrow("undone");
  }
  look() {
    const memory = this.session.getContextBlock("memory")?.content;
    return { shown: textsOf(this.messages), state: this.state, config: this.getConfig(), memory };
  }
  async see() {
    return { ...this.look(), history: textsOf((await this.session.getHistory()) as UIMessage[]) };
  }
}

const open = async () => {
  const host = createTestHost({ agents: { Chat } });
  const chat = await host.get(Chat, "a");
  return { host, chat };
};

describe.each(["sync", "nested", "async"] as const)("what user code undoes (%s) was never there:", (how) => {
  test.each(NAMES)("%s", async (name) => {
    const { host, chat } = await open();
    await chat.append("first");
    const before = await chat.see();
    expect(before).toEqual({ shown: ["first"], history: ["first"], state: { note: "old" }, config: null, memory: "" });
    await chat.undo(name, how);
    expect(await chat.see()).toEqual(before);
    await host.idle();
    expect(await chat.changes()).not.toContain("lost");
    await host.restart();
    expect(await (await host.get(Chat, "a")).see()).toEqual(before);
  });

  test.each(NAMES)("%s, as the first thing in a new object", async (name) => {
    const { host, chat } = await open();
    await chat.undo(name, how);
    const state = { note: "old" };
    expect(await chat.see()).toEqual({ shown: [], history: [], config: null, memory: "", state });
    await chat.append("next");
    const after = { shown: ["next"], history: ["next"], config: null, memory: "", state };
    expect(await chat.see()).toEqual(after);
    await host.restart();
    expect(await (await host.get(Chat, "a")).see()).toEqual(after);
  });
});

test("a wake that was undone is not taken for one that is set: the next schedule of the same time runs", async () => {
  const { host, chat } = await open();
  await chat.undo("a schedule that was set", "sync");
  await host.idle();
  expect(host.alarm(Chat, "a")).toBeNull();
  await chat.remind("kept");
  await host.advance(61_000);
  expect(await chat.notes()).toEqual(["kept"]);
});

test("a block that was written in a transaction that awaits, and undone with it, is read again", async () => {
  const { chat } = await open();
  expect(await chat.undoBlock()).toEqual(["lost", ""]);
  expect(await chat.see()).toMatchObject({ memory: "" });
});

test("a client is not sent a state that was undone", async () => {
  const { host, chat } = await open();
  const socket = await host.connect("/agents/chat/a");
  await host.idle();
  await chat.undo("a state that was set", "sync");
  await host.idle();
  expect(JSON.stringify(socket.frames)).not.toContain("lost");
  await chat.setState({ note: "kept" });
  await host.idle();
  expect(JSON.stringify(socket.frames)).toContain("kept");
});
