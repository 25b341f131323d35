// Whether the conversation is at rest: no turn running or waiting, nothing asked of a human or a client. Derived from
// the stored messages and the open stream each time it is asked.
import type { UIMessage } from "ai";
import { happensWithin } from "../host/deadline.ts";
import type { Clock } from "../host/ports.ts";
import { foldChunks, foldedMessage, startFold, type FoldChunk } from "../model/index.ts";
import { isPendingInteraction } from "../session/open-calls.ts";
import type { TurnEngine } from "../turn/engine.ts";

/** How long a change may go unnoticed of which no listener is notified. */
export const STABLE_POLL_MS = 100;

export interface StabilityInit {
  readonly turns: TurnEngine;
  readonly messages: () => readonly UIMessage[];
  readonly clock: Clock;
}

/** A call of an assistant message waits for an approval, or for the client that has the tool. */
export function hasPendingInteraction({ turns, messages }: Omit<StabilityInit, "clock">): boolean {
  const clientTools = new Set(turns.clientTools.map(({ name }) => name));
  const isPending = ({ role, parts }: UIMessage): boolean =>
    role === "assistant" && parts.some((part) => isPendingInteraction(part, (name) => clientTools.has(name)));
  const streamed = streamedMessage(turns);
  return messages().some(isPending) || (streamed !== undefined && isPending(streamed));
}

/** Resolves true once the conversation is at rest, false when the time is over. */
export async function untilStable(init: StabilityInit, timeoutMs?: number): Promise<boolean> {
  const { turns, clock } = init;
  const deadline = timeoutMs === undefined ? Infinity : clock.now() + timeoutMs;
  let changed = Promise.withResolvers<void>();
  const notice = () => changed.resolve();
  const stop = turns.listen({ settled: notice, messageUpdated: notice, transcriptChanged: notice, cleared: notice });
  try {
    for (;;) {
      if (isStable(init)) return true;
      const leftMs = deadline - clock.now();
      if (leftMs <= 0) return false;
      changed = Promise.withResolvers();
      await happensWithin(Math.min(STABLE_POLL_MS, leftMs), changed.promise, clock);
    }
  } finally {
    stop();
  }
}

function isStable(init: StabilityInit): boolean {
  const { turns } = init;
  return !turns.isBusy() && turns.waiting() === undefined && !hasPendingInteraction(init);
}

/** What the open stream says so far. */
function streamedMessage(turns: TurnEngine): UIMessage | undefined {
  const turn = turns.streaming();
  const replay = turn && turns.replay(turn.requestId);
  if (!turn || !replay) return undefined;
  // The engine stores chunks of the SDK as JSON and nothing else.
  const chunks = Array.from(replay.chunks, ({ body }) => JSON.parse(body) as FoldChunk);
  return foldedMessage(foldChunks(startFold(turn.messageId), chunks));
}
