// What a person wrote: its pictures, its words, and how to write it anew.
import { useState } from "react";
import { IconButton } from "../page/icon-button.tsx";
import { EditForm } from "./edit-form.tsx";
import { messageText, originOf, picturesOf } from "./message-text.ts";
import type { MessageProps } from "./message.tsx";
import { Picture } from "./picture.tsx";
import { VersionPicker } from "./version-picker.tsx";

export function UserMessage(props: MessageProps) {
  const { message, isWaiting = false, receipt, actions } = props;
  const [isEditing, setEditing] = useState(false);
  const text = messageText(message);
  const pictures = picturesOf(message);
  const origin = originOf(message);
  const save = (edited: string) => {
    setEditing(false);
    actions?.edit(message.id, [...pictures, { type: "text", text: edited }]);
  };
  return (
    <article
      className="think-part think-message think-user-message"
      aria-label="You said"
      data-message-id={message.id}
      data-role="user"
      data-waiting={isWaiting || undefined}
    >
      {origin !== undefined && <p className="think-message-origin">{origin}</p>}
      {pictures.length > 0 && (
        <div className="think-pictures">
          {pictures.map((part, index) => (
            <Picture key={index} {...part} />
          ))}
        </div>
      )}
      {isEditing ? (
        <EditForm text={text} onSave={save} onCancel={() => setEditing(false)} />
      ) : (
        text !== "" && <div className="think-bubble">{text}</div>
      )}
      {isWaiting && <p className="think-waiting-note">Waiting for its turn</p>}
      {receipt !== undefined && <p className="think-waiting-note">{receipt}</p>}
      {!isEditing && !isWaiting && <QuestionTools {...props} onEdit={() => setEditing(true)} />}
    </article>
  );
}

function QuestionTools(props: MessageProps & { onEdit: () => void }) {
  const { message, versions, isConversationBusy = false, actions, onEdit } = props;
  if (actions === undefined) return null;
  return (
    <div className="think-message-tools">
      <IconButton
        icon="pencil"
        size={16}
        className="think-on-demand"
        label="Edit message"
        disabled={isConversationBusy}
        onClick={onEdit}
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
  );
}
