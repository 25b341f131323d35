// The journal as it is written. Read in pages from where the last reading ended, only while the panel is open and a turn
// runs, and once more when it is over. Everything is counted; only the newest records are kept.
import { useEffect, useRef, useState } from "react";
import { CallFailedError } from "everthink/client";
import type { JournalEntry, ReadJournalResult } from "everthink";

const POLL_MS = 300;
const PAGE_RECORDS = 200;
/** So many pages at a time; the next reading goes on from there. */
const PAGES_PER_READING = 25;
const KEPT_RECORDS = 300;

export interface JournalView {
  /** Newest first. */
  readonly entries: readonly JournalEntry[];
  readonly records: number;
  readonly bytes: number;
  /** False: this agent does not tell its journal. */
  readonly isAvailable: boolean;
}

interface JournalSource {
  /** The panel is open, and there is a connection. */
  readonly isWatched: boolean;
  readonly isWriting: boolean;
  read(after: number, limit: number): Promise<ReadJournalResult>;
}

const NOTHING: JournalView = { entries: [], records: 0, bytes: 0, isAvailable: true };

export function useJournal({ isWatched, isWriting, read }: JournalSource): JournalView {
  const [view, setView] = useState(NOTHING);
  const cursor = useRef(0);
  const isReading = useRef(false);
  const { isAvailable } = view;
  useEffect(() => {
    if (!isWatched || !isAvailable) return;
    const readOn = async () => {
      if (isReading.current) return;
      isReading.current = true;
      try {
        for (let pages = 0; pages < PAGES_PER_READING; pages += 1) {
          const page = await read(cursor.current, PAGE_RECORDS);
          cursor.current = page.cursor;
          if (page.entries.length > 0) setView((before) => withPage(before, page));
          if (!page.more) break;
        }
      } catch (error) {
        // Lost with its connection: the next reading starts at the same place. Refused by the agent: there is none.
        if (error instanceof CallFailedError) setView((before) => ({ ...before, isAvailable: false }));
      } finally {
        isReading.current = false;
      }
    };
    void readOn();
    if (!isWriting) return;
    const timer = setInterval(() => void readOn(), POLL_MS);
    return () => {
      clearInterval(timer);
    };
  }, [isWatched, isWriting, isAvailable, read]);
  return view;
}

function withPage(view: JournalView, { entries }: ReadJournalResult): JournalView {
  return {
    ...view,
    entries: [...entries.toReversed(), ...view.entries].slice(0, KEPT_RECORDS),
    records: view.records + entries.length,
    bytes: entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, view.bytes)
  };
}
