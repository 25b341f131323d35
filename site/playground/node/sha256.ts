const bits = (value: number) => Math.floor((value - Math.floor(value)) * 2 ** 32);
const primes = (() => {
  const found: number[] = [];
  for (let next = 2; found.length < 64; next += 1) if (found.every((prime) => next % prime !== 0)) found.push(next);
  return found;
})();
const K = primes.map((prime) => bits(Math.cbrt(prime)));
const START = primes.slice(0, 8).map((prime) => bits(Math.sqrt(prime)));
const turn = (word: number, by: number) => (word >>> by) | (word << (32 - by));

function sha256(message: Uint8Array): Uint8Array {
  const length = Math.ceil((message.length + 9) / 64) * 64;
  const padded = new Uint8Array(length);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(length - 8, Math.floor((message.length * 8) / 2 ** 32));
  view.setUint32(length - 4, message.length * 8);
  let state = START;
  for (let block = 0; block < length; block += 64) state = compress(state, view, block);
  const digest = new Uint8Array(32);
  state.forEach((word, index) => new DataView(digest.buffer).setUint32(index * 4, word));
  return digest;
}

function compress(state: readonly number[], view: DataView, block: number): number[] {
  const words = Array.from({ length: 16 }, (_, index) => view.getUint32(block + index * 4));
  for (let index = 16; index < 64; index += 1) {
    const [a = 0, b = 0] = [words[index - 15], words[index - 2]];
    const small = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
    const large = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
    words.push(((words[index - 16] ?? 0) + small + (words[index - 7] ?? 0) + large) >>> 0);
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let index = 0; index < 64; index += 1) {
    const high = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const first = (h + high + ((e & f) ^ (~e & g)) + (K[index] ?? 0) + (words[index] ?? 0)) >>> 0;
    const low = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const second = (low + ((a & b) ^ (a & c) ^ (b & c))) >>> 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) >>> 0, c, b, a, (first + second) >>> 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, index) => (word + (state[index] ?? 0)) >>> 0);
}

class Hash {
  readonly #parts: Uint8Array[] = [];

  update(data: string | Uint8Array): this {
    this.#parts.push(typeof data === "string" ? new TextEncoder().encode(data) : data);
    return this;
  }

  digest(encoding: "hex" | "base64" | "base64url"): string {
    const digest = sha256(Uint8Array.from(this.#parts.flatMap((part) => [...part])));
    if (encoding === "hex") return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const base64 = btoa(String.fromCharCode(...digest));
    return encoding === "base64" ? base64 : base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }
}

export const createHash = (_algorithm: "sha256") => new Hash();
