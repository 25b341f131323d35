// One conversation in the list: opens it, and on demand renames or deletes it.
import { useState, type KeyboardEvent, type MouseEvent } from "react";
import type { ConversationEntry } from "../../shared/demo.ts";
import { IconButton } from "../icon-button.tsx";
import { conversationPath } from "../route.ts";

interface ConversationRowProps {
  conversation: ConversationEntry;
  isCurrent: boolean;
  onOpen(id: string): void;
  onRename(id: string, title: string): void;
  onDelete(conversation: ConversationEntry): void;
}

export function ConversationRow({ conversation, isCurrent, onOpen, onRename, onDelete }: ConversationRowProps) {
  const { id, title, waiting = 0 } = conversation;
  const [isRenaming, setRenaming] = useState(false);
  if (isRenaming) {
    const rename = (wanted: string) => {
      setRenaming(false);
      if (wanted.trim() !== "" && wanted.trim() !== title) onRename(id, wanted.trim());
    };
    return (
      <li className="conversation-row">
        <RenameField title={title} onDone={rename} onCancel={() => setRenaming(false)} />
      </li>
    );
  }
  const open = (event: MouseEvent) => {
    // With a modifier the browser opens a tab of its own.
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(id);
  };
  return (
    <li className="conversation-row" data-current={isCurrent || undefined}>
      <a href={conversationPath(id)} aria-current={isCurrent ? "page" : undefined} title={title} onClick={open}>
        {title}
      </a>
      {waiting > 0 && (
        <span className="waiting-badge" role="img" aria-label={`${waiting} waiting`}>
          {waiting}
        </span>
      )}
      <span className="row-tools">
        <IconButton icon="pencil" size={15} label={`Rename ${title}`} onClick={() => setRenaming(true)} />
        <IconButton icon="trash" size={15} label={`Delete ${title}`} onClick={() => onDelete(conversation)} />
      </span>
    </li>
  );
}

const TITLE_CHARACTERS = 60;

function RenameField(props: { title: string; onDone: (title: string) => void; onCancel: () => void }) {
  const { title, onDone, onCancel } = props;
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Enter" && !event.nativeEvent.isComposing) onDone(event.currentTarget.value);
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onCancel();
  };
  return (
    <input
      className="text-field"
      aria-label="New title"
      defaultValue={title}
      maxLength={TITLE_CHARACTERS}
      // Asked for by the person who pressed "Rename" a moment ago.
      autoFocus
      onFocus={(event) => event.currentTarget.select()}
      onKeyDown={onKeyDown}
      onBlur={(event) => onDone(event.currentTarget.value)}
    />
  );
}
