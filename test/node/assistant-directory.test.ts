// The list of conversations and the board.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  asked,
  cutTitle,
  EMPTY_DIRECTORY,
  MAX_BOARD_NOTES,
  MAX_CONVERSATIONS,
  MAX_TITLE_LENGTH,
  UNTITLED,
  unusedConversation,
  withNote,
  withWaiting
} from "../../examples/assistant/server/conversation-list.ts";
import { everyCrash } from "../../src/testing/index.ts";
import { Assistant, Directory, directoryState, openHost, Page, promptOf, type Host } from "./assistant-kit.ts";
import { user } from "../kit/messages.ts";

// Refusals and dying processes are logged; what is tested is what they leave.
beforeEach(() => {
  for (const method of ["error", "warn"] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const directory = (host: Host) => host.get(Directory, "main");

/** Whether an object has anything stored. */
const isStored = (host: Host, name: string) =>
  host.sql(Assistant, name, "SELECT name FROM sqlite_master WHERE name = 'cf_meta'").length > 0;

test.each([
  ["", "New conversation"],
  ["  \n ", "New conversation"],
  [" two\n lines ", "two lines"],
  ["x".repeat(60), "x".repeat(60)],
  ["x".repeat(61), `${"x".repeat(59)}…`],
  ["🛟".repeat(61), `${"🛟".repeat(59)}…`]
])("a title is one line of at most 60 characters (%#)", (text, title) => {
  expect(cutTitle(text)).toBe(title);
  expect([...cutTitle(text)].length).toBeLessThanOrEqual(MAX_TITLE_LENGTH);
});

test("a conversation that was not listed is used once it was asked, whatever the clock says", () => {
  for (const now of [4, 5, 6]) {
    const entry = asked({ id: "a", title: UNTITLED, createdAt: 5, updatedAt: 5 }, now);
    expect(unusedConversation({ ...EMPTY_DIRECTORY, conversations: [entry] })).toBeUndefined();
  }
});

test("the Worker leads to the agents and knows nothing else", async () => {
  const host = openHost();
  expect((await host.fetch("/agents/assistant/a/get-messages")).status).toBe(200);
  expect((await host.fetch("/elsewhere")).status).toBe(404);
});

test("a note is published once, and the board keeps the newest hundred", () => {
  let state = EMPTY_DIRECTORY;
  for (let number = 0; number <= MAX_BOARD_NOTES; number += 1) {
    state = withNote(state, { id: `n${number}`, text: "t", publishedAt: number });
    state = withNote(state, { id: `n${number}`, text: "again", publishedAt: number });
  }
  expect(state.board).toHaveLength(MAX_BOARD_NOTES);
  expect(state.board[0]).toEqual({ id: "n100", text: "t", publishedAt: 100 });
  expect(state.board.at(-1)?.id).toBe("n1");
});

describe("the directory", () => {
  test("lists a new conversation, names it after its first question only, and puts the used one first", async () => {
    const host = openHost();
    const page = new Page(host);
    const other = await (await directory(host)).create();
    await page.ask("Tell me a long story about a lighthouse keeper and everything that ever happened to her.");
    await page.ask("hello");
    const { conversations } = await directoryState(host);
    expect(conversations.map(({ id, title }) => [id, title])).toEqual([
      ["a", "Tell me a long story about a lighthouse keeper and everythi…"],
      [other.id, "New conversation"]
    ]);
    await (await directory(host)).rename("a", "  The keeper  ");
    expect((await directoryState(host)).conversations[0]?.title).toBe("The keeper");
  });

  test("a conversation that was never used serves again, until it is asked, named or removed", async () => {
    const host = openHost();
    const stub = await directory(host);
    const first = await stub.create();
    expect((await stub.create()).id).toBe(first.id);
    await stub.touch("elsewhere", "A question");
    expect((await stub.create()).id).toBe(first.id);
    expect((await directoryState(host)).conversations.map(({ id }) => id)).toEqual([first.id, "elsewhere"]);

    // A question of pictures alone leaves the title as it was, and may come within the same millisecond.
    await stub.touch(first.id, "");
    const second = await stub.create();
    expect(second.id).not.toBe(first.id);
    await stub.rename(second.id, "Kept for later");
    const third = await stub.create();
    expect(third.id).not.toBe(second.id);
    await stub.remove(third.id);
    expect((await stub.create()).id).not.toBe(third.id);
    expect((await directoryState(host)).conversations).toHaveLength(4);
  });

  test("two tabs that want a new conversation at the same time get the same one", async () => {
    const host = openHost();
    const stub = await directory(host);
    const [one, other] = await Promise.all([stub.create(), stub.create()]);
    expect(other.id).toBe(one.id);
    expect((await directoryState(host)).conversations).toHaveLength(1);
  });

  test("removing a conversation destroys what it stored", async () => {
    const host = openHost();
    const page = new Page(host);
    await page.ask("Remember that my boat is called Aurora.");
    page.client.close();
    expect(isStored(host, "a")).toBe(true);
    await (await directory(host)).remove("a");
    await host.idle();
    expect((await directoryState(host)).conversations).toEqual([]);
    expect(isStored(host, "a")).toBe(false);
  });

  test("with more than 200 conversations the one used longest ago is destroyed", async () => {
    const host = openHost();
    const page = new Page(host);
    await page.ask("hello");
    page.client.close();
    const stub = await directory(host);
    for (let number = 1; number < MAX_CONVERSATIONS; number += 1) await stub.touch(`c${number}`, "Asked");
    expect(isStored(host, "a")).toBe(true);
    await stub.create();
    await host.idle();
    const { conversations } = await directoryState(host);
    expect(conversations).toHaveLength(MAX_CONVERSATIONS);
    expect(conversations.some(({ id }) => id === "a")).toBe(false);
    expect(isStored(host, "a")).toBe(false);
  });

  test("clients call create, rename and remove, and nothing else; they cannot write the state", async () => {
    const host = openHost();
    const socket = await host.connect("/agents/directory/main");
    const call = async (method: string, ...args: unknown[]) => {
      socket.send({ type: "rpc", id: method, method, args });
      return (await socket.next<{ success: boolean }>("rpc")).success;
    };
    expect(await call("create")).toBe(true);
    expect(await call("touch", "x", "mine")).toBe(false);
    expect(await call("publish", { id: "n", text: "t", publishedAt: 0 })).toBe(false);
    expect(await call("destroyConversation", "a")).toBe(false);
    socket.send({ type: "cf_agent_state", state: { conversations: [], board: [{ id: "n" }] } });
    await host.idle();
    const { conversations, board } = await directoryState(host);
    expect([conversations.length, board.length]).toEqual([1, 0]);
  });

  test("killed anywhere, a removal that is asked for again leaves no entry, and destroys the conversation", async () => {
    await everyCrash({
      create: async () => {
        const host = openHost();
        await (await host.get(Assistant, "a")).saveMessages([user("u1", "hi")]);
        await host.idle();
        return host;
      },
      script: async (host) => (await directory(host)).remove("a"),
      finish: async (host) => {
        await (await directory(host)).remove("a");
        await host.advance(600_000);
      },
      inspect: async (host) => [(await directoryState(host)).conversations, isStored(host, "a")]
    });
  });

  test("killed anywhere, an announcement that comes again is listed once and a note published once", async () => {
    await everyCrash({
      create: openHost,
      script: async (host) => (await directory(host)).touch("a", "A title"),
      finish: async (host) => {
        const stub = await directory(host);
        await stub.touch("a", "A title");
        for (let time = 0; time < 2; time += 1) await stub.publish({ id: "n1", text: "t", publishedAt: 1 });
      },
      inspect: async (host) => {
        const { conversations, board } = await directoryState(host);
        return [conversations.map(({ id, title }) => [id, title]), board];
      }
    });
  });
});

test("the directory counts the questions that wait in a conversation, until they are decided", async () => {
  const host = openHost();
  const page = new Page(host);
  const waiting = async () => (await directoryState(host)).conversations.map((entry) => entry.waiting ?? 0);
  await page.ask(promptOf("Ask before deleting"));
  await host.advance(10_000);
  expect(await waiting()).toEqual([1]);
  const [{ callId } = { callId: "" }] = page.snapshot.pendingApprovals;
  await host.restart();
  await (await host.get(Assistant, "a")).rejectExecution(callId);
  await host.advance(10_000);
  expect(await waiting()).toEqual([0]);
});

test("a count that is known changes nothing, and a conversation that is gone waits for nothing", () => {
  const entry = { id: "a", title: "t", createdAt: 1, updatedAt: 2 };
  const state = { ...EMPTY_DIRECTORY, conversations: [entry] };
  const one = withWaiting(state, "a", 1);
  expect(one.conversations).toEqual([{ ...entry, waiting: 1 }]);
  expect(withWaiting(one, "a", 1)).toBe(one);
  expect(withWaiting(one, "a", 0)).toEqual(state);
  expect(withWaiting(state, "b", 3)).toBe(state);
});
