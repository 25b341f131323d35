// Warnings about names that come up again in every turn: each is told once per activation. Names can come from clients,
// so what is remembered is bounded; above the limit nothing more is told.

/** Different warnings told in one activation. */
export const WARNING_LIMIT = 200;

export class WarnOnce {
  readonly #told = new Set<string>();
  readonly #tell: (message: string) => void;

  constructor(tell: (message: string) => void = (message) => console.warn(message)) {
    this.#tell = tell;
  }

  warn(message: string): void {
    if (this.#told.has(message) || this.#told.size >= WARNING_LIMIT) return;
    this.#told.add(message);
    this.#tell(message);
  }
}
