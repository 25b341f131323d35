// Ids and random numbers from a seed: the same test run mints the same ids, also across restarts within the run.
import type { Ids } from "../../host/ports.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const ID_LENGTH = 21;

export class SeededIds implements Ids {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): string {
    let id = "";
    for (let index = 0; index < ID_LENGTH; index++) id += ALPHABET[Math.floor(this.random() * ALPHABET.length)];
    return id;
  }

  hex(digits: number): string {
    let text = "";
    while (text.length < digits) text += Math.floor(this.random() * 16).toString(16);
    return text;
  }

  /** Mulberry32: 32 bits of state, full period, good enough to spread test data. */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }
}
