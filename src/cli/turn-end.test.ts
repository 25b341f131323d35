import { expect, test } from "vitest";
import { decided, settled, type FollowedClient } from "./turn-end.ts";

/** A client whose status the test sets. */
class ScriptedClient {
  readonly #listeners = new Set<() => void>();
  #snapshot = { connection: "open", status: "parked", pendingApprovals: [] as object[] };

  readonly client = {
    getSnapshot: () => this.#snapshot,
    subscribe: (listener: () => void) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    }
  } as object as FollowedClient;

  become(change: Partial<{ connection: string; status: string; pendingApprovals: object[] }>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** After everything that is already due. */
const turnOfTheLoop = () => new Promise((resume) => setImmediate(resume));

test("the answer that follows an approval is waited for, though it begins after the decision is confirmed", async () => {
  const scripted = new ScriptedClient();
  let isOver = false;
  const shown = decided(scripted.client, async () => scripted.become({ status: "settled" }))
    .then(() => settled(scripted.client))
    .then(() => (isOver = true));
  await turnOfTheLoop();
  expect(isOver).toBe(false);
  scripted.become({ status: "running" });
  await turnOfTheLoop();
  expect(isOver).toBe(false);
  scripted.become({ status: "settled" });
  await shown;
});

test("an answer that was over before the confirmation is not waited for, and neither is one that needs another decision", async () => {
  const scripted = new ScriptedClient();
  await decided(scripted.client, async () => {
    scripted.become({ status: "running" });
    scripted.become({ status: "settled" });
  });
  await decided(scripted.client, async () => scripted.become({ status: "parked", pendingApprovals: [{}] }));
});

test("a lost connection is waited out", async () => {
  const scripted = new ScriptedClient();
  scripted.become({ connection: "reconnecting", status: "settled" });
  let isOver = false;
  const over = settled(scripted.client).then(() => (isOver = true));
  await turnOfTheLoop();
  expect(isOver).toBe(false);
  scripted.become({ connection: "open" });
  await over;
});
