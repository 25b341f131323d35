// The crash matrix over a conversation whose tools are found: a search, a call of a tool that was not found, one that waits
// for approval, and a compaction that takes the searches away.
import { tool, type ToolSet } from "ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { action, createCompactFunction, Think, type Session } from "../../src/index.ts";
import {
  chaos,
  CHAOS_MODES,
  formatChaos,
  planModel,
  type AnswerPlans,
  type Scenario
} from "../../src/testing/index.ts";

// Each test plays a whole conversation for dozens of points.
vi.setConfig({ testTimeout: 60_000 });

const POINTS = 8;
/** Outgrown by the first two answers. */
const MAX_TOKENS = 600;

const PLANS: AnswerPlans = {
  "How is the garden?": [
    { text: "I look for a way. ", calls: [{ tool: "search_tools", input: { query: "water the plants" } }] },
    { calls: [{ tool: "water_plants", input: { litres: 3 } }] },
    { text: "Watered." }
  ],
  // The tool was not found yet: the call is stored as a search for it.
  "Mow the lawn.": (prompt) => {
    const isStored = JSON.stringify(prompt).includes('{"tool":"mow_lawn"}');
    const first = isStored
      ? { tool: "search_tools", input: { tool: "mow_lawn" } }
      : { tool: "mow_lawn", input: { from: "memory" } };
    return [{ calls: [first] }, { calls: [{ tool: "mow_lawn", input: { area: "front" } }] }, { text: "Mown." }];
  },
  "Buy seeds.": [
    { calls: [{ tool: "search_tools", input: { query: "buy seeds", limit: 1 } }] },
    { calls: [{ tool: "buy_seeds", input: { euros: 5 } }] },
    { text: "Bought." }
  ],
  "Water again.": [{ calls: [{ tool: "water_plants", input: { litres: 1 } }] }, { text: "Watered again." }]
};

let counted: Record<string, number> = {};
let summaries = 0;
let boundary = async () => {};

async function effect(name: string): Promise<string> {
  await boundary();
  counted[name] = (counted[name] ?? 0) + 1;
  await boundary();
  return `${name} is done`;
}

/** Some seventy: more than are described at once. */
const shed = Object.fromEntries(
  Array.from({ length: 70 }, (_, index) => [
    `sort_shelf_${index}`,
    tool({ description: `Sorts shelf ${index}.`, inputSchema: z.object({}), execute: async () => effect("sort") })
  ])
);

class Gardener extends Think {
  override workspaceTools = false;

  override getModel() {
    return planModel(PLANS, { boundary: () => boundary(), pieceLength: 7 });
  }
  override configureSession(session: Session) {
    const summarize = async () => {
      summaries += 1;
      return "The garden was cared for.";
    };
    const compact = createCompactFunction({ summarize, protectHead: 0, tailTokenBudget: 0 });
    return session.onCompaction(compact).compactAfter(MAX_TOKENS, {
      tokenCounter: ({ messages }) => JSON.stringify(messages).length / 4
    });
  }
  override getTools(): ToolSet {
    return {
      ...shed,
      water_plants: tool({
        description: "Waters the plants.",
        inputSchema: z.object({ litres: z.number() }),
        execute: async () => effect("water")
      })
    };
  }
  override getActions() {
    return {
      mow_lawn: action({
        description: "Mows the lawn.",
        inputSchema: z.object({ area: z.string() }),
        idempotencyKey: ({ input }) => `mow ${input.area}`,
        execute: async () => effect("mow")
      }),
      buy_seeds: action({
        description: "Buys seeds.",
        inputSchema: z.object({ euros: z.number() }),
        approval: true,
        execute: async () => effect("buy")
      })
    };
  }
}

const garden: Scenario = {
  agent: Gardener,
  conversation: async (session) => {
    await session.ask("How is the garden?");
    await session.ask("Mow the lawn.");
    await session.ask("Buy seeds.");
    await session.approve("buy_seeds");
    await session.ask("Water again.");
  },
  begin: (run) => {
    counted = {};
    boundary = run.boundary;
  },
  effects: () => ({ ...counted })
};

test.each(CHAOS_MODES)("a conversation whose tools are found comes through: %s", async (mode) => {
  summaries = 0;
  const result = await chaos({ ...garden, modes: [mode], points: POINTS });
  expect(result.differences, formatChaos(result)).toEqual([]);
  expect(result.modes[0]?.points).toBeGreaterThan(0);
  expect(summaries).toBeGreaterThan(0);
});
