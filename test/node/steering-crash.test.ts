// Messages that wait are edited and withdrawn by people who repeat what was not answered, and the process dies after every
// write and at every await: what a receipt has promised holds, and each message is in the conversation once or not at all.
import { tool } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, type Receipt } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type StepFunction,
  type TestHost
} from "../../src/testing/index.ts";
import { linesOf, storedMessages } from "../kit/messages.ts";
import { RECOVERED_MS } from "../kit/time.ts";

vi.setConfig({ testTimeout: 240_000 });

let script: Script;
let held: PromiseWithResolvers<void>;

class Chat extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override getTools() {
    return { search: tool({ inputSchema: z.object({}), execute: async () => held.promise.then(() => "found") }) };
  }
}

type Host = TestHost<{ Chat: DurableObjectNamespace<Chat> }>;

beforeEach(() => {
  for (const name of ["error", "warn"] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});

/** Each question searches once, and is answered then. */
const step: StepFunction = ({ prompt }) =>
  prompt.at(-1)?.role === "tool" || prompt.some(({ role }) => role === "tool")
    ? reply(text("Done."))
    : reply(text("Looking. "), toolCall("search", {}));

/** What people were answered, and after how many calls of the model. */
interface Answered {
  editedAfter?: number;
  withdrawnAfter?: number;
}

const OPERATIONS = ["ask", "steer", "follow", "edit", "withdraw"] as const;

async function operate(host: Host, operation: (typeof OPERATIONS)[number], answered: Answered): Promise<void> {
  const agent = await host.get(Chat, "a");
  switch (operation) {
    case "ask":
      return void agent
        .saveMessages([{ id: "u1", role: "user", parts: [{ type: "text", text: "Paris" }] }], {
          idempotencyKey: "q"
        })
        .catch(() => undefined);
    case "steer":
      return void (await agent.steer("old words", { id: "s1" }));
    case "follow":
      return void (await agent.followUp("take this back", { id: "f1" }));
    case "edit": {
      const { state } = (await agent.editQueued("s1", "new words")) as Receipt;
      expect(state).toBe("accepted");
      answered.editedAfter ??= script.calls.length;
      return;
    }
    case "withdraw": {
      const { state } = (await agent.withdrawQueued("f1")) as Receipt;
      expect(state).toBe("withdrawn");
      answered.withdrawnAfter ??= script.calls.length;
      return;
    }
  }
}

test("killed after every write and at every await, edits and withdrawals keep what their receipts said", async () => {
  const ends: Answered[] = [];
  const result = await everyCrash({
    create: () => {
      held = Promise.withResolvers();
      script = createScript(step);
      return Object.assign(createTestHost({ agents: { Chat } }) as Host, { answered: {} as Answered });
    },
    script: async (host) => {
      for (const operation of OPERATIONS) {
        await operate(host, operation, host.answered);
        if (operation === "ask") await host.idle();
      }
      held.resolve();
      await host.advance(5_000);
    },
    finish: async (host) => {
      // Whoever got no answer asks again; what has taken effect by then is refused by name.
      for (const operation of OPERATIONS)
        await operate(host, operation, host.answered).catch((error: unknown) =>
          expect(error).toMatchObject({ code: "not-waiting" })
        );
      held.resolve();
      await host.advance(RECOVERED_MS);
    },
    inspect: async (host) => {
      const lines = linesOf(await storedMessages(host));
      const count = (words: string) => lines.filter((line) => line === `user:${words}`).length;
      const { editedAfter, withdrawnAfter } = host.answered;
      ends.push(host.answered);
      const read = (from: number | undefined, words: string) =>
        from !== undefined && JSON.stringify(script.calls.slice(from).map(({ prompt }) => prompt)).includes(words);
      return {
        question: count("Paris"),
        steer: count("old words") + count("new words"),
        isEditLost: editedAfter !== undefined && count("new words") !== 1,
        isWithdrawnStored: withdrawnAfter !== undefined && count("take this back") > 0,
        isFollowUpLost: withdrawnAfter === undefined && count("take this back") !== 1,
        isOldRead: read(editedAfter, "old words"),
        isWithdrawnRead: read(withdrawnAfter, "take this back"),
        waiting: await (await host.get(Chat, "a")).listQueued()
      };
    }
  });
  expect(result.points).toBeGreaterThan(20);
  expect(ends[0]).toMatchObject({ editedAfter: 1, withdrawnAfter: 1 });
});
