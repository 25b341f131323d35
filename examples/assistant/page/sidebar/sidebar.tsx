// The left column: all conversations and the board. On a phone it is a drawer.
import { ConversationList, Icon, IconButton } from "everthink/react";
import type { DirectoryState } from "../../shared/demo.ts";
import { conversationPath } from "../route.ts";
import { Board } from "./board.tsx";
import { WaitingQuestions } from "./waiting-questions.tsx";

interface SidebarProps {
  directory: DirectoryState | undefined;
  currentId: string | undefined;
  isOpen: boolean;
  onHide(): void;
  onNew(): void;
  onOpen(id: string): void;
  onRename(id: string, title: string): void;
  onDelete(id: string): void;
}

export function Sidebar(props: SidebarProps) {
  const { directory, currentId, isOpen, onHide, onNew, onOpen, onRename, onDelete } = props;
  return (
    <>
      <div className="backdrop" data-open={isOpen || undefined} onClick={onHide} />
      <aside className="sidebar" data-open={isOpen || undefined} aria-label="Sidebar">
        <div className="sidebar-head">
          <img src="/icon.svg" alt="" width="26" height="26" />
          <span className="wordmark">everthink</span>
          <IconButton icon="close" label="Hide conversations" className="phone-only" onClick={onHide} />
        </div>
        <button type="button" className="new-button" onClick={onNew}>
          <Icon name="plus" size={16} />
          New conversation
        </button>
        <WaitingQuestions conversations={directory?.conversations ?? []} onOpen={onOpen} />
        <nav aria-label="Conversations">
          {directory === undefined ? (
            <Placeholder />
          ) : (
            <ConversationList
              conversations={directory.conversations}
              currentId={currentId}
              hrefOf={conversationPath}
              onOpen={onOpen}
              onRename={onRename}
              onDelete={onDelete}
            />
          )}
        </nav>
        <Board notes={directory?.board ?? []} />
      </aside>
    </>
  );
}

/** As long as the directory has not answered. */
function Placeholder() {
  return (
    <div className="placeholder" role="img" aria-label="Loading conversations">
      {[72, 54, 63].map((width) => (
        <span key={width} style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
