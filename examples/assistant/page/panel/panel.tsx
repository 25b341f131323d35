// "Underneath": what the agent does while it answers. A column beside the conversation, or a sheet below it where there
// is no room for one.
import type { KeyboardEvent, ReactNode, RefObject } from "react";
import type { ConnectionState, Status } from "everthink/client";
import { IconButton } from "../icon-button.tsx";
import { JournalSection } from "./journal-section.tsx";
import { hasSeenTurn, type NoteList } from "./panel-notes.ts";
import { TimelineSection } from "./timeline-section.tsx";
import { tokensText } from "./tokens-text.ts";
import type { JournalView } from "./use-journal.ts";
import { hasRoom, HIDE_PANEL } from "./use-panel.ts";

interface PanelProps {
  headingRef: RefObject<HTMLHeadingElement | null>;
  status: Status;
  connection: ConnectionState;
  notes: NoteList;
  journal: JournalView;
  onHide(): void;
  /** Sections of their own, above the journal. */
  children?: ReactNode;
}

export function Panel({ headingRef, status, connection, notes, journal, onHide, children }: PanelProps) {
  const isReopened = journal.records > 0 && !hasSeenTurn(notes);
  const onKeyDown = (event: KeyboardEvent) => {
    // A column stays: there Escape is the answer's.
    if (event.key !== "Escape" || hasRoom()) return;
    event.preventDefault();
    onHide();
  };
  return (
    <aside className="panel" aria-label="Underneath" onKeyDown={onKeyDown}>
      <div className="panel-head">
        <h2 ref={headingRef} tabIndex={-1}>
          Underneath
        </h2>
        <IconButton icon="close" label={HIDE_PANEL} onClick={onHide} />
      </div>
      <dl className="panel-facts">
        <div>
          <dt>Status</dt>
          <dd data-live={status === "running" || status === "recovering" || undefined}>{status}</dd>
        </div>
        <div>
          <dt>Connection</dt>
          <dd data-live={connection === "reconnecting" || undefined}>{connection}</dd>
        </div>
        <div>
          <dt>Last turn</dt>
          <dd>{tokensText(notes.lastTurn, isReopened)}</dd>
        </div>
        <div>
          <dt>Since opened</dt>
          <dd>{tokensText(notes.total, isReopened)}</dd>
        </div>
      </dl>
      {children}
      <JournalSection journal={journal} />
      <TimelineSection notes={notes.notes} />
    </aside>
  );
}
