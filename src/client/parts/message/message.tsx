// A message of either side. It is rendered again only when something of it changed.
import { memo, type ReactNode } from "react";
import type { UIMessage } from "ai";
import { AssistantMessage } from "./assistant-message.tsx";
import type { MessageActions } from "./message-actions.ts";
import { UserMessage } from "./user-message.tsx";

export interface MessageProps {
  readonly message: UIMessage;
  /** The ids of all its versions, if it has several. */
  readonly versions?: readonly string[] | undefined;
  /** It is being written. */
  readonly isLive?: boolean;
  /** Asked behind a question that is still being answered. */
  readonly isWaiting?: boolean;
  /** What became of it, if it was given to an answer that was being written. */
  readonly receipt?: string | undefined;
  /** Says below an answer what it took, where its class has `sendUsage`. */
  readonly showUsage?: boolean;
  readonly isLast?: boolean;
  /** Nothing can be edited or answered anew while an answer is being written. */
  readonly isConversationBusy?: boolean;
  /** Without them the message is shown, and nothing else. */
  readonly actions?: MessageActions | undefined;
  /** The line that says what is happening to this answer. */
  readonly children?: ReactNode;
}

/**
 * One message of a conversation, with its tools, pictures and versions. `Conversation` shows all of them.
 *
 * @example
 * <Message message={message} />
 */
export const Message = memo(function Message(props: MessageProps) {
  if (props.message.role === "user") return <UserMessage {...props} />;
  return props.message.role === "assistant" ? <AssistantMessage {...props} /> : null;
});
