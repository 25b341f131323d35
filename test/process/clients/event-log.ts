// Things that happened, in order, and a way to wait for one of them: whether it happened already or comes later, until
// a deadline that names what was seen instead.

const DEFAULT_DEADLINE_MS = 20_000;

export class EventLog<Event> {
  readonly events: Event[] = [];
  readonly #deadlineMs: number;
  readonly #waiters = new Set<() => void>();

  constructor(deadlineMs = DEFAULT_DEADLINE_MS) {
    this.#deadlineMs = deadlineMs;
  }

  readonly add = (event: Event): void => {
    this.events.push(event);
    for (const look of [...this.#waiters]) look();
  };

  /** The first event that fits, from the given index on. */
  find(fits: (event: Event) => boolean, from = 0): Promise<Event> {
    const { promise, resolve, reject } = Promise.withResolvers<Event>();
    const look = () => {
      const index = this.events.findIndex((event, at) => at >= from && fits(event));
      if (index >= 0) resolve(this.events[index] as Event);
    };
    const deadline = setTimeout(() => {
      reject(
        new Error(`Not seen within ${this.#deadlineMs} ms: ${String(fits)}\nSeen: ${describe(this.events.slice(from))}`)
      );
    }, this.#deadlineMs);
    this.#waiters.add(look);
    look();
    return promise.finally(() => {
      clearTimeout(deadline);
      this.#waiters.delete(look);
    });
  }
}

function describe(events: unknown[]): string {
  return events.length === 0 ? "nothing" : events.map((event) => JSON.stringify(event)).join("\n      ");
}
