// Warnings that would come up again in every turn.

/** Different warnings logged in one activation. Names can come from clients; above the limit nothing more is logged. */
const WARNING_LIMIT = 200;

/** Warnings about names that come up again in every turn: each is logged once per activation. */
export class WarnOnce {
  readonly #known = new Set<string>();
  readonly #log: (message: string) => void;

  constructor(log: (message: string) => void = (message) => console.warn(message)) {
    this.#log = log;
  }

  warn(message: string): void {
    if (this.#known.has(message) || this.#known.size >= WARNING_LIMIT) return;
    this.#known.add(message);
    this.#log(message);
  }
}
