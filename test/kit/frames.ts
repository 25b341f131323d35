// Frames of the wire as tests send and read them.
import type { UIMessage } from "ai";
import { user } from "./messages.ts";

/** A frame from the server, with the fields of all types that tests read. */
export interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly body?: string;
  readonly done?: boolean;
  readonly error?: unknown;
  readonly outcome?: string;
  readonly code?: string;
  readonly success?: boolean;
  readonly recovering?: boolean;
  readonly toolCallId?: string;
  readonly message?: UIMessage;
  readonly messages?: UIMessage[];
  readonly [key: string]: unknown;
}

export const framesOf = (socket: { readonly frames: readonly unknown[] }): readonly Frame[] =>
  socket.frames as readonly Frame[];

/** The terminal frames of a request. */
export const endFramesOf = (socket: { readonly frames: readonly unknown[] }, id: string): readonly Frame[] =>
  framesOf(socket).filter((frame) => frame.id === id && frame.done === true);

/** The frame with which a client asks: its messages, and what else the body has. */
export function chatRequest(id: string, messages: readonly object[], extra: object = {}): object {
  const body = JSON.stringify({ messages, trigger: "submit-message", ...extra });
  return { type: "cf_agent_use_chat_request", id, init: { method: "POST", body } };
}

interface Sender {
  send(frame: object): void;
}

export function sendChat(socket: Sender, id: string, messages: readonly object[], extra: object = {}): void {
  socket.send(chatRequest(id, messages, extra));
}

/** One question: the request "r1" has the message "u-r1". */
export const ask = (socket: Sender, id: string, extra: object = {}): void =>
  sendChat(socket, id, [user(`u-${id}`)], extra);
