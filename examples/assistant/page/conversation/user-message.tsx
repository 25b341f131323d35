// What a person wrote: its pictures, its words, and how to write it anew.
import { memo, useState } from "react";
import type { UIMessage } from "ai";
import { IconButton } from "../icon-button.tsx";
import { Picture } from "../parts/picture.tsx";
import { EditForm } from "./edit-form.tsx";
import type { MessageActions } from "./message-actions.ts";
import { messageText, originOf, picturesOf } from "./message-text.ts";
import { VersionPicker } from "./version-picker.tsx";

interface UserMessageProps {
  message: UIMessage;
  versions: readonly string[] | undefined;
  /** Asked behind a question that is still being answered. */
  isWaiting: boolean;
  isConversationBusy: boolean;
  actions: MessageActions;
}

export const UserMessage = memo(function UserMessage(props: UserMessageProps) {
  const { message, versions, isWaiting, isConversationBusy, actions } = props;
  const [isEditing, setEditing] = useState(false);
  const text = messageText(message);
  const pictures = picturesOf(message);
  const origin = originOf(message);
  const save = (edited: string) => {
    setEditing(false);
    actions.edit(message.id, [...pictures, { type: "text", text: edited }]);
  };
  return (
    <article
      className="message user-message"
      aria-label="You said"
      data-message-id={message.id}
      data-role="user"
      data-waiting={isWaiting || undefined}
    >
      {origin !== undefined && <p className="message-origin">{origin}</p>}
      {pictures.length > 0 && (
        <div className="pictures">
          {pictures.map((part, index) => (
            <Picture key={index} {...part} />
          ))}
        </div>
      )}
      {isEditing ? (
        <EditForm text={text} onSave={save} onCancel={() => setEditing(false)} />
      ) : (
        text !== "" && <div className="bubble">{text}</div>
      )}
      {isWaiting && <p className="waiting-note">Waiting for its turn</p>}
      {!isEditing && !isWaiting && (
        <div className="message-tools">
          <IconButton
            icon="pencil"
            size={16}
            className="on-demand"
            label="Edit message"
            disabled={isConversationBusy}
            onClick={() => setEditing(true)}
          />
          {versions !== undefined && (
            <VersionPicker
              messageId={message.id}
              versions={versions}
              isDisabled={isConversationBusy}
              onSelect={actions.selectVersion}
            />
          )}
        </div>
      )}
    </article>
  );
});
