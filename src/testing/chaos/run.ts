// Plays a conversation once under one disturbance and hands back what could be seen.
import { kebabCase } from "../../util/kebab.ts";
import { createTestHost, type AgentClass, type TestHost } from "../test-host.ts";
import type { Disturbance } from "./disturbance.ts";
import { EndOfConversation } from "./errors.ts";
import { ChaosSession } from "./session.ts";
import { Stage, type RunRecord } from "./stage.ts";

/** What a run gives the agent's fakes. */
export interface ChaosRun {
  readonly host: TestHost<unknown>;
  /** An await of a fake, such as of a model between two chunks or of a tool: a place to die at. */
  readonly boundary: () => Promise<void>;
}

export interface Scenario {
  /** The class under test. */
  readonly agent: AgentClass;
  /** What the user does, step by step. It must be the same every time. */
  conversation(session: ChaosSession): Promise<unknown>;
  /** Called before each run: forget what the last one counted, and give the fakes their boundary. */
  begin?(run: ChaosRun): void;
  /** How often each side effect happened since `begin`. Name an effect after its tool where it has one. */
  effects?(): Readonly<Record<string, number>>;
  /** Further classes and variables the agent needs. */
  readonly exports?: readonly AgentClass[];
  readonly env?: object;
  /** Tabs that only watch (default 1). */
  readonly watchers?: number;
  /** Of ids and random numbers, and of the chosen points. */
  readonly seed?: number;
}

/** No pending work of an agent takes longer; retention is over too. */
const REST_MS = 45 * 60_000;
const OBJECT_NAME = "chaos";

export interface PlayedRun extends RunRecord {
  readonly counts: {
    readonly writes: number;
    readonly awaits: number;
    readonly frames: number;
    readonly boundaries: number;
  };
}

/** Plays the conversation. The agent's console is shown only when nothing disturbs it. */
export function playRun(scenario: Scenario, disturbance: Disturbance): Promise<PlayedRun> {
  const play = () => playAloud(scenario, disturbance);
  return disturbance.mode === "undisturbed" ? play() : quietly(play);
}

async function playAloud(scenario: Scenario, disturbance: Disturbance): Promise<PlayedRun> {
  const stage = openStage(scenario, disturbance);
  const { host } = stage.object;
  await host.idle();
  const before = host.counts;
  disturbance.begin?.(stage);
  let error: unknown;
  try {
    await scenario.conversation(new ChaosSession(stage));
  } catch (failure) {
    if (!(failure instanceof EndOfConversation)) error = failure;
  }
  const after = host.counts;
  const { frames, boundaries } = stage;
  try {
    await disturbance.afterwards?.(stage);
    await stage.settle();
    await stage.advance(REST_MS);
    await stage.settle();
    await stage.advance(REST_MS);
  } catch (failure) {
    error ??= failure;
  }
  return {
    ...stage.record(scenario.effects?.() ?? {}, error),
    counts: { writes: after.writes - before.writes, awaits: after.awaits - before.awaits, frames, boundaries }
  };
}

function openStage(scenario: Scenario, disturbance: Disturbance): Stage {
  const { agent, exports, env, seed, watchers = 1 } = scenario;
  const host = createTestHost({ agents: { [agent.name]: agent }, exports, env, seed });
  const object = { host, agent, name: OBJECT_NAME };
  const path = `/agents/${kebabCase(agent.name)}/${OBJECT_NAME}`;
  const stage = new Stage({ object, path, disturbance, watchers });
  scenario.begin?.({ host, boundary: () => stage.boundary() });
  return stage;
}

const CONSOLE_METHODS = ["debug", "info", "log", "warn", "error"] as const;

/**
 * The console is silent while `work` runs; its own methods are back afterwards, whatever happened. An agent that dies or
 * reads garbage logs that, a thousand times over in a crash matrix, and its log is not compared.
 */
export async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const own = CONSOLE_METHODS.map((method) => ({ method, say: console[method] }));
  for (const { method } of own) console[method] = () => {};
  try {
    return await work();
  } finally {
    for (const { method, say } of own) console[method] = say;
  }
}
