// Who is notified of what when a write fails or is undone: each test is named after its promise. A trigger in the object's own
// database makes the writes fail, so that everything above SQLite is real.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestHost, reply, stall, text, type TestHost, type TestSocket } from "../../src/testing/index.ts";
import { connect, die, endsOf, eventsOf, open, Patient, rejoin, scene, settleDown, stored } from "./recovery-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { linesOf, storedMessages, user } from "../kit/messages.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => void vi.restoreAllMocks());

/** From now on no outcome of a turn can be written. */
function breakDisk(host: TestHost<object>): void {
  host.sql(
    Patient,
    "a",
    `CREATE TRIGGER full_disk BEFORE INSERT ON cf_journal WHEN new.body LIKE '%"turn-settled"%'
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`
  );
}

const mendDisk = (host: TestHost<object>) => host.sql(Patient, "a", "DROP TRIGGER full_disk");

/** The tables are there from the first answer on. */
async function opened(...args: Parameters<typeof open>): Promise<{ host: TestHost<object>; socket: TestSocket }> {
  const [steps, behaviour] = args;
  const host = open([reply(text("zero")), ...steps], behaviour);
  const socket = await connect(host);
  ask(socket, "r0");
  await host.idle();
  scene.responses.length = 0;
  return { host, socket };
}

const snapshots = (socket: TestSocket) => framesOf(socket).filter(({ messages }) => messages).length;

describe("an outcome that cannot be written", () => {
  test("is not announced: no client, no hook and no caller hears of an answer that is not stored", async () => {
    const { host, socket } = await opened([
      reply(text("one")),
      ...Array.from({ length: 6 }, () => reply(text(" more")))
    ]);
    breakDisk(host);
    ask(socket, "r1");
    const agent = await host.get(Patient, "a");
    let saved: string | undefined;
    const saving = agent.saveMessages([user("saved")]).then(({ status }) => (saved = status));
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual([]);
    expect(scene.responses).toEqual([]);
    expect(eventsOf("chat:turn:finish")).toHaveLength(1);
    expect(saved).toBeUndefined();
    mendDisk(host);
    await settleDown(host);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(scene.responses.map(({ requestId }) => requestId)).toContain("r1");
    await saving;
    expect(saved).toBe("completed");
    const messages = await stored(host);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
    expect(framesOf(socket).findLast(({ messages: shown }) => shown)?.messages).toEqual(messages);
  });
});

describe("a turn that is given up", () => {
  const terminalMessage = "We could not finish this.";

  test("while the disk fails is told to people all the same, stays open, and is given up when it can be", async () => {
    const { host } = await opened([reply(text("half"), stall())], {
      recovery: { maxInterruptedAttempts: 1, terminalMessage }
    });
    ask(await connect(host), "r1");
    await die(host);
    breakDisk(host);
    const socket = await rejoin(host);
    // It is tried again at every wake.
    await settleDown(host);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    // It is not over: nothing says so on disk.
    expect(host.sql(Patient, "a", "SELECT open_turns FROM cf_conversations")[0]?.open_turns).toContain("r1");
    mendDisk(host);
    await settleDown(host);
    expect(host.sql(Patient, "a", "SELECT open_turns FROM cf_conversations")).toEqual([{ open_turns: "[]" }]);
    expect(linesOf(await stored(host))).toEqual(["user:u-r0", "assistant:zero", "user:u-r1", "assistant:half"]);
    expect(endsOf(await rejoin(host), "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(scene.script.callCount).toBe(2);
  });
});

describe("a transaction that user code opens and that fails", () => {
  class Careless extends Patient {
    /** Adds a message, looks at it, and takes it back. */
    async addAndFail(id: string): Promise<string[]> {
      let seen: string[] = [];
      try {
        this.ctx.storage.transactionSync(() => {
          void this.addMessages([user(id)]);
          seen = linesOf(this.messages);
          throw new Error("no");
        });
      } catch {
        // What was written is undone.
      }
      return seen;
    }
    async saveAndFail(id: string): Promise<string> {
      let saving: Promise<{ status: string }> | undefined;
      try {
        this.ctx.storage.transactionSync(() => {
          saving = this.saveMessages([user(id)]);
          throw new Error("no");
        });
      } catch {
        // As above.
      }
      return (await saving)?.status ?? "none";
    }
    async clearAndFail(): Promise<void> {
      try {
        this.ctx.storage.transactionSync(() => {
          void this.clearMessages();
          throw new Error("no");
        });
      } catch {
        // As above.
      }
    }
  }

  test("leaves no trace: no client is told, and the next message hangs below the one that is there", async () => {
    const { host, agent, socket } = await careless([reply(text("one")), reply(text("two"))]);
    const before = snapshots(socket);
    expect(await agent.addAndFail("ghost")).toEqual(["user:u-r0", "assistant:one", "user:ghost"]);
    await host.idle();
    expect(snapshots(socket)).toBe(before);
    ask(socket, "r1");
    await host.idle();
    const said = ["user:u-r0", "assistant:one", "user:u-r1", "assistant:two"];
    expect(linesOf(await history(host))).toEqual(said);
    await host.restart();
    expect(linesOf(await history(host))).toEqual(said);
  });

  test("starts no turn, and its caller does not wait for ever", async () => {
    const { host, agent } = await careless([reply(text("one")), reply(text("two"))]);
    const status = agent.saveAndFail("ghost");
    await host.idle();
    expect(await status).toBe("skipped");
    expect(scene.script.callCount).toBe(1);
    await settleDown(host);
    expect(scene.script.callCount).toBe(1);
    expect(linesOf(await history(host))).toEqual(["user:u-r0", "assistant:one"]);
  });

  test("clears nothing: clients keep what they show, and the running turn goes on", async () => {
    const { host, agent, socket } = await careless([reply(text("one")), reply(text("half"), stall())]);
    ask(socket, "r1");
    await host.idle();
    await agent.clearAndFail();
    await host.idle();
    expect(framesOf(socket).some(({ type }) => type === "cf_agent_chat_clear")).toBe(false);
    expect(endsOf(socket, "r1")).toEqual([]);
    expect(linesOf(await history(host))).toEqual(["user:u-r0", "assistant:one", "user:u-r1"]);
  });

  const history = (host: TestHost<object>) => storedMessages(host, "/agents/careless/a") as ReturnType<typeof stored>;

  async function careless(steps: Parameters<typeof open>[0]) {
    open(steps);
    const host = createTestHost({ agents: { Careless } });
    const socket = await host.connect("/agents/careless/a");
    ask(socket, "r0");
    await host.idle();
    return { host, socket, agent: await host.get(Careless, "a") };
  }
});
