// How large an answer may become: the text, the reasoning and the tool inputs that a model writes, over all steps and
// attempts of its turn. Results of tools and files are not counted: they have limits of their own. A delta that crosses
// the limit is cut there, so that an answer in one piece is not lost; an input that crosses it is useless and left out.
import type { UIMessageChunk } from "ai";
import { byteLength, cutToBytes } from "../util/bytes.ts";

/** What a class that does not say allows. */
export const DEFAULT_MAX_ANSWER_BYTES = 4_000_000;

export class AnswerSize {
  readonly limitBytes: number;
  #bytes: number;
  #isExceeded = false;
  /** Calls whose input came in pieces: the whole of it, which follows, is the same text once more. */
  readonly #counted = new Set<string>();

  /** A limit that is no positive number is none. */
  constructor(limitBytes: number, usedBytes = 0) {
    this.limitBytes = limitBytes > 0 ? limitBytes : Infinity;
    this.#bytes = usedBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Something did not fit: the answer ends here. */
  get isExceeded(): boolean {
    return this.#isExceeded;
  }

  /** The chunk as far as it fits; undefined when nothing of it does, and for every chunk after that. */
  take(chunk: UIMessageChunk): UIMessageChunk | undefined {
    if (this.#isExceeded) return undefined;
    switch (chunk.type) {
      case "text-delta":
      case "reasoning-delta": {
        const delta = this.#fitting(chunk.delta);
        return delta === chunk.delta ? chunk : delta === "" ? undefined : { ...chunk, delta };
      }
      case "tool-input-delta":
        this.#counted.add(chunk.toolCallId);
        return this.#fits(chunk.inputTextDelta) ? chunk : undefined;
      case "tool-input-available":
      case "tool-input-error":
        if (this.#counted.has(chunk.toolCallId)) return chunk;
        return this.#fits(JSON.stringify(chunk.input) ?? "") ? chunk : undefined;
      default:
        return chunk;
    }
  }

  #fits(text: string): boolean {
    const sizeBytes = byteLength(text);
    this.#isExceeded = this.#bytes + sizeBytes > this.limitBytes;
    if (!this.#isExceeded) this.#bytes += sizeBytes;
    return !this.#isExceeded;
  }

  #fitting(text: string): string {
    if (this.#fits(text)) return text;
    const cut = cutToBytes(text, this.limitBytes - this.#bytes);
    this.#bytes += byteLength(cut);
    return cut;
  }
}
