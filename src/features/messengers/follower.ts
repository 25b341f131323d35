// Turns on a messenger's channel that the messenger did not start, such as the one after an approval: the agent that runs
// one notes it before the model is called, and reports it to the root when it is over. The note is deleted when the root
// has stored it, so a crash anywhere repeats the report and loses nothing.
import { runtimeOf } from "../../agent/runtime.ts";
import type { ChannelMembers } from "../channels/capability.ts";
import type { FollowedTurn } from "../channels/channels.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { TurnView, TurnOutcome } from "../../turn/turn.ts";
import { isObject } from "../../util/json.ts";
import { err, ok } from "../../util/result.ts";
import { SETTLED } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import { FOLLOWED_TURN, MESSENGER_TURNS } from "./replaced-tables.ts";
import { ReplyText } from "./reply-text.ts";

const RETRY_MS = 5_000;

/** A turn as it is noted; its report has the rest. */
type Noted = Pick<FollowedTurn, "messengerId" | "threadId" | "turnId" | "requestId">;

export class TurnFollower {
  readonly work: Work<Noted | FollowedTurn>;
  readonly #host: ChatServices;
  readonly #agent: ChannelMembers;

  constructor(host: ChatServices) {
    this.#host = host;
    // Only classes with `getMessengers()` have this feature.
    this.#agent = host.agent as ChannelMembers;
    this.work = new Work<Noted | FollowedTurn>(host, {
      name: FOLLOWED_TURN,
      replaces: [MESSENGER_TURNS],
      codec: {
        encode: (turn) => turn,
        decode: (stored) => (isNoted(stored) ? ok(stored) : err("it names no turn of a thread"))
      },
      retry: { backoff: { baseMs: RETRY_MS, maxMs: RETRY_MS } },
      concurrency: 1,
      retentionMs: 0,
      run: async ({ payload }) => {
        await this.#report(payload);
        return SETTLED;
      }
    });
  }

  /** Notes a turn before its model is called. */
  begin({ turnId, requestId }: TurnView): void {
    const origin = this.#agent.getMessengerContext();
    if (!origin) return;
    const { messengerId, thread } = origin;
    this.work.add({ key: turnId, payload: { messengerId, threadId: thread.id, turnId, requestId }, dueAt: null });
  }

  /** Keeps the report of a turn that is over. */
  settled({ turnId }: TurnView, { status }: TurnOutcome): void {
    const noted = this.work.find(turnId);
    if (noted) this.#keep(noted.payload, status === "error");
  }

  /** Goes on after a start, also with turns that ended in the moment of the crash. */
  resume(): void {
    for (const { payload } of this.work.items({ states: ["parked"] })) {
      const replay = this.#host.turns.replay(payload.requestId);
      if (replay?.state !== "live") this.#keep(payload, replay?.state === "error");
    }
    this.work.ready();
  }

  async #report(turn: Noted | FollowedTurn): Promise<void> {
    try {
      // What is due was written by `#keep` only.
      await this.#agent.messengerCall({ do: "follow", turn: turn as FollowedTurn });
    } catch (error) {
      console.warn("A turn could not be reported to the agent that has its messenger; it is tried again.", error);
      throw error;
    }
  }

  #keep(turn: Noted, failed: boolean): void {
    const text = this.#readText(turn.requestId);
    const target = runtimeOf(this.#host.agent).identity.pathBelowRoot;
    this.work.put({ key: turn.turnId, payload: { ...turn, text, failed, target } });
  }

  /** Reads only what the turn itself said: its message may have begun in an earlier turn, which the chat already shows. */
  #readText(requestId: string): string {
    const text = new ReplyText();
    for (const { body } of this.#host.turns.replay(requestId)?.chunks ?? []) text.read(body);
    return text.value;
  }
}

function isNoted(stored: unknown): stored is Noted {
  const names = ["messengerId", "threadId", "turnId", "requestId"];
  return isObject(stored) && names.every((name) => typeof stored[name] === "string");
}
