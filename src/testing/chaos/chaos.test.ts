import { tool } from "ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import type { ThinkScheduledTasks } from "../../features/tasks/task.ts";
import type { ChatResponseResult } from "../../feature/hooks.ts";
import { Think } from "../../think/think.ts";
import {
  chaos,
  CHAOS_MODES,
  formatChaos,
  mergeChaos,
  modelWithBoundary,
  planModel,
  UnsteadyConversationError,
  type Scenario
} from "../index.ts";

let effects: Record<string, number> = {};
let boundary = async () => {};
const count = (name: string) => {
  effects[name] = (effects[name] ?? 0) + 1;
};

const PLANS = { hi: [{ text: "Hello there." }], note: [{ calls: [{ tool: "note" }] }, { text: "Noted." }] };

class Plain extends Think {
  override getModel() {
    return planModel(PLANS, { boundary: () => boundary(), pieceLength: 4 });
  }

  override getTools() {
    const execute = async () => {
      await boundary();
      count("note");
      return "noted";
    };
    return { note: tool({ inputSchema: z.object({}), execute }) };
  }
}

/** Does something in a place that runs again after a crash. */
class Careless extends Plain {
  override async beforeTurn() {
    count("careless");
    await boundary();
  }
}

/** Cannot start with a row that is not JSON. */
class Brittle extends Plain {
  override async onStart() {
    this.sql`CREATE TABLE IF NOT EXISTS settings (id INTEGER PRIMARY KEY, json TEXT)`;
    this.sql`INSERT OR IGNORE INTO settings VALUES (1, '{}')`;
    for (const { json } of this.sql<{ json: string }>`SELECT json FROM settings`) JSON.parse(json);
  }
}

class Forgetful extends Plain {
  override async onStart() {
    // What an earlier process stored is gone after each start.
    const [table] = this.sql`SELECT 1 FROM sqlite_master WHERE name = 'assistant_messages'`;
    if (table) this.sql`DELETE FROM assistant_messages`;
  }
}

/** Draws an id more when it repairs the row of its task. */
class Punctual extends Plain {
  override getScheduledTasks(): ThinkScheduledTasks {
    return { digest: { schedule: "every weekday at 17:00", prompt: "hi", timezone: "Europe/London" } };
  }
}

/** Deletes its answers while a setting is unreadable, and reports nothing. */
class Lossy extends Plain {
  override async onStart() {
    this.sql`CREATE TABLE IF NOT EXISTS settings (id INTEGER PRIMARY KEY, json TEXT)`;
    this.sql`INSERT OR IGNORE INTO settings VALUES (1, '{}')`;
  }

  override async onChatResponse({ message }: ChatResponseResult) {
    const [settings] = this.sql<{ json: string }>`SELECT json FROM settings`;
    if (settings?.json !== "{}") await this.session.deleteMessages([message.id]);
  }
}

const scenario = (agent: Scenario["agent"], question = "hi"): Scenario => ({
  agent,
  conversation: (session) => session.ask(question),
  begin: (run) => {
    effects = {};
    boundary = run.boundary;
  },
  effects: () => effects
});

// Each test plays a conversation some thirty times.
vi.setConfig({ testTimeout: 30_000 });

test("an agent that only answers comes through everything", async () => {
  const modes = CHAOS_MODES.filter((mode) => mode !== "poison-row");
  const result = await chaos({ ...scenario(Plain), modes, points: 5 });
  expect(result.differences, formatChaos(result)).toEqual([]);
  expect(result.modes.every(({ points }) => points > 0)).toBe(true);
});

test("a model of its own gets points inside of answers; without them the report says what was not played", async () => {
  class Own extends Think {
    readonly answers = planModel(PLANS, { pieceLength: 4 });
    override getModel() {
      return this.answers;
    }
  }
  class Disturbed extends Own {
    override getModel() {
      return modelWithBoundary(super.getModel(), () => boundary());
    }
  }
  const modes = ["deadly-answer", "join-anywhere"] as const;
  const bare = await chaos({ ...scenario(Own), modes, points: 3 });
  expect(bare.modes).toMatchObject([{ points: 0 }, { points: 0 }]);
  expect(formatChaos(bare)).toContain("Not played: deadly-answer, join-anywhere; ");
  const disturbed = await chaos({ ...scenario(Disturbed), modes, points: 3 });
  expect(disturbed.modes).toMatchObject([{ points: 3 }, { points: 3 }]);
  expect(disturbed.modes[0]?.deaths).toBeGreaterThan(3);
  expect(disturbed.differences, formatChaos(disturbed)).toEqual([]);
  expect(formatChaos(disturbed)).not.toContain("Not played");
});

test("an effect in a place that runs again is reported with the point and both counts", async () => {
  const result = await chaos({ ...scenario(Careless), modes: ["inside-await"], points: 12 });
  expect(new Set(result.differences.map(({ check }) => check))).toEqual(new Set(["effects"]));
  expect(result.differences[0]).toMatchObject({ expected: '"careless" happens 1 times', actual: "2 times" });
  expect(formatChaos(result)).toContain("inside-await, await");
});

test("an agent that loses messages over a restart is reported", async () => {
  const result = await chaos({ ...scenario(Forgetful), modes: ["after-write"], points: 12 });
  expect(result.differences.map(({ check }) => check)).toContain("messages");
});

test("an agent that a bad row keeps from starting is reported with the row", async () => {
  const result = await chaos({ ...scenario(Brittle), modes: ["poison-row"], points: 24 });
  const [difference] = result.differences.filter(({ check }) => check === "boots");
  expect(difference?.point).toContain("settings.json of [1]");
});

test("an agent that repairs its scheduled task after a bad row has lost nothing", async () => {
  const result = await chaos({ ...scenario(Punctual), modes: ["poison-row"], points: 24 });
  expect(result.differences, formatChaos(result)).toEqual([]);
});

test("a message that is lost without an event is reported with the row and its content", async () => {
  const result = await chaos({ ...scenario(Lossy), modes: ["poison-row"], points: 24 });
  const lost = result.differences.filter(({ check }) => check === "silent loss");
  expect(new Set(lost.map(({ point }) => point.replace(/^write \d+, /, "")))).toEqual(
    new Set(["settings.json of [1]"])
  );
  expect(lost.at(-1)?.actual).toContain("Hello there.");
});

test("only the points asked for are played", async () => {
  const result = await chaos({ ...scenario(Plain), modes: ["inside-await"], at: ["await 3", "await 9"] });
  expect(result.modes[0]).toMatchObject({ points: 2, deaths: 2 });
});

test("a conversation that differs by itself is refused", async () => {
  let runs = 0;
  const begin: Scenario["begin"] = (run) => {
    boundary = run.boundary;
    runs += 1;
    effects = { runs };
  };
  const played = chaos({ ...scenario(Plain), begin, modes: [] });
  await expect(played).rejects.toThrow(UnsteadyConversationError);
  await expect(played).rejects.toMatchObject({ hint: expect.stringContaining("model must be scripted") });
});

test("shares of the work add up to the whole", async () => {
  const options = { ...scenario(Plain), modes: ["inside-await" as const], points: 5 };
  const whole = await chaos(options);
  const results = [];
  for (const index of [0, 1, 2]) results.push(await chaos({ ...options, share: { index, of: 3 } }));
  expect(mergeChaos(results)).toEqual(whole);
});
