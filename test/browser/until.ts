// Waiting for something an outsider can see, with a deadline that says what was seen instead.

const DEADLINE_MS = 15_000;
const LOOK_AGAIN_MS = 20;

export interface UntilOptions<Seen> {
  /** Completes "Waited in vain until …". */
  what: string;
  look: () => Promise<Seen>;
  fits: (seen: Seen) => boolean;
  /** What the error says about the last look. */
  tell: (seen: Seen) => string;
  deadlineMs?: number;
}

export async function until<Seen>({
  what,
  look,
  fits,
  tell,
  deadlineMs = DEADLINE_MS
}: UntilOptions<Seen>): Promise<Seen> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (fits(seen)) return seen;
    if (performance.now() > deadline) {
      throw new Error(`Waited in vain until ${what} (${deadlineMs} ms). Seen: ${tell(seen)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}
