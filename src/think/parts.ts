// The parts every Think stands on, connected: the session's store, the journal, the turn engine, the chat protocol.
import { Connection } from "../agent/connections/connection.ts";
import type { AgentExtension } from "../agent/extension.ts";
import { pathBelowAgent, type AddressedAgent } from "../agent/own-path.ts";
import { openJournal } from "../journal/journal.ts";
import { MediaEvictor } from "../session/media-evictor.ts";
import type { MessageStore } from "../session/message-store.ts";
import type { Session } from "../session/session.ts";
import { TurnEngine } from "../turn/engine.ts";
import { Idempotency } from "../turn/idempotency.ts";
import type { CountedTokens } from "../turn/transcript.ts";
import { ThinkError } from "../util/errors.ts";
import { ActionConversation, type ActionConversationInit } from "./action-conversation.ts";
import type { ActionsDesk } from "./actions-port.ts";
import { approvalsResponse, type ApprovalsPort } from "./approvals-http.ts";
import { Branches } from "./branches.ts";
import { chatExtension } from "./chat-extension.ts";
import { contextPrompt, contextToolSource } from "./context-tools.ts";
import { postedMessages } from "./posted-messages.ts";
import { readJournal } from "./read-journal.ts";
import { StoredTranscript } from "./stored-transcript.ts";
import { ThinkActions } from "./think-actions.ts";
import { keptOutputs, type ToolSource } from "./tool-source.ts";
import type { OpenParts, PartsInit, ThinkParts } from "./wiring.ts";

export class CustomSessionError extends ThinkError {
  constructor() {
    super({
      code: "session-not-in-sqlite",
      message: "This agent's session cannot hold a conversation.",
      hint: "configureSession() must return a session over the agent's own storage: turns and messages share transactions."
    });
  }
}

export const openParts: OpenParts = (init) => {
  const { runtime, hooks, sdk } = init;
  const { store } = init.session;
  if (!store) throw new CustomSessionError();
  const { conversation, host } = store.scope;
  const emit: PartsInit["runtime"]["emit"] = (type, payload) => runtime.emit(type, payload);
  const journal = openJournal({
    sql: runtime.sql,
    blobs: host.blobs,
    conversation,
    report: (error) => console.error("A reader of the journal failed:", error),
    setAside: runtime.quarantine,
    now: () => runtime.clock.now()
  });
  store.scope.log = journal.history;
  const idempotency = new Idempotency(runtime.sql);
  const transcript = new StoredTranscript({
    store,
    idempotency,
    budgetBytes: () => init.settings.hydrationByteBudget,
    announce: () => turns.announceTranscript(),
    onFailure: (error) => init.degrade("transcript-hydration", error),
    repairPart: (part) => hooks.repairPart(part),
    onClear: () => actions.desk?.conversationCleared(),
    noteUsage: (messageId, usage) => noteUsage(init.session, messageId, usage),
    emit
  });
  const turns = new TurnEngine({
    conversation,
    journal,
    transcript,
    idempotency,
    hooks,
    sdk,
    clock: runtime.clock,
    ids: runtime.ids,
    emit,
    durable: () => runtime.lifecycle.durable(),
    background: (work) => runtime.background(work),
    keepAlive: (work) => runtime.keepAlive.whileActive(work)
  });
  const actions = openActions(init, { conversation, journal, transcript, turns });
  evictMedia(init, store, () => parts.toolSources);
  runtime.wakes.add(() => journal.retention.nextSweepAt());
  runtime.wakes.add((nowMs) => turns.nextWake(nowMs, runtime.options.keepAliveIntervalMs));
  runtime.wakes.add((nowMs) => actions.nextWake(nowMs));
  runtime.extensions.push(
    approvalsExtension(actions, runtime),
    chatExtension({
      runtime,
      turns,
      reconciler: postedMessages({ store, turns, transcript, newId: () => runtime.ids.next() }),
      clock: runtime.clock,
      describeFailure: (error, context) => hooks.describeFailure(error, context),
      concurrency: () => init.settings.messageConcurrency,
      emit,
      atomically: (work) => conversation.transaction(work),
      messages: () => turns.transcript(),
      changes: store.scope.changes,
      sweep: (now) => void journal.retention.sweep(now)
    }),
    { ready: () => turns.resume(), runDue: async () => turns.runDue() }
  );
  turns.listen({
    settled: (turn) => actions.desk?.turnSettled(turn.turnId)
  });
  const parts = {
    turns,
    transcript,
    actions,
    branches: new Branches({ store, transcript }),
    readJournal: (options) => readJournal({ ...journal, scope: store.scope }, options),
    toolSources: [...actions.toolSources, contextToolSource(init.session)],
    sessionPrompt: () => contextPrompt(init.session),
    wholeMessage: (messageId) => transcript.get(messageId),
    connectionOf: (origin) => (origin instanceof Connection ? origin : undefined)
  } satisfies ThinkParts;
  return parts;
};

function openActions(
  { overrides, isOverridden, runtime, sdk, env }: PartsInit,
  side: Omit<ActionConversationInit, "newId">
): ThinkActions {
  const conversation = new ActionConversation({ ...side, newId: () => runtime.ids.next() });
  return new ThinkActions({ overrides, isOverridden, runtime, sdk, env, conversation });
}

/** Approvals over HTTP, and what was decided before a crash. */
function approvalsExtension(actions: ThinkActions, agent: AddressedAgent): AgentExtension {
  const port = (desk: ActionsDesk): ApprovalsPort => ({
    pendingApprovals: (executionId) => desk.pendingApprovals(executionId),
    approve: (executionId, decision) => desk.approveExecution(executionId, decision),
    reject: (executionId, decision) => desk.rejectExecution(executionId, decision)
  });
  return {
    ready: () => actions.resume(),
    // Looked at only for requests about approvals: it may call the user's getActions().
    respond: (request) =>
      approvalsResponse(request, pathBelowAgent(request.url, agent), () => actions.desk && port(actions.desk)),
    runDue: () => actions.runDue()
  };
}

/** What the provider counted is the one number that says when to compact. */
function noteUsage(session: Session, messageId: string, { inputTokens, outputTokens }: CountedTokens): void {
  if (inputTokens === undefined) return;
  session.noteUsage({ messageId, inputTokens, ...(outputTokens !== undefined && { outputTokens }) });
}

function evictMedia(
  { runtime, settings, overrides }: PartsInit,
  store: MessageStore,
  sources: () => readonly ToolSource[]
): void {
  new MediaEvictor({
    store,
    options: settings.mediaEviction,
    keeps: (call) => keptOutputs(overrides.historyTruncation.wholeOutputs ?? [], sources())(call) !== undefined,
    defer: (work) => runtime.background(runtime.clock.sleep(0).then(work)),
    onEvicted: (summary) => runtime.emit("chat:media:evicted", { ...summary })
  });
}
