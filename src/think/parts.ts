// The parts every Think stands on, connected: the session's store, the journal, the turn engine, the chat protocol.
import { Connection } from "../agent/connections/connection.ts";
import { openJournal } from "../journal/journal.ts";
import { MediaEvictor } from "../session/media-evictor.ts";
import type { MessageStore } from "../session/message-store.ts";
import { TurnEngine } from "../turn/engine.ts";
import { ThinkError } from "../util/errors.ts";
import { chatExtension } from "./chat-extension.ts";
import { postedMessages } from "./posted-messages.ts";
import { StoredTranscript } from "./stored-transcript.ts";
import type { OpenParts, PartsInit } from "./wiring.ts";

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
    report: (error) => console.error("A reader of the journal failed:", error)
  });
  const transcript = new StoredTranscript({
    store,
    budgetBytes: () => init.settings.hydrationByteBudget,
    announce: () => turns.announceTranscript(),
    onFailure: (error) => init.degrade("transcript-hydration", error),
    emit
  });
  const turns = new TurnEngine({
    conversation,
    journal,
    transcript,
    hooks,
    sdk,
    clock: runtime.clock,
    ids: runtime.ids,
    emit,
    background: (work) => runtime.background(work),
    keepAlive: (work) => runtime.keepAlive.while(work)
  });
  evictMedia(init, store);
  runtime.wakes.add(() => journal.retention.nextSweepAt());
  runtime.wakes.add((nowMs) => turns.nextWake(nowMs, runtime.options.keepAliveIntervalMs));
  runtime.extensions.push(
    chatExtension({
      runtime,
      turns,
      reconciler: postedMessages({ store, turns, newId: () => runtime.ids.next() }),
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
  return {
    turns,
    transcript,
    connectionOf: (origin) => (origin instanceof Connection ? origin : undefined)
  };
};

function evictMedia({ runtime, settings }: PartsInit, store: MessageStore): void {
  new MediaEvictor({
    store,
    options: settings.mediaEviction,
    defer: (work) => runtime.background(runtime.clock.sleep(0).then(work)),
    onEvicted: (summary) => runtime.emit("chat:media:evicted", { ...summary })
  });
}
