// Turns on conversations with a past: only the new message posted, as a careful client does, and all of them, as the
// published client does.
import type { Arena } from "../arena.ts";
import { storedMessages } from "../driver/history.ts";
import type { MetricKey } from "../metrics.ts";
import { quantile } from "../statistics.ts";
import { pause, type Scenario } from "./scenario.ts";

const TURNS = 3;
const BETWEEN_TURNS_MS = 15;
/** Turns add to a past. A short one would soon be no longer short, so it is made anew in each round. */
const SHORT = 200;

const SIZES = [
  { messages: 10, newKey: "new10", allKey: "all10" },
  { messages: 200, newKey: "new200", allKey: "all200" },
  { messages: 1_000, newKey: "new1000", allKey: "all1000" },
  { messages: 3_000, newKey: "new3000", allKey: "all3000" }
] as const;

export const histories: readonly Scenario[] = SIZES.flatMap(({ messages, newKey, allKey }) => {
  const slow = messages > 1_000 ? { isSlow: true as const } : {};
  return [
    { ...newPosted(messages, newKey), ...slow },
    { ...allPosted(messages, allKey), ...slow }
  ];
});

function newPosted(messages: number, key: MetricKey): Scenario {
  return {
    name: `history-${messages}-new`,
    weight: "light",
    prepare: (arena, round) => prepareHistory(arena, messages, round),
    run: async (arena, round) => {
      const client = arena.client(historyName(messages, round));
      const done: number[] = [];
      for (let turn = 0; turn < TURNS; turn += 1) {
        await pause(BETWEEN_TURNS_MS);
        done.push((await client.ask({})).doneMs);
      }
      return { [key]: quantile(done, 0.5) };
    }
  };
}

function allPosted(messages: number, key: MetricKey): Scenario {
  return {
    name: `history-${messages}-all`,
    weight: "light",
    prepare: (arena, round) => prepareHistory(arena, messages, round),
    run: async (arena, round) => {
      const name = historyName(messages, round);
      const posted = await storedMessages(arena.main, name);
      await pause(BETWEEN_TURNS_MS);
      const { doneMs } = await arena.client(name).ask({}, posted);
      return { [key]: doneMs };
    }
  };
}

/** The object is warm afterwards: it has answered with its past. */
async function prepareHistory(arena: Arena, messages: number, round: number): Promise<void> {
  const name = historyName(messages, round);
  await arena.withHistory(arena.main, name, messages);
  const client = await arena.openClient(name);
  await client.ask({});
}

function historyName(messages: number, round: number): string {
  return messages > SHORT ? `history-${messages}` : `history-${messages}-${round}`;
}
