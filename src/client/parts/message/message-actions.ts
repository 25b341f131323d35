// What can be done with the messages of a conversation, as one value: the same object while the conversation is the
// same, so that messages that did not change are not rendered again.
import type { UIMessage } from "ai";

export interface MessageActions {
  regenerate(messageId: string): void;
  edit(messageId: string, parts: UIMessage["parts"]): void;
  selectVersion(messageId: string): void;
}
