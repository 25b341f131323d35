// Chunks on their way to hooks: gathered for a moment and sent together, one batch after another. Adding one never waits.

/** A batch is sent when it has so many, or so long after its first. */
const BATCH_CHUNKS = 64;
const BATCH_MS = 50;
/** Chunks that wait for a slow hook; further ones are dropped. */
const MAX_WAITING = 5_000;

export interface ChunkQueueInit {
  /** Never throws. */
  readonly send: (chunks: readonly object[]) => Promise<void>;
  readonly background: (work: Promise<unknown>) => void;
}

export class ChunkQueue {
  readonly #init: ChunkQueueInit;
  #waiting: object[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isOverfull = false;

  constructor(init: ChunkQueueInit) {
    this.#init = init;
  }

  add(chunk: object): void {
    if (this.#waiting.length >= MAX_WAITING) {
      if (!this.#isOverfull)
        console.warn("Extensions do not keep up with onChunk: further chunks are not sent to them.");
      this.#isOverfull = true;
      return;
    }
    this.#waiting.push(chunk);
    if (this.#waiting.length === BATCH_CHUNKS) this.#init.background(this.flush());
    else this.#timer ??= setTimeout(() => this.#init.background(this.flush()), BATCH_MS);
  }

  /** Resolves when everything that was added so far is sent. */
  flush(): Promise<unknown> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#last = this.#last.then(async () => {
      while (this.#waiting.length > 0) await this.#init.send(this.#waiting.splice(0, BATCH_CHUNKS));
    });
    return this.#last;
  }
}
