// The views of the inspection API, gathered from the agent. Loaded with the first request for one. Only `decide` writes;
// `tryTurn` calls a model and nothing else.
import type { LanguageModel, ToolSet, UIMessage } from "ai";
import { inspectCosts, type CostsView } from "./costs-view.ts";
import { policyDecisions, purposeOf } from "./decisions.ts";
import { historyWindow } from "./history-window.ts";
import { listTools, runTool, type StartedRun, type ToolsView } from "./by-hand.ts";
import { readChat, shownReceipt, type ChatView, type ShownReceipt } from "./chat-view.ts";
import type { AskedMessage, CallPart, InspectionSource } from "./inspect-http.ts";
import { readTable, type TablePage, type TableView } from "./table-rows.ts";
import { textOf, waitingCalls, waitingPart } from "./shown-messages.ts";
import { shownText } from "./shown-text.ts";
import { changedHistory, modelName, RecordedResults, runFork, callPartsOf } from "./try-turn.ts";
import {
  INSPECTION_VERSION,
  type AgentView,
  type ConversationsView,
  type FileView,
  type InboxEntry,
  type InboxView,
  type ShownText,
  type StateView,
  type TriedRun,
  type TryRequest,
  type TryView,
  type TurnsView,
  type TurnTimeline,
  type TurnWhy,
  type WhyTool
} from "./views.ts";
import { installedSdk } from "../../model/index.ts";
import { promptFingerprint } from "../../turn/tool-calls.ts";
import { isObject } from "../../util/json.ts";
import type { Decision, PendingApproval } from "../../feature/approval-contract.ts";
import { featureErrors } from "../../feature/errors.ts";
import { firstModel } from "../../feature/settings.ts";
import { listDecidedApprovals } from "../approvals/decided-approvals.ts";
import { readWaitingRows } from "../approvals/waiting-rows.ts";
import { inspectFile, inspectState } from "./inspection-state.ts";
import { InspectedTurns, type FoundTurn } from "./inspection-turns.ts";
import type { ChatServices, TurnPreview } from "../../feature/services.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import type { BudgetMembers } from "../budgets/capability.ts";
import type { InspectionMembers } from "./capability.ts";
import { approvals } from "../approvals/capability.ts";
import { steering } from "../steering/capability.ts";

/** Messages that are looked through for calls that wait. */
const SEARCHED_MESSAGES = 500;

export class ThinkInspection implements InspectionSource {
  readonly #services: ChatServices;
  readonly #agent: InspectionMembers & BudgetMembers;
  readonly #turns: InspectedTurns;
  readonly #refusal: string | null;

  /** `refusal`: why the request may not act; null: it may. */
  constructor(services: ChatServices, refusal: string | null) {
    this.#refusal = refusal;
    this.#services = services;
    this.#agent = services.agent as InspectionMembers & BudgetMembers;
    this.#turns = new InspectedTurns(services);
  }

  agent(): AgentView {
    const { agent, clock, store } = this.#services;
    const { className, name } = runtimeOf(agent).identity;
    return {
      version: INSPECTION_VERSION,
      className,
      name,
      now: clock.now(),
      head: this.#turns.head,
      openTurns: store.scope.conversation.row.openTurns.length,
      waitingApprovals: this.#waiting().length,
      models: Object.keys(this.#agent.inspectionModels())
    };
  }

  conversations(): ConversationsView {
    const { store } = this.#services;
    const { conversation } = store.scope;
    const { length: messages, bytes: sizeBytes } = store.totals();
    const others = conversation.others();
    const active = {
      id: conversation.id,
      isActive: true,
      generation: conversation.row.generation,
      openTurns: conversation.row.openTurns.length,
      messages,
      sizeBytes
    };
    return { conversations: [active, ...others.map((one) => ({ ...one, isActive: false }))] };
  }

  turns(page: { before: number; limit: number }): TurnsView {
    return this.#turns.list(page);
  }

  turn(turnId: string): TurnTimeline | undefined {
    return this.#turns.turn(turnId);
  }

  call(turnId: string, part: CallPart): ShownText | undefined {
    return this.#turns.call(turnId, part);
  }

  async why(turnId: string): Promise<TurnWhy | undefined> {
    const found = this.#turns.find(turnId);
    const timeline = this.#turns.turn(turnId);
    if (!found || !timeline) return undefined;
    const { history, leafId } = this.#historyOf(found);
    const preview = await this.#services.previewTurn(timeline.channel ?? undefined, history);
    const { sections, sizeBytes, tokens, text } = preview.explanation;
    const { length, bytes } = this.#services.store.totals(leafId);
    return {
      prompt: {
        sections: sections.map((section) => ({
          name: section.name,
          label: section.label ?? null,
          purpose: purposeOf(section.name),
          text: shownText(section.text),
          sizeBytes: section.sizeBytes,
          tokens: section.tokens,
          replacedBy: section.replacedBy ?? null
        })),
        sizeBytes,
        tokens,
        match: promptMatch(timeline, promptFingerprint(text, Object.keys(preview.merged.tools).sort()))
      },
      history: historyWindow({
        stored: { messages: leafId === undefined ? 0 : length, bytes: leafId === undefined ? 0 : bytes },
        history,
        shown: preview.shown,
        budgetBytes: this.#services.overrides.hydrationByteBudget,
        compactions: this.#services.store.getCompactions()
      }),
      tools: whyTools(preview, found, timeline),
      deferredTools: preview.explanation.deferredTools ?? null,
      policies: policyDecisions(timeline),
      recovery: timeline.attempts.flatMap(({ attempt, decision }) => (decision === null ? [] : [{ attempt, decision }]))
    };
  }

  inbox(): InboxView {
    const { sql } = this.#services;
    const rows = new Map(readWaitingRows((query) => sql.all(query)).map((row) => [row.id, row]));
    const waiting = this.#waiting().map((entry) => {
      const { askedAt = null, expiresAt = null } = rows.get(entry.id) ?? {};
      return { ...entry, askedAt, expiresAt };
    });
    return { approvals: waiting, decided: listDecidedApprovals(this.#services) };
  }

  waitingInput(id: string, from: number): ShownText | undefined {
    const [asked] = approvals.of(this.#services.agent).pending(id);
    if (asked) return shownText(asked.descriptor.input, undefined, from);
    const part = waitingPart(this.#services.transcript.messages().slice(-SEARCHED_MESSAGES), id);
    return part && shownText(part.input ?? null, undefined, from);
  }

  state(): Promise<StateView> {
    return inspectState(this.#services);
  }

  file(path: string): Promise<FileView | undefined> {
    return inspectFile(this.#services, path);
  }

  chat(): ChatView {
    return readChat(this.#services, this.#refusal);
  }

  tools(): Promise<ToolsView> {
    return listTools(this.#services, this.#refusal);
  }

  async ask({ id, text, kind }: AskedMessage): Promise<ShownReceipt> {
    const asked = { kind, input: text, isFromClient: false, ...(id !== undefined && { id }) };
    return shownReceipt(await steering.of(this.#services.agent).accept(asked));
  }

  withdraw(id: string): ShownReceipt {
    return shownReceipt(steering.of(this.#services.agent).withdraw(id));
  }

  stop(after: "step" | undefined): { stopped: boolean } {
    const { turns } = this.#services;
    if (after === "step") return { stopped: turns.steering.stopAfterStep() };
    const isBusy = turns.isBusy();
    turns.cancelAll("cancelled");
    return { stopped: isBusy };
  }

  run(toolName: string, input: unknown): Promise<StartedRun> {
    return runTool(this.#services, { toolName, input });
  }

  table(name: string, page: TablePage): TableView | undefined {
    return readTable(this.#services.sql, name, page);
  }

  async decide(id: string, decision: Decision): Promise<{ refused?: string }> {
    const entry = this.#waiting().find((one) => one.id === id);
    if (!entry?.isDecidable) return { refused: "Nothing of this id waits for a decision." };
    const outcome = await approvals.of(this.#services.agent).decide(id, decision);
    const isRefused = isObject(outcome) && outcome["status"] === "error" && outcome["executionId"] === id;
    return isRefused ? { refused: String(outcome["error"]) } : {};
  }

  costs(): Promise<CostsView> {
    return inspectCosts(this.#services);
  }

  async tryTurn(request: TryRequest, signal: AbortSignal): Promise<TryView | undefined> {
    const found = this.#turns.find(request.turnId);
    const timeline = this.#turns.turn(request.turnId);
    if (!found || !timeline) return undefined;
    const { overrides, clock, features } = this.#services;
    const models = this.#agent.inspectionModels();
    if (request.model !== undefined && !Object.hasOwn(models, request.model)) {
      throw featureErrors.InspectedModelError(request.model, Object.keys(models));
    }
    const model = (request.model === undefined ? undefined : models[request.model]) ?? this.#ownModel();
    const answer = this.#answerOf(found);
    const history = changedHistory(this.#historyOf(found).history, request);
    const preview = await this.#services.previewTurn(found.timeline.channel ?? undefined, history);
    const changed = await runFork({
      sdk: installedSdk(),
      model,
      resolveModel: (id) => overrides.resolveModel(id),
      meter: features.role("budgets")?.meter,
      system: request.system ?? preview.explanation.text,
      messages: await preview.modelMessages(preview.shown),
      tools: offeredTools(preview),
      results: new RecordedResults(callPartsOf(answer), request.toolResults),
      prices: this.#agent.getPrices(),
      clock,
      signal
    });
    return { original: originalRun(timeline, answer, modelName(this.#ownModel())), changed };
  }

  /** Of a list, the first one. */
  #ownModel(): LanguageModel {
    return firstModel(this.#services.overrides.getModel());
  }

  #waiting(): InboxEntry[] {
    const waiting = approvals.of(this.#services.agent).pending(undefined).map(approvalEntry);
    const parked = new Set(waiting.map(({ callId }) => callId));
    const messages = this.#services.transcript.messages().slice(-SEARCHED_MESSAGES);
    const calls = waitingCalls(messages).filter(({ callId }) => !parked.has(callId));
    return [...waiting, ...calls];
  }

  /** The path before the turn's answer, within the byte budget, and where it ends. */
  #historyOf({ timeline }: FoundTurn): { history: UIMessage[]; leafId: string | undefined } {
    const { transcript, store } = this.#services;
    const { messageId, inputMessageIds } = timeline;
    const lastInput = inputMessageIds.findLast((id) => store.has(id));
    const end = lastInput ?? (messageId !== null && store.has(messageId) ? messageId : undefined);
    if (end === undefined) return { history: [], leafId: undefined };
    const path = transcript.path(end);
    return { history: path.filter(({ id }) => id !== messageId), leafId: end };
  }

  #answerOf({ timeline: { messageId } }: FoundTurn): UIMessage | undefined {
    return messageId === null ? undefined : this.#services.transcript.get(messageId);
  }
}

function promptMatch(timeline: TurnTimeline, now: string): TurnWhy["prompt"]["match"] {
  const known = timeline.attempts.findLast(({ prompt }) => prompt !== null)?.prompt ?? null;
  return known === null ? "unknown" : known === now ? "same" : "changed";
}

/** A fork has no steps in which it could be offered more. */
function offeredTools({ merged, offered }: TurnPreview): ToolSet {
  return Object.fromEntries(offered.flatMap((name) => (merged.tools[name] ? [[name, merged.tools[name]]] : [])));
}

function whyTools(
  { merged, offered: now }: TurnPreview,
  { records, history }: FoundTurn,
  timeline: TurnTimeline
): WhyTool[] {
  const recorded = records.flatMap(({ record }) => (record.type === "model-called" ? record.tools : []));
  const offered = recorded.length > 0 ? recorded : (history?.tools.offered ?? []);
  const calls = timeline.attempts.flatMap(({ steps }) =>
    steps.flatMap((step) => step.calls.map((call) => call.toolName))
  );
  const names = [...new Set([...now, ...offered, ...calls])].sort();
  return names.map((name) => {
    const description: unknown = merged.tools[name]?.description;
    return {
      name,
      layer: merged.layerOf.get(name) ?? null,
      description: typeof description === "string" ? shownText(description, 2000).text : null,
      wasOffered: recorded.length > 0 || history ? offered.includes(name) : null,
      calls: calls.filter((called) => called === name).length
    };
  });
}

function approvalEntry({
  executionId,
  source,
  descriptor,
  inputHash,
  seq,
  mayHaveRun,
  votes,
  escalation
}: PendingApproval): InboxEntry {
  const { action, summary, input, risk, permissions, toolCallId } = descriptor;
  return {
    id: executionId,
    kind: source === "workflow" ? "workflow" : "action",
    name: action,
    question: summary,
    input: shownText(input),
    risk: risk ?? null,
    permissions,
    inputHash: inputHash ?? null,
    seq: seq ?? null,
    mayHaveRun: mayHaveRun ?? false,
    ...(votes && { votes }),
    ...(escalation && { escalation }),
    askedAt: null,
    expiresAt: null,
    callId: toolCallId,
    isDecidable: true
  };
}

function originalRun(timeline: TurnTimeline, answer: UIMessage | undefined, currentModel: string | null): TriedRun {
  const calls = timeline.attempts.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  const { startedAt, settledAt, status, usage, cost, error } = timeline;
  return {
    status,
    modelId: timeline.attempts.findLast(({ modelId }) => modelId !== null)?.modelId ?? currentModel,
    text: shownText(textOf(answer)),
    usage,
    cost,
    steps: timeline.attempts.reduce((count, { steps }) => count + steps.length, 0),
    durationMs: startedAt === null || settledAt === null ? null : settledAt - startedAt,
    calls: calls.map(({ toolName, input, output }) => ({ toolName, input, output, source: "ran" as const })),
    error: error === null ? null : (error.message ?? error.code)
  };
}
