// The chunks of one run in memory, for the parent that follows it: from where it began to read up to what was streamed
// last. What is not here is in the journal.

/** One UI message chunk of the AI SDK as JSON. */
export interface AgentToolChunk {
  readonly sequence: number;
  readonly body: string;
  /** Of what came before, only this message stays: the rest was taken back. As JSON. */
  readonly restarts?: string;
}

/** Chunks kept in memory for a parent that follows; above it they are read from the journal. */
const BUFFER_LIMIT_CHARS = 4 * 1024 * 1024;

/** The chunks of one run from a place on, for the parent that reads them. */
export class ChunkFeed {
  /** When it last said something. */
  activeAt: number;
  #from: number;
  #readTo: number;
  #chunks: AgentToolChunk[] = [];
  #chars = 0;
  #restarts: string | undefined;
  #changed = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #firstChunk: number;

  /** Everything after `from` will be here. `firstChunk`: the number in the run that the turn's first chunk has. */
  constructor(from: number, now: number, firstChunk = 0) {
    this.#firstChunk = firstChunk;
    this.#from = from;
    this.#readTo = from;
    this.activeAt = now;
  }

  covers(after: number): boolean {
    return after >= this.#from;
  }

  /** Resolves with the next chunk, or the end. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  isReadTo(after: number): boolean {
    return (this.#chunks.at(-1)?.sequence ?? after) <= after;
  }

  /** Up to, not including, a number. */
  after(after: number, end = Infinity): readonly AgentToolChunk[] {
    this.#readTo = Math.max(this.#readTo, after);
    return this.#chunks.filter(({ sequence }) => sequence > after && sequence < end);
  }

  push({ seq, body }: { readonly seq: number; readonly body: string }, now: number): void {
    const restarts = this.#restarts;
    this.#restarts = undefined;
    this.add({ sequence: this.#firstChunk + seq, body, ...(restarts !== undefined && { restarts }) });
    this.notify(now);
  }

  /** Of what was streamed only this message stays: the next chunk says so. */
  takenBack(kept: string): void {
    this.#restarts = kept;
  }

  /** The run is alive, and says nothing here. */
  touch(now: number): void {
    this.activeAt = now;
  }

  add(chunk: AgentToolChunk): void {
    this.#chunks.push(chunk);
    this.#chars += chunk.body.length;
    if (this.#chars <= BUFFER_LIMIT_CHARS) return;
    // What was read goes first. A reader that comes back to the rest is given it from the journal.
    const unread = this.after(this.#readTo);
    const kept = unread.reduce((sum, { body }) => sum + body.length, 0) <= BUFFER_LIMIT_CHARS / 2 ? unread : [];
    this.#from = kept.length > 0 ? this.#readTo : chunk.sequence;
    this.#chunks = [...kept];
    this.#chars = kept.reduce((sum, { body }) => sum + body.length, 0);
  }

  /** Another feed takes its place: a reader that waits here asks again. */
  release(): void {
    this.#changed.resolve();
    this.#ended.resolve();
  }

  /** Resolves when the run is over. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  end(now: number): void {
    this.notify(now);
    this.#ended.resolve();
  }

  notify(now: number): void {
    this.activeAt = now;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
