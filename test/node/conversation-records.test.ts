// Every change of the stored conversation is one small record, written with it: what, on whose behalf, and nothing of what
// the messages hold. A change that a turn's own records say has no second one.
import { tool, type UIMessage } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { changeOf } from "../../src/journal/history.ts";
import { action, Think, type JournalEntry } from "../../src/index.ts";
import { StoredTranscript } from "../../src/session/transcript.ts";
import { Idempotency } from "../../src/session/idempotency.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  fail,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { message, storedMessages } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

/** In every text and value, so that none of it can be in a record unseen. */
const SECRET = "what was said";
const MAX_RECORD_BYTES = 300;

let script: Script;
let keepsMedia = true;
let failsTurns = false;

class Chat extends Think {
  static override callables = ["selectBranch"];
  override chatRecovery = false;
  override mediaEviction = keepsMedia ? false : { keepRecentMessages: 4, minPartBytes: 1000 };

  override getModel() {
    return scriptedModel(script);
  }

  override beforeTurn() {
    if (failsTurns) throw new Error("No turn today.");
  }

  override getTools() {
    return {
      ask_user: tool({ inputSchema: z.object({}) }),
      pay: tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => SECRET })
    };
  }

  override getActions() {
    return {
      book: action({
        description: "Books a room",
        inputSchema: z.object({}),
        kind: "durable-pause",
        execute: async () => ({ booked: SECRET })
      })
    };
  }

  append(message: UIMessage) {
    return this.appendMessageToHistory(message);
  }
  update(message: UIMessage) {
    return this.updateMessageInHistory(message);
  }
  sessionAppend(message: UIMessage) {
    return this.session.appendMessage(message as never);
  }
  sessionUpdate(message: UIMessage) {
    return this.session.updateMessage(message as never);
  }
  remove(...ids: string[]) {
    return this.session.deleteMessages(ids);
  }
  sessionClear() {
    return this.session.clearMessages();
  }
  summarise(from: string, to: string) {
    return this.session.addCompaction(SECRET, from, to);
  }

  /** What a model would be shown, and how many of its messages are repaired. */
  peek() {
    const transcript = new StoredTranscript({
      store: this.session.store!,
      idempotency: new Idempotency({} as never),
      budgetBytes: () => 1e6,
      announce: () => expect.unreachable(),
      onFailure: () => expect.unreachable(),
      onClear: () => undefined,
      noteUsage: () => undefined,
      repairPart: (part) => this.repairInterruptedToolPart(part),
      emit: () => expect.unreachable()
    });
    const { messages, changed } = transcript.prompt(undefined, { isClientTool: () => false, isUserTurn: true });
    return { isSettled: JSON.stringify(messages).includes("output-error"), repaired: changed.length };
  }

  /** Makes a change inside a transaction of the user's own, which is undone. */
  undo(method: "append" | "update" | "remove" | "sessionClear" | "summarise" | "selectBranch", ...args: unknown[]) {
    try {
      this.ctx.storage.transactionSync(() => {
        const change: Promise<unknown> = Reflect.apply(this[method], this, args);
        change.catch(() => undefined);
        throw new Error("undone");
      });
    } catch {
      return this.messages.map(({ id }) => id);
    }
    return [];
  }
}

type Host = TestHost<{ Chat: DurableObjectNamespace<Chat> }>;

const said = (id: string, role: UIMessage["role"] = "user", words = SECRET): UIMessage => message(role, id, words);
const agentOf = (host: Host) => host.get(Chat, "a");
const connect = (host: Host) => host.connect("/agents/chat/a");

function open(...steps: Step[]): Host {
  script = createScript(steps);
  return createTestHost({ agents: { Chat } });
}

/** u1 and its answer a1, without a turn. */
async function talked(...steps: Step[]): Promise<Host> {
  const host = open(...steps);
  await (await agentOf(host)).addMessages([said("u1"), said("a1", "assistant")]);
  return host;
}

function records(host: Host) {
  const rows = host.sql<{ sequence: number; body: string }>(
    Chat,
    "a",
    "SELECT sequence, body FROM cf_changes ORDER BY sequence"
  );
  return rows.map((row) => {
    expect(row.body).not.toContain(SECRET);
    expect(row.body.length).toBeLessThanOrEqual(MAX_RECORD_BYTES);
    const { change, by, why, messageIds, count, callId } = changeOf(row)!;
    return { change, by, why, messageIds, count, callId };
  });
}

async function post(host: Host, socket: TestSocket, messages: readonly UIMessage[], trigger = "submit-message") {
  sendChat(socket, `r${messages.length}`, messages, { trigger });
  await host.idle();
}

/** Asked, and answered with a call that waits. */
async function waiting(name: string, ...steps: Step[]): Promise<{ host: Host; socket: TestSocket }> {
  const host = open(reply(toolCall(name, {}, { id: "c1" })), ...steps);
  const socket = await connect(host);
  await post(host, socket, [said("u1")]);
  return { host, socket };
}

interface Change {
  readonly name: string;
  readonly begin: () => Promise<Host>;
  readonly change: (host: Host) => Promise<unknown>;
  /** Of the record that it writes. */
  readonly record: object;
}

const CHANGES: Change[] = [
  {
    name: "addMessages, of several messages",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).addMessages([said("u2"), said("a2", "assistant")]),
    record: { change: "appended", by: "code", messageIds: ["u2", "a2"], count: 2 }
  },
  {
    name: "addMessages, of stored messages with new content",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).addMessages([said("u1", "user", "other")], { mode: "upsert" }),
    record: { change: "edited", by: "code", messageIds: ["u1"] }
  },
  {
    name: "appendMessageToHistory",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).append(said("u2")),
    record: { change: "appended", by: "code", messageIds: ["u2"] }
  },
  {
    name: "updateMessageInHistory",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).update(said("a1", "assistant", "other")),
    record: { change: "edited", by: "code", messageIds: ["a1"] }
  },
  {
    name: "session.appendMessage",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).sessionAppend(said("u2")),
    record: { change: "appended", by: "code", messageIds: ["u2"] }
  },
  {
    name: "session.updateMessage",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).sessionUpdate(said("u1", "user", "other")),
    record: { change: "edited", by: "code", messageIds: ["u1"] }
  },
  {
    name: "session.deleteMessages",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).remove("u1", "unknown"),
    record: { change: "deleted", by: "code", messageIds: ["u1"], count: 1 }
  },
  {
    name: "session.addCompaction",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).summarise("u1", "a1"),
    record: { change: "compacted", by: "code", messageIds: ["u1", "a1"] }
  },
  {
    name: "a branch chosen by the user's code",
    begin: async () => {
      const host = await talked();
      await (await agentOf(host)).addMessages([said("b1", "assistant")], { parentId: "u1" });
      return host;
    },
    change: async (host) => (await agentOf(host)).selectBranch("a1"),
    record: { change: "branch-chosen", by: "code", messageIds: ["a1"] }
  },
  {
    name: "a branch chosen by a client",
    begin: async () => {
      const host = await talked();
      await (await agentOf(host)).addMessages([said("b1", "assistant")], { parentId: "u1" });
      return host;
    },
    change: async (host) => {
      (await connect(host)).send({ type: "rpc", id: "1", method: "selectBranch", args: ["a1"] });
      await host.idle();
    },
    record: { change: "branch-chosen", by: "client", messageIds: ["a1"] }
  },
  {
    name: "a client's answer to a call of a stored message",
    begin: async () => (await waiting("ask_user")).host,
    change: async (host) => {
      const frame = { type: "cf_agent_tool_result", toolCallId: "c1", toolName: "ask_user", output: SECRET };
      (await connect(host)).send({ ...frame, autoContinue: false });
      await host.idle();
    },
    record: { change: "answer-placed", by: "client", why: "tool-result", callId: "c1", count: 1 }
  },
  {
    name: "a decision about a call of a stored message",
    begin: async () => (await waiting("pay")).host,
    change: async (host) => {
      const frame = { type: "cf_agent_tool_approval", toolCallId: "c1", approved: false, autoContinue: false };
      (await connect(host)).send(frame);
      await host.idle();
    },
    record: { change: "answer-placed", by: "client", why: "approval", callId: "c1", count: 1 }
  },
  {
    name: "the output of an action that was decided after its turn",
    begin: async () => (await waiting("book", reply(text(SECRET)), reply(text(SECRET)))).host,
    change: async (host) => {
      const agent = await agentOf(host);
      const [pending] = await agent.pendingApprovals();
      await agent.approveExecution(pending!.executionId);
      await host.idle();
    },
    record: { change: "answer-placed", by: "runner", why: "action", callId: "c1", count: 1 }
  },
  {
    name: "a message that a client edits after it was answered",
    begin: () => talked(reply(text(SECRET))),
    change: async (host) => post(host, await connect(host), [said("u1", "user", `${SECRET} otherwise`)]),
    record: { change: "edited", by: "client", why: "posted", count: 2 }
  },
  {
    name: "messages that a function makes when the turn begins",
    begin: () => talked(reply(text(SECRET))),
    change: async (host) => (await agentOf(host)).saveMessages(() => [said("u2")]),
    record: { change: "appended", by: "code", why: "turn-input", messageIds: ["u2"] }
  },
  {
    name: "calls that were cut off, repaired when a turn begins",
    begin: async () => {
      const host = open(reply(text(SECRET)));
      const part = { type: "tool-t", toolCallId: "cut", state: "input-available", input: {} };
      const [first, second] = ["x1", "x2"].map((id) => ({ ...said(id, "assistant"), parts: [part] as never }));
      await (await agentOf(host)).addMessages([first!, second!]);
      return host;
    },
    change: async (host) => (await agentOf(host)).saveMessages([said("u2")]),
    record: { change: "repaired", by: "runner", messageIds: ["x1", "x2"], count: 2 }
  },
  {
    name: "files that the provider refused",
    begin: async () => open(fail(Object.assign(new Error("Could not process image"), { statusCode: 400 }))),
    change: async (host) => {
      const url = "data:image/png;base64,iVBORw0KGgo=";
      const parts: UIMessage["parts"] = [{ type: "file", mediaType: "image/png", url }];
      await post(host, await connect(host), [{ ...said("u1"), parts }]);
    },
    record: { change: "files-refused", by: "runner", messageIds: ["u1"], count: 1 }
  },
  {
    name: "calls that no turn will run any more",
    begin: async () => {
      const { host, socket } = await waiting("pay", reply(text(SECRET)));
      await post(host, socket, [...(await storedMessages(host)), said("u2")]);
      return host;
    },
    change: async (host) => {
      failsTurns = true;
      const frame = { type: "cf_agent_tool_approval", toolCallId: "c1", approved: true, autoContinue: true };
      (await connect(host)).send(frame);
      await host.advance(1000);
    },
    record: { change: "calls-closed", by: "runner", count: 1 }
  },
  {
    name: "media that moves out of old messages",
    begin: async () => {
      keepsMedia = false;
      return open();
    },
    change: async (host) => {
      const url = `data:image/png;base64,${"iVBORw0KGgo=".repeat(200)}`;
      const parts: UIMessage["parts"] = [{ type: "file", mediaType: "image/png", url }];
      const recent = ["m2", "m3", "m4", "m5", "m6"].map((id) => said(id));
      await (await agentOf(host)).addMessages([{ ...said("m1"), parts }, ...recent]);
      await host.advance(1000);
    },
    record: { change: "evicted", by: "runner", messageIds: ["m1"] }
  },
  {
    name: "session.clearMessages",
    begin: () => talked(),
    change: async (host) => (await agentOf(host)).sessionClear(),
    record: { change: "cleared", by: "code", count: 2 }
  },
  {
    name: "a clear by a client",
    begin: () => talked(),
    change: async (host) => {
      (await connect(host)).send({ type: "cf_agent_chat_clear" });
      await host.idle();
    },
    record: { change: "cleared", by: "client", count: 2 }
  }
];

beforeEach(() => {
  [keepsMedia, failsTurns] = [true, false];
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
  return () => void vi.restoreAllMocks();
});

/** What a test sets up, or what a change does besides, has records of its own. */
const wanted = (host: Host, { record }: Change) =>
  records(host).filter(({ change }) => change === Reflect.get(record, "change"));

describe.each(CHANGES)("$name", (one) => {
  test("is one small record", async () => {
    const host = await one.begin();
    await agentOf(host);
    const before = wanted(host, one);
    await one.change(host);
    const after = wanted(host, one);
    expect(after.slice(before.length)).toEqual([expect.objectContaining(one.record)]);
  });
});

test.each([
  ["a turn", [said("u2")], "submit-message"],
  ["a regeneration", [said("u1"), said("a1", "assistant")], "regenerate-message"]
])("%s has no record besides its own", async (_name, messages, trigger) => {
  const host = await talked(reply(text(SECRET)));
  const before = records(host);
  await post(
    host,
    await connect(host),
    trigger === "submit-message" ? [...(await storedMessages(host)), ...messages] : messages,
    trigger
  );
  expect((await storedMessages(host)).at(-1)).toMatchObject({ role: "assistant" });
  expect(records(host)).toEqual(before);
});

test("to read what a model would be shown repairs it in memory, and writes nothing", async () => {
  const host = open();
  const agent = await agentOf(host);
  const part = { type: "tool-t", toolCallId: "cut", state: "input-available", input: {} };
  await agent.addMessages([{ ...said("x1", "assistant"), parts: [part] as never }]);
  const before = { written: host.counts.rowsWritten, messages: await storedMessages(host), records: records(host) };
  expect(await agent.peek()).toEqual({ isSettled: true, repaired: 1 });
  expect({ written: host.counts.rowsWritten, messages: await storedMessages(host), records: records(host) }).toEqual(
    before
  );
});

test("what changes nothing has no record", async () => {
  const host = await talked();
  const agent = await agentOf(host);
  const before = records(host);
  await agent.addMessages([said("u1")]);
  await agent.update(said("a1", "assistant"));
  await agent.update(said("unknown"));
  await agent.remove("unknown");
  await agent.selectBranch("a1");
  expect(records(host)).toEqual(before);
});

test.each([
  ["append", said("u2")],
  ["update", said("u1", "user", "other")],
  ["remove", "u1"],
  ["sessionClear"],
  ["summarise", "u1", "a1"],
  ["selectBranch", "a1"]
] as const)("%s that user code undoes leaves neither the change nor its record", async (method, ...args) => {
  const host = await talked();
  const agent = await agentOf(host);
  await agent.addMessages([said("b1", "assistant")], { parentId: "u1" });
  const before = { records: records(host), messages: await storedMessages(host) };
  expect(await agent.undo(method, ...args)).toEqual(["u1", "b1"]);
  expect({ records: records(host), messages: await storedMessages(host) }).toEqual(before);
  await agent.append(said("next"));
  expect(records(host)).toHaveLength(before.records.length + 1);
});

test("killed after any write, a change is there with its record, or neither is", async () => {
  const script = async (host: Host) => {
    const agent = await agentOf(host);
    await agent.addMessages([said("u1"), said("a1", "assistant")]);
    await agent.update(said("u1", "user", "other"));
    await agent.remove("a1");
    await agent.append(said("u2"));
  };
  await everyCrash({
    create: () => open(),
    script,
    points: "writes",
    inspect: async (host) => {
      const messages = await storedMessages(host);
      const kinds = records(host).map(({ change, messageIds }) => `${change} ${messageIds.join(" ")}`);
      const isEdited = JSON.stringify(messages).includes("other");
      const ids = messages.map(({ id }) => id);
      return [
        kinds.includes("appended u1 a1") === ids.includes("u1"),
        kinds.includes("edited u1") === isEdited,
        kinds.includes("deleted a1") === (ids.includes("u1") && !ids.includes("a1")),
        kinds.includes("appended u2") === ids.includes("u2")
      ];
    }
  });
});

test("the journal shows changes in order with the turns, and still does when the records of the turns are gone", async () => {
  const host = await talked(reply(text(SECRET)));
  const agent = await agentOf(host);
  await agent.saveMessages([said("u2")]);
  await agent.remove("a1");
  const shape = (entries: readonly JournalEntry[]) => entries.map(({ type, change }) => change?.kind ?? type);
  const before = (await agent.readJournal()).entries;
  expect(shape(before)).toEqual([
    "appended",
    "turn-admitted",
    "attempt-started",
    "model-called",
    "content-segment",
    "step-finished",
    "turn-settled",
    "deleted"
  ]);
  await host.advance(3_600_000);
  const after = (await (await agentOf(host)).readJournal()).entries;
  expect(shape(after)).toEqual(["appended", "turn-settled", "deleted"]);
  expect(after.map(({ position }) => position)).toEqual(
    before.filter(({ turn, change }) => turn ?? change).map(({ position }) => position)
  );
  expect(JSON.stringify(after)).not.toContain(SECRET);
});
