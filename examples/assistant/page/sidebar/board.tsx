// The board everybody sees: notes that were published after a person agreed.
import type { PublishedNote } from "../../shared/demo.ts";
import { dayLabel } from "everthink/react";

export function Board({ notes }: { notes: readonly PublishedNote[] }) {
  return (
    <section className="board" aria-label="Board">
      <h2>Board</h2>
      {notes.length === 0 ? (
        <p className="board-empty">Published notes appear here.</p>
      ) : (
        <ul>
          {notes.map(({ id, text, publishedAt }) => (
            <li key={id}>
              <p>{text}</p>
              <time dateTime={new Date(publishedAt).toISOString()}>{dayLabel(publishedAt, Date.now())}</time>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
