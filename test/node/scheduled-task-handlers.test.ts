// What the handler of a scheduled task starts belongs to the occurrence, not to the attempt.
import { expect, test } from "vitest";
import { Think, type ThinkScheduledTasks } from "../../src/index.ts";
import { createTestHost, reply, scriptedModel, text } from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

const HOUR = 3_600_000;

class Planner extends Think {
  runs = 0;
  override getModel() {
    return scriptedModel(() => reply(text("ok")));
  }
  override getScheduledTasks(): ThinkScheduledTasks {
    return { digest: { schedule: "every 1 hour", handler: () => this.digest() } };
  }
  async digest() {
    this.runs += 1;
    const id = `u${this.runs}`;
    await this.submitMessages([user(id, "Write it.")]);
    await this.queue("note", id);
    if (this.runs < 3) throw new Error("not yet");
  }
  note() {}
  count() {
    return this.runs;
  }
}

test("what a handler starts without a key is started once, however often the handler is tried", async () => {
  const host = createTestHost({ agents: { Planner }, now: Date.UTC(2030, 0, 1) });
  const planner = await host.get(Planner, "a");
  await host.advance(HOUR + 60_000);
  expect(await planner.count()).toBe(3);
  expect(await planner.listSubmissions()).toHaveLength(1);
  await host.advance(HOUR);
  expect(await planner.listSubmissions()).toHaveLength(2);
});
