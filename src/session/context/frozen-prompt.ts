// The system prompt of a session, rendered once and then left alone: providers keep the beginning of a request in their
// caches, and every changed byte empties them. It changes when it is refreshed, when the conversation is cleared, and
// when a deploy changed the blocks it is made of.
import { errorMessage } from "../../util/errors.ts";
import type { BlockSet } from "./block-set.ts";
import type { PromptStore } from "./prompt-store.ts";
import type { PromptBlock } from "./render.ts";
import { OneByOne } from "../../util/one-by-one.ts";

export class FrozenPrompt {
  readonly #blocks: BlockSet;
  readonly #keptIn: PromptStore | undefined;
  #snapshot: readonly PromptBlock[] | undefined;
  /** The stored prompt is older than a clear that could not remove it. */
  #isStale = false;
  /** Goes up when everything rendered so far is out of date. */
  #generation = 0;
  readonly #work = new OneByOne();

  /** Without a store, the prompt is frozen for the life of the process. */
  constructor(blocks: BlockSet, store: PromptStore | undefined) {
    this.#blocks = blocks;
    this.#keptIn = store;
  }

  /** The same text until something of the above happens. Calls at the same time share one render. */
  async freeze(): Promise<readonly PromptBlock[]> {
    if (this.#snapshot !== undefined) return this.#snapshot;
    return this.#work.run(async () => {
      if (this.#snapshot !== undefined) return this.#snapshot;
      const generation = this.#generation;
      const stored = await this.#stored();
      if (stored === undefined) return this.#render(this.#isStale);
      if (generation === this.#generation) this.#snapshot = stored;
      return stored;
    });
  }

  /** Reads every block again and renders it. */
  refresh(): Promise<readonly PromptBlock[]> {
    return this.#work.run(() => this.#render(true));
  }

  /** What `freeze` would give, without keeping anything: for estimates. */
  async peek(): Promise<readonly PromptBlock[]> {
    return this.#snapshot ?? (await this.#stored()) ?? (await this.#blocks.render(false)).blocks;
  }

  /** The conversation was cleared. May be called inside its transaction, which may be undone. */
  forget(): void {
    this.#generation += 1;
    this.#snapshot = undefined;
    this.#isStale = true;
    this.#keptIn?.forget();
  }

  async #stored(): Promise<readonly PromptBlock[] | undefined> {
    // A store that could not forget still holds the text from before.
    if (this.#isStale) return undefined;
    try {
      return await this.#keptIn?.read(this.#blocks.fingerprint());
    } catch (error) {
      console.warn(`The stored system prompt could not be read: ${errorMessage(error)}`);
      return undefined;
    }
  }

  async #render(isFresh: boolean): Promise<readonly PromptBlock[]> {
    const generation = this.#generation;
    const fingerprint = this.#blocks.fingerprint();
    const { blocks, isComplete } = await this.#blocks.render(isFresh);
    // Not kept: a text that is missing something, or that was overtaken by a clear. The next freeze tries again.
    if (!isComplete || generation !== this.#generation) return blocks;
    await this.#store(fingerprint, blocks);
    if (generation !== this.#generation) return blocks;
    this.#isStale = false;
    this.#snapshot = blocks;
    return blocks;
  }

  /** A prompt that could not be stored holds until the process ends. */
  async #store(fingerprint: string, blocks: readonly PromptBlock[]): Promise<void> {
    try {
      await this.#keptIn?.write(fingerprint, blocks);
    } catch (error) {
      console.warn(`The system prompt could not be stored: ${errorMessage(error)}`);
    }
  }
}
