// Texts of pages that were fetched a moment ago, in the memory of the object. Nothing of it outlives the process.
import type { Clock } from "../../host/ports.ts";
import type { ReadText } from "./fetch-tool.ts";

export interface CachedPage {
  readonly url: URL;
  readonly page: ReadText;
}

const MAX_PAGES = 20;
const MAX_CHARS = 5_000_000;

export class PageCache {
  readonly #maxAgeMs: number;
  readonly #clock: Pick<Clock, "now">;
  /** By the address that was asked for, the oldest first. */
  readonly #pages = new Map<string, CachedPage & { readonly addedAt: number }>();
  #chars = 0;

  /** `maxAgeMs` 0: nothing is kept. */
  constructor(maxAgeMs: number, clock: Pick<Clock, "now">) {
    this.#maxAgeMs = maxAgeMs;
    this.#clock = clock;
  }

  find(url: string): CachedPage | undefined {
    const found = this.#pages.get(url);
    if (found === undefined || this.#clock.now() - found.addedAt < this.#maxAgeMs) return found;
    this.#remove(url);
    return undefined;
  }

  add(url: string, page: CachedPage): void {
    if (this.#maxAgeMs === 0) return;
    this.#remove(url);
    this.#pages.set(url, { ...page, addedAt: this.#clock.now() });
    this.#chars += page.page.text.length;
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= MAX_PAGES && this.#chars <= MAX_CHARS) return;
      this.#remove(oldest);
    }
  }

  #remove(url: string): void {
    this.#chars -= this.#pages.get(url)?.page.text.length ?? 0;
    this.#pages.delete(url);
  }
}
