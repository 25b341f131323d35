// The journal in the panel: how much there is, its shape, and the records by name, newest first.
import { useMemo } from "react";
import { countText, sizeText } from "../amounts.ts";
import { JournalStrip } from "./journal-strip.tsx";
import { recoveryPositions } from "./recovery-records.ts";
import type { JournalView } from "./use-journal.ts";

export function JournalSection({ journal }: { journal: JournalView }) {
  const { entries, records, bytes, isAvailable } = journal;
  const recovery = useMemo(() => recoveryPositions(entries), [entries]);
  return (
    <section className="panel-section panel-journal" aria-label="Journal">
      <h3>
        Journal
        {records > 0 && (
          <span className="panel-total">
            {countText(records)} {records === 1 ? "record" : "records"} · {sizeText(bytes)}
          </span>
        )}
      </h3>
      {records === 0 ? (
        <p className="panel-empty">
          {isAvailable ? "Every step of a turn is written down here." : "This agent does not show its journal."}
        </p>
      ) : (
        <>
          <JournalStrip entries={entries} recovery={recovery} />
          <ol className="panel-list" tabIndex={0} aria-label="Records, newest first">
            {entries.map(({ position, type, sizeBytes }) => (
              <li key={position} data-recovery={recovery.has(position) || undefined}>
                <span className="tick" aria-hidden="true" />
                <span className="record-position">{position}</span>
                <span className="record-type">{type}</span>
                <span className="record-size">{sizeText(sizeBytes)}</span>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}
