// Counts what a crash can fall between: writes, and awaits at which the host hands back control. Armed, it kills the
// process at one of them. The counts never restart, so a point is named by how many came before it.

export interface Counts {
  /** Statements that changed rows or the schema, kv puts and deletes, alarm changes. */
  readonly writes: number;
  /** Event deliveries, RPC calls and returns, storage promises, sleeps, blockConcurrencyWhile, test boundaries. */
  readonly awaits: number;
  readonly rowsWritten: number;
  readonly rowsRead: number;
}

export class CrashControl {
  readonly #kill: () => void;
  #counts = { writes: 0, awaits: 0, rowsWritten: 0, rowsRead: 0 };
  #writeAt: number | undefined;
  #awaitAt: number | undefined;

  constructor(kill: () => void) {
    this.#kill = kill;
  }

  get counts(): Counts {
    return { ...this.#counts };
  }

  armWrite(count: number): void {
    this.#writeAt = this.#counts.writes + count;
  }

  armAwait(count: number): void {
    this.#awaitAt = this.#counts.awaits + count;
  }

  disarm(): void {
    this.#writeAt = undefined;
    this.#awaitAt = undefined;
  }

  read(rows: number): void {
    this.#counts.rowsRead += rows;
  }

  wrote(rows: number): void {
    this.#counts.writes++;
    this.#counts.rowsWritten += rows;
    if (this.#counts.writes === this.#writeAt) this.#kill();
  }

  awaited(): void {
    this.#counts.awaits++;
    if (this.#counts.awaits === this.#awaitAt) this.#kill();
  }
}
