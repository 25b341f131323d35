// The public names of the classes: what TypeScript knows of them is what the lists of capabilities put there, and a user's
// class may override each.
import { isDeepStrictEqual } from "node:util";
import { expect, expectTypeOf, test } from "vitest";
import { AgentBase } from "../../src/agent/agent-base.ts";
import { AGENT_CAPABILITIES } from "../../src/agent-class/capabilities.ts";
import type { AgentMembers } from "../../src/agent-class/members.ts";
import type { Capability, NamesOf } from "../../src/feature/capability.ts";
import type { Feature } from "../../src/feature/feature.ts";
import { cdpBrowser } from "../../src/features/browser/index.ts";
import { Think, Workspace } from "../../src/index.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { THINK_CAPABILITIES, type ThinkMembers } from "../../src/think/capabilities.ts";
import { ThinkCore } from "../../src/think/think-core.ts";
import { OverridesAgent } from "../types/agent-overrides.ts";
import { OverridesSteering } from "../types/steering-overrides.ts";
import { OverridesThink } from "../types/think-overrides.ts";

/** Those of a capability itself; what it is built on is in a list as well. */
type Own<One> = One extends Capability<Feature, infer Members, object> ? keyof Members : never;

/** Names for types only are symbols. */
type Stated<Members> = Extract<keyof Members, string>;

test("the class has the names of every capability in its list by its type, and no other", () => {
  expectTypeOf<Stated<AgentMembers>>().toEqualTypeOf<Own<(typeof AGENT_CAPABILITIES)[number]>>();
  expectTypeOf<Stated<ThinkMembers>>().toEqualTypeOf<Own<(typeof THINK_CAPABILITIES)[number]>>();
  expectTypeOf<AgentMembers>().toExtend<NamesOf<typeof AGENT_CAPABILITIES>>();
  expectTypeOf<AgentMembers & ThinkMembers>().toExtend<NamesOf<typeof THINK_CAPABILITIES>>();
});

const methodsOf = (...classes: readonly { readonly prototype: object }[]) =>
  classes
    .flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))
    .filter((name) => name !== "constructor")
    .toSorted();

const membersOf = (capabilities: readonly Capability[]) => capabilities.flatMap(({ members }) => members ?? []);

test("a class may override every method and accessor of an agent", () => {
  const offered = methodsOf(AgentBase, ...membersOf(AGENT_CAPABILITIES));
  expect(methodsOf(OverridesAgent)).toEqual(offered);
});

test("a class may override every method and accessor that a conversation adds", () => {
  const offered = methodsOf(ThinkCore, ...membersOf(THINK_CAPABILITIES));
  expect(methodsOf(OverridesThink, OverridesSteering)).toEqual(offered);
});

let started: Record<string, unknown>;

class Defaults extends Think {
  declare getModel: Think["getModel"];
  override onStart(): void {
    const { ctx: _ctx, env: _env, ...settings } = { ...this } as Record<string, unknown>;
    started = settings;
  }
}

class Files extends Workspace {}

const files = new Files({ sql: { exec: () => ({ toArray: () => [] }) } });

class Settings extends Defaults {
  override observability = undefined;
  override maxSteps = 3;
  override sendReasoning = false;
  override sendUsage = true;
  override messageMetadata: Think["messageMetadata"] = () => ({ at: 1 });
  override messageConcurrency: Think["messageConcurrency"] = "latest";
  override hydrationByteBudget = 1;
  override budgetUnpricedModels: Think["budgetUnpricedModels"] = "allow";
  override inspectionActs: Think["inspectionActs"] = "never";
  override mediaEviction: Think["mediaEviction"] = false;
  override allowClientToolOverrides = true;
  override historyTruncation: Think["historyTruncation"] = { keepRecent: 1 };
  override contextOverflow: Think["contextOverflow"] = {};
  override chatRecovery: Think["chatRecovery"] = false;
  override chatStreamStallTimeoutMs = 1;
  override chatStreamStallIncludesTools = true;
  override maxTurnTokens = 1;
  override browser: Think["browser"] = cdpBrowser();
  override webFetch = true;
  override webSearch: Think["webSearch"] = () => [];
  override maxAnswerBytes = 1;
  override maxUnstoredTextMs = 100;
  override deliverEmail: Think["deliverEmail"] = async () => {};
  override mcpFetch: Think["mcpFetch"] = async () => new Response();
  override maxConcurrentAgentTools = 1;
  override maxQueuedAgentTools = 1;
  override agentToolNoProgressMs = 1;
  override agentToolRetention: Think["agentToolRetention"] = { maxRuns: 1 };
  override submissionRetentionMs = 1;
  override actionLedgerPendingRetryLeaseMs: Think["actionLedgerPendingRetryLeaseMs"] = false;
  override actionLedgerRetention: Think["actionLedgerRetention"] = { settledMs: 1 };
  override actionPendingApprovalTtlMs: Think["actionPendingApprovalTtlMs"] = false;
  override workspace: Think["workspace"] = files;
  override workspaceTools = false;
  override workspaceBash: Think["workspaceBash"] = false;
  override waitForMcpConnections: Think["waitForMcpConnections"] = true;
  override maxMcpTools = 1;
  override toolDiscovery: Think["toolDiscovery"] = { maxActive: 3 };
  override extensionLoader: Think["extensionLoader"] = { get: () => ({ getEntrypoint: () => ({}) }) };
  // Filled by the start, which finds the loader above.
  override extensionManager: Think["extensionManager"] = undefined;
  override hookTimeout = 1;
  override modelFallback: Think["modelFallback"] = { rememberMs: 1 };
  override codemode: object | undefined = {};
  override plainChat = false;
  override openAIEndpoint = true;
}

test("a class may have a value of its own for every setting", async () => {
  const host = createTestHost({ agents: { Defaults, Settings } });
  await host.get(Defaults, "a");
  const defaults = started;
  await host.get(Settings, "a");
  const untouched = Object.keys(defaults).filter((name) => isDeepStrictEqual(started[name], defaults[name]));
  expect(Object.keys(started).toSorted()).toEqual(Object.keys(defaults).toSorted());
  expect(untouched).toEqual([]);
});
