// Hooks of the class and events of the package, as they fire, newest first.
import { clockText } from "../amounts.ts";
import { isAboutRecovery, type NumberedNote } from "./panel-notes.ts";

export function TimelineSection({ notes }: { notes: readonly NumberedNote[] }) {
  return (
    <section className="panel-section panel-timeline" aria-label="Hooks and events">
      <h3>Hooks and events</h3>
      {notes.length === 0 ? (
        <p className="panel-empty">They appear here as they fire.</p>
      ) : (
        <ol className="panel-list" tabIndex={0} aria-label="Hooks and events, newest first">
          {notes.map(({ number, at, kind, name, detail }) => (
            <li key={number} data-kind={kind} data-recovery={isAboutRecovery(name) || undefined}>
              <span className="tick" aria-hidden="true" />
              <span className="note-name" title={kind}>
                {name}
              </span>
              <time className="note-time">{clockText(at)}</time>
              {detail !== "" && <span className="note-detail">{detail}</span>}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
