// The frames of steering. Client to server: one frame becomes one command, or is not ours. Server to client: receipts for
// every client, results for the sender. Older clients do not know these frames and ignore them.
import type { UIMessage } from "ai";
import type { Receipt } from "../../turn/receipts.ts";
import type { ThinkError } from "../../util/errors.ts";
import { isUsableId } from "../../util/ids.ts";
import { isObject } from "../../util/json.ts";
import { readRequestBody } from "../../wire/commands.ts";

export type SteerCommand =
  | {
      readonly do: "steer" | "follow-up";
      readonly id: string;
      readonly message: UIMessage;
      readonly body: Record<string, unknown> | undefined;
    }
  | { readonly do: "edit"; readonly id: string; readonly message: UIMessage }
  | { readonly do: "withdraw"; readonly id: string }
  | { readonly do: "stop-after-step"; readonly id: string | undefined };

/** Of what a client calls its command. */
const MAX_KEY_CHARS = 256;

type Fields = Record<string, unknown>;
type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

/** A command of a client, over its socket or over HTTP. */
export function readCommand({ do: what, id, message, body }: Fields): Read<SteerCommand> {
  switch (what) {
    case "steer":
    case "follow-up": {
      const read = readMessage(message);
      if (!read.ok) return read;
      if (!isUsableId(id)) return { ok: false, error: "its id cannot be used" };
      return { ok: true, value: { do: what, id, message: read.value, body: isObject(body) ? body : undefined } };
    }
    case "edit": {
      const read = readMessage(message);
      if (!read.ok) return read;
      return isUsableId(id)
        ? { ok: true, value: { do: what, id, message: read.value } }
        : { ok: false, error: "its id cannot be used" };
    }
    case "withdraw":
      return isUsableId(id) ? { ok: true, value: { do: what, id } } : { ok: false, error: "its id cannot be used" };
    case "stop-after-step":
      return { ok: true, value: { do: what, id: isUsableId(id) ? id : undefined } };
    default:
      return { ok: false, error: "what is to be done is not known" };
  }
}

function readMessage(message: unknown): Read<UIMessage> {
  const read = readRequestBody({ messages: [message] });
  const [first] = read.ok ? read.value.messages : [];
  if (!first) return { ok: false, error: "its message cannot be read" };
  return { ok: true, value: first };
}

export function receiptFrame(receipt: Receipt): object {
  return { type: "cf_agent_chat_receipt", receipt };
}

/** Everything that waits, for a client that connects. */
export function waitingFrame(receipts: readonly Receipt[]): string {
  return JSON.stringify({ type: "cf_agent_chat_waiting", receipts });
}

export function resultFrame(
  key: unknown,
  { result, error }: { readonly result?: Receipt | boolean; readonly error?: ThinkError }
): string {
  const failed = error && { code: error.code, message: error.message };
  // What the sender calls the command comes back with the answer.
  return JSON.stringify({ type: "cf_agent_chat_steering_result", key: keyOf(key), result, failed });
}

function keyOf(key: unknown): string | undefined {
  return typeof key === "string" ? key.slice(0, MAX_KEY_CHARS) : undefined;
}
