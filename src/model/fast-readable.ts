// A ReadableStream in plain JavaScript, for values that never leave the program. It behaves as the platform's does in
// what the AI SDK uses, and costs a fraction of it in workerd, where each chunk of a native stream crosses into C++ and
// back. It is no drop-in for bodies: a native stream that meets it is given a native stream that reads from it, and a
// plain use as a body fails with a message. Transforms are in framework/build/streams.

type Native<T> = globalThis.ReadableStream<T>;

export interface Source<T> {
  start?(controller: Controller<T>): unknown;
  /** Called when a chunk is wanted, and not again before it has returned. */
  pull?(controller: Controller<T>): unknown;
  cancel?(reason: unknown): unknown;
}

export interface Strategy {
  /** How many chunks may wait. 0: none is asked for before the first read. */
  readonly highWaterMark?: number;
}

export type Read<T> = { readonly done: false; readonly value: T } | { readonly done: true; readonly value: undefined };

/** How a transform in JavaScript is connected: it answers undefined when a native stream must do it. */
export const connect: unique symbol = Symbol("connect");

interface Waiting<T> {
  readonly resolve: (read: Read<T>) => void;
  readonly reject: (error: unknown) => void;
}

const DONE = { done: true, value: undefined } as const;

export class Controller<T> {
  readonly #core: Core<T>;

  constructor(core: Core<T>) {
    this.#core = core;
  }

  get desiredSize(): number | null {
    return this.#core.desiredSize;
  }

  enqueue(value: T): void {
    this.#core.enqueue(value);
  }

  close(): void {
    this.#core.closeWhenRead();
  }

  error(error: unknown): void {
    this.#core.fail(error);
  }
}

/** The state behind a stream, its controller and its reader. */
class Core<T> {
  readonly #source: Source<T>;
  readonly #highWaterMark: number;
  readonly #controller = new Controller<T>(this);
  #queue: T[] = [];
  #waiting: Waiting<T>[] = [];
  #state: "readable" | "closed" | { readonly error: unknown } = "readable";
  #isStarted = false;
  #isPulling = false;
  #pullsAgain = false;
  #isEnding = false;
  #closed: PromiseWithResolvers<undefined> | undefined;
  reader: Reader<T> | undefined;

  constructor(source: Source<T>, strategy: Strategy) {
    this.#source = source;
    this.#highWaterMark = strategy.highWaterMark ?? 1;
    const started = source.start?.(this.#controller);
    Promise.resolve(started).then(
      () => {
        this.#isStarted = true;
        this.#pull();
      },
      (error: unknown) => this.fail(error)
    );
  }

  get desiredSize(): number | null {
    if (typeof this.#state === "object") return null;
    return this.#state === "closed" ? 0 : this.#highWaterMark - this.#queue.length;
  }

  get isOpen(): boolean {
    return this.#state === "readable" && !this.#isEnding;
  }

  get closed(): Promise<undefined> {
    if (this.#closed === undefined) {
      this.#closed = Promise.withResolvers();
      this.#closed.promise.catch(() => undefined);
      if (this.#state === "closed") this.#closed.resolve(undefined);
      else if (typeof this.#state === "object") this.#closed.reject(this.#state.error);
    }
    return this.#closed.promise;
  }

  enqueue(value: T): void {
    if (!this.isOpen) throw new TypeError("The stream takes no more chunks: it is closed.");
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#queue.push(value);
    else waiting.resolve({ done: false, value });
    this.#pull();
  }

  closeWhenRead(): void {
    if (!this.isOpen) throw new TypeError("The stream is closed already.");
    this.#isEnding = true;
    if (this.#queue.length === 0) this.#close();
  }

  fail(error: unknown): void {
    if (this.#state !== "readable") return;
    this.#state = { error };
    this.#queue = [];
    this.#closed?.reject(error);
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  read(): Promise<Read<T>> {
    if (this.#queue.length > 0) {
      // Just seen to be there.
      const value = this.#queue.shift() as T;
      if (this.#isEnding && this.#queue.length === 0) this.#close();
      else this.#pull();
      return Promise.resolve({ done: false, value });
    }
    if (this.#state === "closed") return Promise.resolve(DONE);
    if (this.#state !== "readable") return Promise.reject(this.#state.error);
    const read = new Promise<Read<T>>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#pull();
    return read;
  }

  async cancel(reason: unknown): Promise<undefined> {
    if (this.#state === "closed") return;
    if (typeof this.#state === "object") throw this.#state.error;
    this.#queue = [];
    this.#close();
    await this.#source.cancel?.(reason);
  }

  release(): void {
    this.reader = undefined;
    const error = new TypeError("The reader was released.");
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #close(): void {
    this.#state = "closed";
    this.#closed?.resolve(undefined);
    for (const { resolve } of this.#waiting.splice(0)) resolve(DONE);
  }

  /** Asks for a chunk if one is wanted; while the source is at it, once more afterwards. */
  #pull(): void {
    if (!this.#isStarted || !this.isOpen || this.#source.pull === undefined) return;
    if (this.#waiting.length === 0 && this.#queue.length >= this.#highWaterMark) return;
    if (this.#isPulling) this.#pullsAgain = true;
    else void this.#pullOnce(this.#source);
  }

  async #pullOnce(source: Source<T>): Promise<void> {
    this.#isPulling = true;
    try {
      await source.pull?.(this.#controller);
    } catch (error) {
      return this.fail(error);
    }
    this.#isPulling = false;
    if (!this.#pullsAgain) return;
    this.#pullsAgain = false;
    this.#pull();
  }
}

export class Reader<T> {
  #core: Core<T> | undefined;

  constructor(core: Core<T>) {
    if (core.reader !== undefined) throw new TypeError("The stream is locked to a reader.");
    this.#core = core;
    core.reader = this;
  }

  get closed(): Promise<undefined> {
    return this.#core?.closed ?? released();
  }

  read(): Promise<Read<T>> {
    return this.#core?.read() ?? released();
  }

  cancel(reason?: unknown): Promise<undefined> {
    return this.#core?.cancel(reason) ?? released();
  }

  releaseLock(): void {
    this.#core?.release();
    this.#core = undefined;
  }
}

function released(): Promise<never> {
  return Promise.reject(new TypeError("The reader was released."));
}

export class FastReadableStream<T = unknown> {
  readonly #core: Core<T>;

  constructor(source: Source<T> = {}, strategy: Strategy = {}) {
    this.#core = new Core(source, strategy);
  }

  get locked(): boolean {
    return this.#core.reader !== undefined;
  }

  getReader(): Reader<T> {
    return new Reader(this.#core);
  }

  async cancel(reason?: unknown): Promise<undefined> {
    if (this.locked) throw new TypeError("The stream is locked to a reader.");
    return this.#core.cancel(reason);
  }

  pipeThrough<Out>(transform: TransformPair<T, Out>, options?: StreamPipeOptions): Native<Out> {
    // Options are rare, and the platform knows them all.
    if (options === undefined && isConnectable<T, Out>(transform)) {
      const connected = transform[connect](() => this.getReader());
      if (connected !== undefined) return connected;
    }
    return toNative(this).pipeThrough(transform, options);
  }

  pipeTo(destination: WritableStream<T>, options?: StreamPipeOptions): Promise<void> {
    return toNative(this).pipeTo(destination, options);
  }

  /** Both get every chunk; what one has not read yet is kept for it. */
  tee(): [FastReadableStream<T>, FastReadableStream<T>] {
    const tee = new Tee(this.getReader());
    return [tee.branch(), tee.branch()];
  }

  async *values(options: { preventCancel?: boolean } = {}): AsyncGenerator<T, void, undefined> {
    const reader = this.getReader();
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
    } finally {
      if (options.preventCancel !== true) await reader.cancel();
      reader.releaseLock();
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    return this.values();
  }

  /** Without this, `new Response(stream)` would send the words "[object Object]". */
  [Symbol.toPrimitive](): never {
    throw new TypeError("This stream is no body. Pipe it through a TextEncoderStream first.");
  }
}

type TransformPair<In, Out> = { readonly writable: WritableStream<In>; readonly readable: Native<Out> };

interface Connectable<In, Out> {
  [connect](open: () => Reader<In>): Native<Out> | undefined;
}

function isConnectable<In, Out>(transform: object): transform is Connectable<In, Out> {
  return connect in transform;
}

/** The platform's stream over one of ours, which it locks. */
export function toNative<T>(stream: FastReadableStream<T>): Native<T> {
  const reader = stream.getReader();
  return new globalThis.ReadableStream<T>(
    {
      async pull(controller) {
        const read = await reader.read();
        if (read.done) controller.close();
        else controller.enqueue(read.value);
      },
      cancel: (reason) => reader.cancel(reason)
    },
    { highWaterMark: 0 }
  );
}

class Tee<T> {
  readonly #reader: Reader<T>;
  readonly #branches = new Set<Controller<T>>();
  readonly #reasons: unknown[] = [];
  #reading: Promise<void> | undefined;

  constructor(reader: Reader<T>) {
    this.#reader = reader;
  }

  branch(): FastReadableStream<T> {
    let own: Controller<T> | undefined;
    return new FastReadableStream<T>({
      start: (controller) => {
        own = controller;
        this.#branches.add(controller);
      },
      pull: () => (this.#reading ??= this.#read()),
      cancel: (reason) => {
        if (own !== undefined) this.#branches.delete(own);
        this.#reasons.push(reason);
        return this.#branches.size === 0 ? this.#reader.cancel(this.#reasons) : undefined;
      }
    });
  }

  async #read(): Promise<void> {
    try {
      const read = await this.#reader.read();
      for (const branch of this.#branches) {
        if (read.done) branch.close();
        else branch.enqueue(read.value);
      }
    } catch (error) {
      for (const branch of this.#branches) branch.error(error);
    } finally {
      this.#reading = undefined;
    }
  }
}
