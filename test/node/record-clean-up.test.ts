// Records of finished turns are deleted without an alarm of their own: a server with thousands of agents would start each
// of them ten minutes after its last turn.
import { beforeEach, expect, test, vi } from "vitest";
import { Think } from "../../src/index.ts";
import { createTestHost, reply, scriptedModel, text, type TestHost } from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

const REPLAY_MS = 10 * 60_000;

class Speaker extends Think<object> {
  override getModel() {
    return scriptedModel([reply(text("Hello."))]);
  }

  async ask(question: string): Promise<void> {
    await this.saveMessages([user(crypto.randomUUID(), question)]);
  }
}

let host: TestHost<object>;
beforeEach(() => {
  host = createTestHost({ agents: { Speaker } });
});

const records = () => host.sql(Speaker, "a", "SELECT * FROM cf_journal").length;

test("an agent has no alarm after its last turn, however long it rests", async () => {
  const agent = await host.get(Speaker, "a");
  await agent.ask("Hi");
  await host.advance(60_000);
  expect(host.alarm(Speaker, "a")).toBeNull();
  await host.advance(REPLAY_MS);
  expect([host.alarm(Speaker, "a"), records() > 0]).toEqual([null, true]);
});

test.each([
  ["a request", async () => void (await host.fetch("/agents/speaker/a/get-messages"))],
  ["a socket", async () => void (await host.connect("/agents/speaker/a"))],
  ["the next start", async () => void (await host.restart(), await (await host.get(Speaker, "a")).name)]
])("%s after the replay window takes the records along, and one before it does not", async (_visit, visit) => {
  const agent = await host.get(Speaker, "a");
  await agent.ask("Hi");
  await host.advance(REPLAY_MS / 2);
  await visit();
  await host.idle();
  expect(records()).toBeGreaterThan(0);
  await host.advance(REPLAY_MS / 2);
  await visit();
  await host.idle();
  expect(records()).toBe(0);
});

test("turns take along what those before them left", async () => {
  const agent = await host.get(Speaker, "a");
  await agent.ask("Hi");
  const one = records();
  for (let turn = 0; turn < 3; turn += 1) {
    await host.advance(REPLAY_MS + 60_000);
    await agent.ask("Again");
    expect(records()).toBeLessThanOrEqual(one);
  }
});

test("what a clear left goes at once, although no visitor comes", async () => {
  const agent = await host.get(Speaker, "a");
  await agent.ask("Hi");
  const before = records();
  await agent.clearMessages();
  await host.idle();
  await host.advance(60_000);
  // The record of the clear itself.
  expect([before > 1, records()]).toEqual([true, 1]);
});

test("a disk on which nothing can be deleted stops neither the visit nor the turn", async () => {
  const log = vi.spyOn(console, "error").mockReturnValue(undefined);
  const agent = await host.get(Speaker, "a");
  await agent.ask("Hi");
  host.sql(Speaker, "a", "CREATE TRIGGER full BEFORE DELETE ON cf_journal BEGIN SELECT RAISE(ABORT, 'disk full'); END");
  await host.advance(REPLAY_MS);
  expect((await host.fetch("/agents/speaker/a/get-messages")).status).toBe(200);
  await agent.ask("Again");
  expect(String(log.mock.calls[0]?.[0])).toMatch(/^Speaker "a" \(\w+\.sqlite\) could not delete records/);
});
