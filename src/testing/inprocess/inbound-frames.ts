// Frames on their way from clients to objects: in order, unless a test asks for a seeded shuffle. A socket's end never
// overtakes its own messages, because no network does that.
import type { SocketConnection, InboundFrame } from "./connection.ts";
import type { Engine } from "./engine.ts";
import { SeededIds } from "./seeded-ids.ts";

export class InboundFrames {
  readonly #engine: Engine;
  #frames: { connection: SocketConnection; frame: InboundFrame }[] = [];
  #shuffle: SeededIds | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  reorder(seed: number | undefined): void {
    this.#shuffle = seed === undefined ? undefined : new SeededIds(seed);
  }

  push(connection: SocketConnection, frame: InboundFrame): void {
    const { process, turns } = this.#engine;
    if (!process.alive) return;
    this.#frames.push({ connection, frame });
    turns.push(process, () => {
      const next = this.#take();
      next?.connection.receive(next.frame);
    });
  }

  clear(): void {
    this.#frames = [];
  }

  #take(): { connection: SocketConnection; frame: InboundFrame } | undefined {
    if (this.#shuffle === undefined) return this.#frames.shift();
    const movable = this.#frames.filter(({ connection, frame }, index) => {
      if (frame.kind === "message") return true;
      return !this.#frames.some((other, at) => at < index && other.connection === connection);
    });
    const chosen = movable[Math.floor(this.#shuffle.random() * movable.length)];
    if (chosen !== undefined) this.#frames.splice(this.#frames.indexOf(chosen), 1);
    return chosen;
  }
}
