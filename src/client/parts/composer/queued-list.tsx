// Messages that wait for a place in the answer, one chip each, with a way to take it back.
import { IconButton } from "../page/icon-button.tsx";

export interface QueuedMessage {
  readonly id: string;
  readonly text: string;
}

interface QueuedListProps {
  queued: readonly QueuedMessage[];
  onRemove: ((id: string) => void) | undefined;
}

export function QueuedList({ queued, onRemove }: QueuedListProps) {
  if (queued.length === 0) return null;
  return (
    <ul className="think-queued" aria-label="Waiting messages">
      {queued.map(({ id, text }) => (
        <li key={id}>
          <span>{text}</span>
          {onRemove !== undefined && (
            <IconButton icon="close" size={12} label={`Take back “${text}”`} onClick={() => onRemove(id)} />
          )}
        </li>
      ))}
    </ul>
  );
}
