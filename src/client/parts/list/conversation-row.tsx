// One conversation in the list: opens it, and on demand renames or deletes it.
import { useState, type KeyboardEvent, type MouseEvent } from "react";
import { IconButton } from "../page/icon-button.tsx";
import type { ConversationEntry } from "./day-groups.ts";

interface ConversationRowProps {
  conversation: ConversationEntry;
  href: string;
  isCurrent: boolean;
  onOpen(id: string): void;
  onRename: ((id: string, title: string) => void) | undefined;
  onDelete: ((conversation: ConversationEntry) => void) | undefined;
}

export function ConversationRow(props: ConversationRowProps) {
  const { conversation, href, isCurrent, onOpen, onRename, onDelete } = props;
  const { id, title, waiting = 0 } = conversation;
  const [isRenaming, setRenaming] = useState(false);
  if (isRenaming) {
    const rename = (wanted: string) => {
      setRenaming(false);
      if (wanted.trim() !== "" && wanted.trim() !== title) onRename?.(id, wanted.trim());
    };
    return (
      <li className="think-conversation-row">
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
    <li className="think-conversation-row" data-current={isCurrent || undefined}>
      <a href={href} aria-current={isCurrent ? "page" : undefined} title={title} onClick={open}>
        {title}
      </a>
      {waiting > 0 && (
        <span className="think-waiting-badge" role="img" aria-label={`${waiting} waiting`}>
          {waiting}
        </span>
      )}
      <span className="think-row-tools">
        {onRename !== undefined && (
          <IconButton icon="pencil" size={15} label={`Rename ${title}`} onClick={() => setRenaming(true)} />
        )}
        {onDelete !== undefined && (
          <IconButton icon="trash" size={15} label={`Delete ${title}`} onClick={() => onDelete(conversation)} />
        )}
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
      className="think-text-field"
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
