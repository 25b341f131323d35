// The events of a turn's life, for operators: its start, its end, and what became of its recovery.
import type { IncidentEvent } from "./recovery.ts";
import type { TurnStore } from "./store.ts";
import type { Turn, TurnOutcome } from "./turn.ts";

export function announceStart(store: TurnStore, turn: Turn): void {
  if (turn.startedAt !== undefined) return;
  turn.startedAt = store.now();
  store.init.emit("chat:turn:start", turnEvent(turn));
}

export function emitFinish(store: TurnStore, turn: Turn, outcome: TurnOutcome): void {
  if (turn.startedAt === undefined) return;
  const durationMs = store.now() - turn.startedAt;
  const { status, error } = outcome;
  store.init.emit("chat:turn:finish", { ...turnEvent(turn), status, durationMs, error });
}

export function emitRecovered(
  store: TurnStore,
  event: IncidentEvent,
  { outcome, reason }: { readonly outcome: TurnOutcome; readonly reason: string | undefined }
): void {
  const { emit } = store.init;
  if (reason !== undefined) emit("chat:recovery:skipped", { ...event, reason });
  else if (outcome.status === "completed") emit("chat:recovery:completed", event);
  else if (outcome.status === "error") emit("chat:recovery:failed", { ...event, reason: outcome.error ?? "error" });
  else emit("chat:recovery:skipped", { ...event, reason: outcome.reason ?? outcome.status });
}

function turnEvent(turn: Turn) {
  const { requestId, admitted } = turn;
  const { trigger, generation, continuation } = admitted;
  return { requestId, trigger, admission: "queue" as const, continuation, generation };
}
