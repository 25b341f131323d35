// The newest records as a strip of ticks, like the paper of a barograph: one tick per record, as high as it is large.
import type { JournalEntry } from "everthink";

const TICKS = 96;
const HEIGHT = 36;
const STEP = 3;
const SMALLEST_TICK = 4;
/** A record of this size fills the strip. */
const FULL_BYTES = 65_536;

interface JournalStripProps {
  entries: readonly JournalEntry[];
  /** Positions that stand out. */
  recovery: ReadonlySet<number>;
}

export function JournalStrip({ entries, recovery }: JournalStripProps) {
  const shown = entries.slice(0, TICKS);
  const width = TICKS * STEP;
  return (
    <svg
      className="journal-strip"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      {shown.map(({ position, sizeBytes }, index) => {
        const height = tickHeight(sizeBytes);
        return (
          <rect
            key={position}
            x={width - (index + 1) * STEP}
            y={HEIGHT - height}
            width={1.6}
            height={height}
            data-recovery={recovery.has(position) || undefined}
          />
        );
      })}
    </svg>
  );
}

/** Sizes differ by thousands, so the scale is logarithmic. */
function tickHeight(bytes: number): number {
  const share = Math.log2(1 + bytes) / Math.log2(1 + FULL_BYTES);
  return SMALLEST_TICK + Math.min(1, share) * (HEIGHT - SMALLEST_TICK);
}
