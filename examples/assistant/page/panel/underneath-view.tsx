// "Underneath": what the agent does while it answers.
import { BackgroundSection } from "./background-section.tsx";
import { JournalSection } from "./journal-section.tsx";
import { hasSeenTurn } from "./panel-notes.ts";
import { TimelineSection } from "./timeline-section.tsx";
import { tokensText } from "./tokens-text.ts";
import type { PanelViewProps } from "./views.ts";

export function UnderneathView({ chat }: PanelViewProps) {
  const { status, connection, notes, journal, showsUsage, chooseUsage } = chat;
  const isReopened = journal.records > 0 && !hasSeenTurn(notes);
  return (
    <div className="underneath">
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
      <label className="panel-choice">
        <input type="checkbox" checked={showsUsage} onChange={(event) => chooseUsage(event.target.checked)} />
        Show what each answer took
      </label>
      {import.meta.env.DEV && (
        <p className="panel-choice">
          <a href="/__think/studio" target="_blank" rel="noreferrer">
            Look inside with Studio
          </a>
        </p>
      )}
      <BackgroundSection background={chat.background} />
      <JournalSection journal={journal} />
      <TimelineSection notes={notes.notes} />
    </div>
  );
}
