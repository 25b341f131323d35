// What an action's callbacks are given. Types only.
import type { ModelMessage } from "ai";
import type { ReplyAttachment } from "../think/actions-port.ts";
import type { Think } from "../think/think.ts";

export interface ActionContext {
  readonly agent: Think;
  readonly env: Cloudflare.Env;
  readonly requestId: string;
  readonly toolCallId: string;
  /** What the model had read when it made the call. Empty when a parked call runs after its approval. */
  readonly messages: ReadonlyArray<ModelMessage>;
  /** Fires when the turn is cancelled and after `timeoutMs`. */
  readonly signal: AbortSignal;
  /** Records something to deliver with the answer. Counts only if `execute` succeeds; elsewhere it does nothing. */
  attachReply(attachment: ReplyAttachment): void;
}
