// The conversations by day. Arrow keys go from one to the next, Home and End to the first and the last.
import { useRef, useState, type KeyboardEvent } from "react";
import { ConversationRow } from "./conversation-row.tsx";
import { dayGroups, type ConversationEntry } from "./day-groups.ts";
import { DeleteDialog } from "./delete-dialog.tsx";

export interface ConversationListProps {
  readonly conversations: readonly ConversationEntry[];
  readonly currentId: string | undefined;
  /** Where a conversation is found: its link, which a browser can open in a tab of its own. */
  hrefOf(id: string): string;
  onOpen(id: string): void;
  /** Without it titles stay as they are. */
  readonly onRename?: (id: string, title: string) => void;
  /** Without it nothing can be deleted. A person is asked first. */
  readonly onDelete?: (id: string) => void;
}

/**
 * The conversations, newest first, by day.
 *
 * @example
 * <ConversationList conversations={list} currentId={id} hrefOf={(id) => `/c/${id}`} onOpen={open} />
 */
export function ConversationList(props: ConversationListProps) {
  const { conversations, currentId, hrefOf, onOpen, onRename, onDelete } = props;
  const list = useRef<HTMLDivElement>(null);
  const [doomed, setDoomed] = useState<ConversationEntry>();
  const onKeyDown = (event: KeyboardEvent) => {
    const links = [...(list.current?.querySelectorAll("a") ?? [])];
    const place = links.findIndex((link) => link === document.activeElement);
    const target = place < 0 ? undefined : targetOf(event.key, place, links.length);
    if (target === undefined) return;
    event.preventDefault();
    links[target]?.focus();
  };
  return (
    <div className="think-part think-conversation-list" ref={list} onKeyDown={onKeyDown}>
      {dayGroups(conversations, Date.now()).map((group) => (
        <section key={group.label} aria-label={group.label}>
          <h3>{group.label}</h3>
          <ul>
            {group.conversations.map((conversation) => (
              <ConversationRow
                key={conversation.id}
                conversation={conversation}
                href={hrefOf(conversation.id)}
                isCurrent={conversation.id === currentId}
                onOpen={onOpen}
                onRename={onRename}
                onDelete={onDelete && setDoomed}
              />
            ))}
          </ul>
        </section>
      ))}
      {doomed !== undefined && (
        <DeleteDialog
          title={doomed.title}
          onKeep={() => setDoomed(undefined)}
          onDelete={() => {
            setDoomed(undefined);
            onDelete?.(doomed.id);
          }}
        />
      )}
    </div>
  );
}

function targetOf(key: string, place: number, count: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return Math.min(count - 1, place + 1);
    case "ArrowUp":
      return Math.max(0, place - 1);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}
