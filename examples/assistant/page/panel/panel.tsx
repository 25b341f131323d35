// "Underneath": what the agent does while it answers. A column beside the conversation, or a sheet where there is no
// room for one.
import type { ConnectionState, Status } from "everthink/client";
import { countText } from "../amounts.ts";
import { JournalSection } from "./journal-section.tsx";
import type { NoteList, Tokens } from "./panel-notes.ts";
import { TimelineSection } from "./timeline-section.tsx";
import type { JournalView } from "./use-journal.ts";

interface PanelProps {
  status: Status;
  connection: ConnectionState;
  notes: NoteList;
  journal: JournalView;
}

export function Panel({ status, connection, notes, journal }: PanelProps) {
  return (
    <aside className="panel" aria-label="Underneath">
      <h2>Underneath</h2>
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
          <dd>{tokensText(notes.lastTurn)}</dd>
        </div>
        <div>
          <dt>Since opened</dt>
          <dd>{tokensText(notes.total)}</dd>
        </div>
      </dl>
      <JournalSection journal={journal} />
      <TimelineSection notes={notes.notes} />
    </aside>
  );
}

function tokensText({ input, output }: Tokens): string {
  if (input === 0 && output === 0) return "no tokens yet";
  return `${countText(input)} in · ${countText(output)} out`;
}
