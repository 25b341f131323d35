// What a run of an agent tool costs in rows, at the parent and its child together.
import { beforeEach, expect, test, vi } from "vitest";
import { reply, text } from "../../src/testing/index.ts";
import { type Host, open, parentOf } from "./agent-tools-kit.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));

async function rowsOf(host: Host, work: () => Promise<unknown>): Promise<number> {
  const before = host.counts.rowsWritten;
  await work();
  await host.advance(60_000);
  return host.counts.rowsWritten - before;
}

/** The first run makes the tables of the parent; every child makes its own. */
async function opened() {
  const host = open({ child: () => reply(text("The moon pulls.")) });
  const parent = await parentOf(host);
  await parent.run({ input: "x", runId: "first" });
  await host.advance(60_000);
  return { host, parent };
}

test("a run writes 20 rows with its child, waited for or not; that it is cleared, 7", async () => {
  const { host, parent } = await opened();
  expect(await rowsOf(host, () => parent.run({ input: "x", runId: "a" }))).toBe(20);
  const detached = { onFinish: "onReport" };
  expect(await rowsOf(host, () => parent.run({ input: "x", runId: "b", detached }))).toBe(20);
  // Its row and the item of work that deletes its child, and what the agent knew of the child. One wake serves all of them.
  expect(await rowsOf(host, () => parent.clearAgentToolRuns())).toBe(3 * 7 - 1);
});
