// The process is killed after every write of a take-over and of what follows it: the object is either the original's, whole,
// or ours, whole, and in the end the same as after an undisturbed one. No action runs twice, nothing is lost.
import { expect, test, vi } from "vitest";
import { everyCrash, type TestHost } from "../../src/testing/index.ts";
import { Assistant, call, Counter, LAYOUTS, load, openHost } from "../takeover/kit.ts";

// Each crash is a run of its own: all of them, which is minutes, with EVERTHINK_EVERY_CRASH=1.
const LIMIT = process.env["EVERTHINK_EVERY_CRASH"] ? undefined : 20;
vi.setConfig({ testTimeout: LIMIT === undefined ? 1_200_000 : 60_000 });

/** What is shown of a conversation, without ids that are minted anew. */
async function shown(host: TestHost, name: string): Promise<unknown> {
  const messages = await call<{ role: string; parts: { type: string; text?: string; output?: unknown }[] }[]>(host, [
    "assistant",
    name,
    "transcript"
  ]);
  return messages.map(({ role, parts }) => [role, parts.map(({ type, text, output }) => ({ type, text, output }))]);
}

async function wake(host: TestHost): Promise<void> {
  if (host.crashed) await host.restart();
  await host.advance(120_000);
}

test.each(LAYOUTS)(
  "killed at every write, a plain agent of %s has each schedule, item and fiber once",
  async (layout) => {
    const result = await everyCrash({
      create() {
        const host = openHost();
        load(host, layout, "Counter.plain");
        host.setAlarm(Counter, "plain", host.now + 10);
        return host;
      },
      script: (host) => host.advance(20),
      finish: wake,
      points: "writes",
      inspect: async (host) => ({
        state: await call(host, ["counter", "plain", "show"]),
        schedules: await call(host, ["counter", "plain", "schedules"]),
        queue: host.sql(
          Counter,
          "plain",
          "SELECT COUNT(*) AS rows FROM cf_work WHERE kind = 'queue' AND settled_at IS NULL"
        ),
        fibers: host.sql(Counter, "plain", "SELECT name, status FROM cf_fibers ORDER BY seq")
      })
    });
    expect(result.points).toBeGreaterThan(20);
  }
);

test.each(LAYOUTS)("killed at every write, a Think of %s is whole, and no effect happens twice", async (layout) => {
  const result = await everyCrash({
    create() {
      const host = openHost();
      load(host, layout, "Assistant.full");
      host.setAlarm(Assistant, "full", host.now + 10);
      return host;
    },
    script: (host) => host.advance(20),
    finish: wake,
    points: "writes",
    ...(LIMIT !== undefined && { limit: LIMIT }),
    inspect: async (host) => ({
      transcript: await shown(host, "full"),
      kinds: (await call<{ kinds: object[] }>(host, ["assistant", "full", "getTakeoverReport"])).kinds,
      notes: await call(host, ["assistant", "full", "notes"]),
      pending: await call(host, ["assistant", "full", "pending"]),
      child: await call(host, ["assistant", "full", "childReport"], "owls"),
      submissions: (
        await call<{ status: string; idempotencyKey: string }[]>(host, ["assistant", "full", "submissions"])
      ).map(({ status, idempotencyKey }) => ({ status, idempotencyKey }))
    })
  });
  expect(result.points).toBe(LIMIT ?? result.points);
});

test.each(LAYOUTS)("killed during a take-over, an object of %s is the original's as it was", async (layout) => {
  const opened = () => {
    const host = openHost();
    load(host, layout, "Assistant.full");
    host.setAlarm(Assistant, "full", host.now + 10);
    return host;
  };
  const contents = (host: TestHost) => [
    host.sql(Assistant, "full", "SELECT name, sql FROM sqlite_master ORDER BY name"),
    ...["cf_agents_state", "cf_think_submissions", "cf_think_action_ledger"].map((name) =>
      host.sql(Assistant, "full", `SELECT * FROM ${name}`)
    )
  ];
  const before = contents(opened());
  let write = 0;
  for (; ; write += LIMIT === undefined ? 1 : 9) {
    const host = opened();
    host.crashAfterWrite(write + 1);
    await host.advance(20).catch(() => undefined);
    expect(host.crashed).toBe(true);
    if (host.sql(Assistant, "full", "SELECT 1 FROM sqlite_master WHERE name = 'cf_meta'").length > 0) break;
    expect(contents(host)).toEqual(before);
  }
  expect(write).toBeGreaterThan(50);
});
