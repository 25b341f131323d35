// A Think with budgets: its limits and prices are written by each test. The price is a dollar per thousand tokens of input and
// of output, so that limits are easy to count with.
import type { LanguageModel, ToolSet } from "ai";
import { Think, type ActionSet, type ChatResponseResult, type PendingApproval } from "../../src/index.ts";
import type { BudgetContext, BudgetLimit, CostReport, ModelPrice } from "../../src/core/budgets.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import { createScript, createTestHost, scriptedModel, type Script, type Step } from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";

export const PRICE: ModelPrice = { provider: "scripted", model: "*", input: 1_000, output: 1_000 };

interface Scene {
  script: Script;
  limits: (context: BudgetContext) => readonly BudgetLimit[];
  prices: readonly ModelPrice[];
  unpriced: "refuse" | "allow";
  maxOutputTokens: number | undefined;
  sendsUsage: boolean;
  actions: ActionSet;
  /** Of inspectors; none without it. */
  key: string | undefined;
  tools: (agent: Spender) => ToolSet;
  model: LanguageModel | undefined;
  responses: ChatResponseResult[];
  events: AgentEvent[];
  effects: string[];
}

export const scene: Scene = emptyScene();

function emptyScene(): Scene {
  return {
    script: createScript([]),
    limits: () => [],
    prices: [PRICE],
    unpriced: "refuse",
    maxOutputTokens: 1_000,
    sendsUsage: false,
    actions: {},
    key: undefined,
    tools: () => ({}),
    model: undefined,
    responses: [],
    events: [],
    effects: []
  };
}

export class Spender extends Think {
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };
  override budgetUnpricedModels = scene.unpriced;
  override sendUsage = scene.sendsUsage;
  override getActions() {
    return scene.actions;
  }
  override getModel() {
    return scene.model ?? scriptedModel(scene.script);
  }
  override getTools() {
    return scene.tools(this);
  }
  override getBudgets(context: BudgetContext) {
    return scene.limits(context);
  }
  override getPrices() {
    return scene.prices;
  }
  override beforeTurn() {
    return scene.maxOutputTokens === undefined ? {} : { maxOutputTokens: scene.maxOutputTokens };
  }
  override authorizeInspection(request: Request) {
    return scene.key !== undefined && request.headers.get("authorization") === `Bearer ${scene.key}`;
  }
  override onChatResponse(result: ChatResponseResult) {
    scene.responses.push(result);
  }
}

export function open(steps: Step[], given: Partial<Scene> = {}) {
  Object.assign(scene, emptyScene(), { script: createScript(steps) }, given);
  return createTestHost({ agents: { Spender } });
}

export type Host = ReturnType<typeof open>;

export const agentOf = (host: Host) => host.get(Spender, "a");

export async function say(host: Host, id: string) {
  return (await agentOf(host)).saveMessages([user(id)]);
}

export async function costs(host: Host): Promise<CostReport> {
  return (await agentOf(host)).getCosts();
}

export async function waiting(host: Host): Promise<PendingApproval[]> {
  return (await agentOf(host)).pendingApprovals();
}

export async function stored(host: Host) {
  return storedMessages(host, "/agents/spender/a");
}

export function rowsOf(host: Host, query: string) {
  return host.sql(Spender, "a", query);
}
