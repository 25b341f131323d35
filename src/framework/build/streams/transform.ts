// A TransformStream in plain JavaScript. Behind one of our own readable streams it is a function between two queues: a
// chunk is read and transformed when the reader of the result asks for one, not earlier. Anywhere else (behind a
// native stream, or when its two ends are taken) it becomes a native TransformStream with the same transformer.
import { connect, FastReadableStream, type Controller, type Reader } from "../../../model/fast-readable.ts";

type Native<In, Out> = globalThis.TransformStream<In, Out>;
type Transformation<In, Out> = Pick<Transformer<In, Out>, "start" | "transform" | "flush" | "cancel">;

export class FastTransformStream<In = unknown, Out = unknown> {
  readonly #transformer: Transformation<In, Out>;
  readonly #strategies: [QueuingStrategy<In>?, QueuingStrategy<Out>?];
  #native: Native<In, Out> | undefined;
  #connected: Native<In, Out>["readable"] | undefined;

  constructor(transformer: Transformation<In, Out> = {}, ...strategies: [QueuingStrategy<In>?, QueuingStrategy<Out>?]) {
    this.#transformer = transformer;
    this.#strategies = strategies;
  }

  get readable(): Native<In, Out>["readable"] {
    return this.#connected ?? this.#asNative.readable;
  }

  get writable(): Native<In, Out>["writable"] {
    return this.#asNative.writable;
  }

  get #asNative(): Native<In, Out> {
    if (this.#connected) throw new TypeError("The transform is connected to another stream.");
    return (this.#native ??= new globalThis.TransformStream(this.#transformer, ...this.#strategies));
  }

  /** What comes out; undefined when this is a native one already, or has queues of its own to keep. */
  [connect](open: () => Reader<In>): Native<In, Out>["readable"] | undefined {
    if (this.#native || this.#strategies.length > 0) return undefined;
    if (this.#connected) throw new TypeError("The transform is connected to another stream.");
    const pump = new Pump(open(), this.#transformer);
    const stream = new FastReadableStream<Out>(pump, { highWaterMark: 0 });
    // Ours has the methods of the native one that exist for values; what else there is, it refuses in words.
    const readable: object = stream;
    return (this.#connected = readable as Native<In, Out>["readable"]);
  }
}

/** Reads, transforms and hands over. */
class Pump<In, Out> {
  readonly #reader: Reader<In>;
  readonly #transformer: Transformation<In, Out>;
  #out: Output<Out> | undefined;

  constructor(reader: Reader<In>, transformer: Transformation<In, Out>) {
    this.#reader = reader;
    this.#transformer = transformer;
  }

  start(controller: Controller<Out>): unknown {
    this.#out = new Output(controller, (reason) => this.#leave(reason));
    return this.#transformer.start?.(this.#out);
  }

  /** Until something came out: a pull that adds nothing would not be repeated. */
  async pull(): Promise<void> {
    const out = this.#out;
    if (out === undefined) return;
    const before = out.count;
    while (out.count === before && !out.isOver) {
      const read = await this.#reader.read();
      // Cancelled meanwhile, which also ends the source: that is not the end a flush is for.
      if (out.isOver) return;
      if (read.done) {
        await this.#transformer.flush?.(out);
        return out.close();
      }
      await this.#transform(read.value, out);
    }
  }

  async cancel(reason: unknown): Promise<void> {
    if (this.#out) this.#out.isOver = true;
    await this.#transformer.cancel?.(reason);
    await this.#reader.cancel(reason);
  }

  async #transform(value: In, out: Output<Out>): Promise<void> {
    try {
      if (this.#transformer.transform) await this.#transformer.transform(value, out);
      else out.enqueue(unchanged(value));
    } catch (error) {
      this.#leave(error);
      throw error;
    }
  }

  /** It will not be read on. An error of the source in cancelling is dropped. */
  #leave(reason: unknown): void {
    this.#reader.cancel(reason).catch(() => undefined);
  }
}

/** Without a function nothing changes, and the two types are one. */
function unchanged<In, Out>(value: In): Out {
  const same: unknown = value;
  return same as Out;
}

/** What a transformer writes to. */
class Output<Out> {
  readonly #controller: Controller<Out>;
  readonly #leave: (reason: unknown) => void;
  count = 0;
  isOver = false;

  constructor(controller: Controller<Out>, leave: (reason: unknown) => void) {
    this.#controller = controller;
    this.#leave = leave;
  }

  get desiredSize(): number | null {
    return this.#controller.desiredSize;
  }

  enqueue(value: Out): void {
    this.#controller.enqueue(value);
    this.count += 1;
  }

  error(reason: unknown): void {
    this.isOver = true;
    this.#controller.error(reason);
    this.#leave(reason);
  }

  terminate(): void {
    this.close();
    this.#leave(new TypeError("The transform was terminated."));
  }

  /** Once: a transformer may have ended it before the source did. */
  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#controller.close();
  }
}
