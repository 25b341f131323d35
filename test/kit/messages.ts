// Messages as tests write them, and what tests read in stored ones.
import type { UIMessage } from "ai";

/** A message of the user with one text part. The words default to the id. */
export const user = (id: string, words = id): UIMessage => message("user", id, words);

/** A message of this role with one text part. */
export function message(role: UIMessage["role"], id: string, words: string): UIMessage {
  return { id, role, parts: [{ type: "text", text: words }] };
}

/** What an agent has stored. A path is `/agents/<agent>/<name>`. */
export async function storedMessages(
  host: { fetch(path: string): Promise<Response> },
  path = "/agents/chat/a"
): Promise<UIMessage[]> {
  return (await host.fetch(`${path}/get-messages`)).json();
}

/** The text parts of a message as one string. */
export const textOf = (message: Pick<UIMessage, "parts"> | undefined): string =>
  message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";

export const textsOf = (messages: readonly UIMessage[]): string[] => messages.map((message) => textOf(message));

/** Every message as "role:text". */
export const linesOf = (messages: readonly UIMessage[]): string[] =>
  messages.map((message) => `${message.role}:${textOf(message)}`);

export interface StoredToolPart {
  readonly type: string;
  readonly toolCallId: string;
  readonly state: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly descriptor?: unknown };
  readonly approvalDescriptor?: unknown;
}

export const toolParts = (messages: readonly UIMessage[]): StoredToolPart[] =>
  messages.flatMap(({ parts }) => parts.filter((part): part is typeof part & StoredToolPart => "toolCallId" in part));
