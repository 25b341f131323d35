// What durable work costs in rows, once its tables are there.
import type { LanguageModel } from "ai";
import { expect, test } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import { Think } from "../../src/index.ts";
import { createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

class Clerk extends Agent {
  tick(): void {}
}

class Chat extends Think {
  override getModel(): LanguageModel {
    return scriptedModel(Array.from({ length: 9 }, () => reply(text("Yes."))));
  }
}

test("a one-shot writes 5 rows, a run of an interval 3, a queue item 5, a submission 10", async () => {
  const host = createTestHost({ agents: { Clerk, Chat } });
  const rowsOf = async (work: () => Promise<unknown>) => {
    const before = host.counts.rowsWritten;
    await work();
    await host.advance(10_000);
    return host.counts.rowsWritten - before;
  };
  /** The first use makes the tables. */
  const second = async (work: (id: string) => Promise<unknown>) => {
    await rowsOf(() => work("first"));
    return rowsOf(() => work("second"));
  };
  const clerk = await host.get(Clerk, "a");
  const chat = await host.get(Chat, "a");
  const oneShot = await second(() => clerk.schedule(5, "tick"));
  const queued = await second(() => clerk.queue("tick", 1));
  await clerk.scheduleEvery(60, "tick");
  await host.advance(60_000);
  const interval = await rowsOf(() => host.advance(60_000));
  const submission = await second((id) => chat.submitMessages([user(id, "Hi")]));
  expect({ oneShot, interval, queued, submission }).toEqual({ oneShot: 5, interval: 3, queued: 5, submission: 10 });
});
