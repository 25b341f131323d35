// Budgets on the real platform: the root keeps the account, and its sub-agents, which are facets, ask it before each call.
import { expect, test, vi } from "vitest";
import { env, fetchPath, rawStub, uniqueName } from "./world.ts";
import { storedMessages, user } from "../kit/messages.ts";
import { PURSE } from "./purser.ts";

// The first of them also loads the Worker.
vi.setConfig({ testTimeout: 60_000 });

/** What is on its way through several objects takes its time on a busy machine. */
const PATIENTLY = { timeout: 30_000, interval: 200 };

interface Waiting {
  readonly executionId: string;
  readonly source: string;
}

/** Everything that a person is asked in the tree, with the address that answers it. */
async function questions(name: string): Promise<{ url: string; executionId: string }[]> {
  const path = `/agents/purser/${name}`;
  const runs = await rawStub(env.Purser, name).listAgentToolRuns();
  const urls = [path, ...runs.map(({ runId }) => `${path}/sub/hand/${encodeURIComponent(runId)}`)];
  const found = await Promise.all(
    urls.map(async (url) => {
      const response = await fetchPath(`${url}/approvals`);
      const waiting = response.status === 200 ? ((await response.json()) as Waiting[]) : [];
      return waiting.map(({ executionId }) => ({ url, executionId }));
    })
  );
  return found.flat();
}

test("a tree of sub-agents spends no more than the purse of its root, asks, and goes on once with what was granted", async () => {
  const name = uniqueName("purser");
  const purser = rawStub(env.Purser, name);
  const asked = Promise.resolve(purser.saveMessages([user("q", "hire 6")]));
  await vi.waitFor(async () => expect((await questions(name)).length).toBeGreaterThan(0), PATIENTLY);
  const spent = async () =>
    (await purser.getCosts()).accounts.find(({ account }) => account.startsWith("key:ann:"))?.usd ?? 0;
  expect(await spent()).toBeLessThanOrEqual(PURSE);
  // Each grant is for the account of the tree: later questions may not be asked any more.
  await vi.waitFor(async () => {
    for (const { url, executionId } of await questions(name)) {
      await fetchPath(`${url}/approvals/${executionId}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ decision: "approve" })
      });
    }
    const runs = await purser.listAgentToolRuns();
    expect(runs.map(({ status }) => status)).toEqual(Array(6).fill("completed"));
  }, PATIENTLY);
  await asked;
  await vi.waitFor(async () => {
    const answer = JSON.stringify((await storedMessages({ fetch: fetchPath }, `/agents/purser/${name}`)).at(-1));
    expect(answer).toContain("All are paid.");
  }, PATIENTLY);
  const { open, total } = await purser.getCosts();
  expect(open).toBe(0);
  // Two of the root, and one of each of the six.
  expect(total.calls).toBe(8);
});
