// A short run of what `node tools/chaos-process.ts` does at length: a real workerd process under a conversation, killed at
// random moments.
import { expect, test } from "vitest";
import { runProcessChaos } from "../../../tools/chaos-process.ts";

const KILLS = 5;
/** Another seed kills at other points. */
const SEED = Number(process.env.CHAOS_SEED ?? 1);

test("a conversation ends as if its process had not been killed, and no call runs twice", async () => {
  const result = await runProcessChaos({ kills: KILLS, seed: SEED, lanes: 2, log: console.log });
  expect(result.differences).toEqual([]);
  expect(result.kills).toBeGreaterThanOrEqual(KILLS);
});
