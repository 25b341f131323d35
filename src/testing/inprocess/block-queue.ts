// The order of blockConcurrencyWhile callbacks of one activation. None runs inside its caller's own turn. One asked for
// while another is due but not begun waits for it to end; one asked for while another runs is nested and starts at once.

export class BlockQueue {
  readonly #inNextTurn: (run: () => void) => void;
  #running = 0;
  #isDue = false;
  #siblings: (() => void)[] = [];

  constructor(inNextTurn: (run: () => void) => void) {
    this.#inNextTurn = inNextTurn;
  }

  add(start: () => void): void {
    if (this.#running === 0 && this.#isDue) this.#siblings.push(start);
    else this.#begin(start);
  }

  finished(): void {
    this.#running--;
    if (this.#running > 0) return;
    const next = this.#siblings.shift();
    if (next !== undefined) this.#begin(next);
  }

  #begin(start: () => void): void {
    this.#isDue = true;
    this.#inNextTurn(() => {
      this.#isDue = false;
      this.#running++;
      start();
    });
  }
}
