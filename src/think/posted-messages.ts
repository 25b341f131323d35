// What a client posted, against what is stored: the session decides, the chat protocol applies it. New messages wait for
// their turn; changes to stored ones are made when the request is accepted.
import type { UIMessage } from "ai";
import type { Reconciler, RequestPlan } from "../wire/index.ts";
import type { ChatServices } from "../feature/services.ts";
import { reconcile, type ReconcilePlan } from "../session/reconcile.ts";
import { applyPlan, storedLookup } from "../session/stored-lookup.ts";
import { sameJson } from "../util/json.ts";
import { checkFiles } from "../feature/turn-input.ts";
import { featureErrors } from "../feature/errors.ts";

const FEW_LOOKUPS = 4;

interface PostedPlan extends RequestPlan {
  readonly stored: ReconcilePlan;
}

/** What is used of the conversation. */
export interface PostedMessagesHost extends Pick<ChatServices, "store"> {
  readonly turns: Pick<ChatServices["turns"], "transcript">;
  readonly transcript: Pick<ChatServices["transcript"], "path">;
  readonly ids: Pick<ChatServices["ids"], "next">;
}

export function postedMessages({ store, turns, transcript, ids }: PostedMessagesHost): Reconciler<PostedPlan> {
  return {
    plan(posted, trigger) {
      const shown = turns.transcript();
      const path = transcript.path();
      const placed = finder(path, posted.length);
      const isWhole = store.isLinear && path.length === store.getPathLength();
      const same = new Set<string>();
      const isAsShown = (message: { readonly id: string }) => {
        const isSame = sameJson(message, placed(message.id));
        if (isSame) same.add(message.id);
        return isSame;
      };
      // Asked of messages that are not stored.
      const isQueued = (id: string) => shown.some((message) => message.id === id);
      const isUnknown = (id: string) => isWhole && placed(id) === undefined;
      const lookup = storedLookup(store, { isQueued, isAsShown, isUnknown });
      const stored = reconcile({ posted, trigger, stored: lookup });
      const { append, update, edit, answer, aliases, rejected } = stored;
      if (answer.at === "nowhere") throw featureErrors.UnknownQuestionError();
      // Only what is new: a client also posts what was stored before anything was checked.
      checkFiles([...append, ...update, ...(edit ? [edit] : [])]);
      // A summary is refused as a message, and compared with the one that is shown like any other.
      const isRefused = rejected.some(({ reason }) => reason !== "compaction");
      const isOdd = edit !== undefined || aliases.size > 0 || isRefused;
      const parentMessageId = edit?.id ?? (answer.at === "message" ? answer.messageId : undefined);
      return {
        stored,
        // The same JSON; the SDK's type also knows what each kind of part holds.
        input: append as readonly unknown[] as readonly UIMessage[],
        changesStored: update.length > 0 || edit !== undefined,
        parentMessageId,
        clientShows:
          isOdd || parentMessageId !== undefined
            ? "different"
            : comparison(posted.slice(0, posted.length - append.length), shown, same)
      };
    },
    apply({ stored }) {
      applyPlan(store, { ...stored, append: [] }, () => ids.next());
    }
  };
}

/** Looks messages up by id, so many of them. */
function finder(messages: readonly UIMessage[], lookups: number): (id: string) => UIMessage | undefined {
  // Most clients of ours post the new message only: going through the list is cheaper than an index of all of it.
  if (lookups <= FEW_LOOKUPS) return (id) => messages.findLast((message) => message.id === id);
  const byId = new Map(messages.map((message) => [message.id, message]));
  return (id) => byId.get(id);
}

/**
 * Whether a client that posted these known messages shows what is stored; `same` are those that were compared already.
 * When in doubt it does not: it is sent a snapshot then.
 */
function comparison(
  known: readonly UIMessage[],
  shown: readonly UIMessage[],
  same: ReadonlySet<string>
): RequestPlan["clientShows"] {
  if (known.length > shown.length) return "different";
  const tail = shown.slice(shown.length - known.length);
  const isShownAt = (message: UIMessage, index: number) =>
    // A summary holds a date, which a client was sent as text; so the texts decide.
    same.has(message.id) ? tail[index]?.id === message.id : JSON.stringify(message) === JSON.stringify(tail[index]);
  if (!known.every(isShownAt)) return "different";
  return known.length === shown.length ? "equal" : "part";
}
