// The blocks of one session, in the order they were declared and added. A block whose text cannot be read costs its
// text, not the turn: what is rendered says so, and is not kept.
import { errorMessage } from "../../util/errors.ts";
import { blockOf, checkConfig, MAX_BLOCKS, type ContextBlock, type ContextConfig } from "./block.ts";
import { blockErrors } from "./errors.ts";
import { HeldBlock } from "./held-block.ts";
import { kindOf, tagOf, type AnyContextProvider } from "./provider.ts";
import { renderBlock, type PromptBlock } from "./render.ts";

/** Blocks as they stand in a prompt. */
export interface RenderedBlocks {
  readonly blocks: readonly PromptBlock[];
  /** False when the text of some block could not be read. */
  readonly isComplete: boolean;
}

const UNREADABLE = "(This section could not be read just now.)";

export class BlockSet {
  readonly #sessionId: string;
  readonly #defaultProvider: (() => AnyContextProvider) | undefined;
  readonly #held = new Map<string, HeldBlock>();

  /** `defaultProvider`: for a block that names none. */
  constructor(sessionId: string, defaultProvider?: () => AnyContextProvider) {
    this.#sessionId = sessionId;
    this.#defaultProvider = defaultProvider;
  }

  get size(): number {
    return this.#held.size;
  }

  get all(): readonly HeldBlock[] {
    return [...this.#held.values()];
  }

  /** Throws BlockExistsError or InvalidBlockError. */
  add(config: ContextConfig, isDeclared: boolean): HeldBlock {
    checkConfig(config);
    const { label } = config;
    if (this.#held.has(label)) throw blockErrors.BlockExistsError(label);
    if (this.#held.size >= MAX_BLOCKS)
      throw blockErrors.InvalidBlockError(label, `a session has at most ${MAX_BLOCKS} blocks`);
    const complete = { ...config, provider: config.provider ?? this.#defaultProvider?.() };
    const held = new HeldBlock(complete, { sessionId: this.#sessionId, isDeclared });
    this.#held.set(label, held);
    return held;
  }

  remove(label: string): boolean {
    return this.#held.delete(label);
  }

  find(label: string): HeldBlock | undefined {
    return this.#held.get(label);
  }

  /** Every block whose text was read. */
  views(): ContextBlock[] {
    return this.all.flatMap(({ view }) => view ?? []);
  }

  async replace(label: string, content: string): Promise<ContextBlock> {
    const held = this.#held.get(label);
    if (held === undefined) throw blockErrors.ReadonlyBlockError(label);
    return held.replace(content);
  }

  async append(label: string, content: string): Promise<ContextBlock> {
    const held = this.#held.get(label);
    if (held === undefined) throw blockErrors.UnknownBlockError(label);
    return held.append(content);
  }

  fingerprint(): string {
    return fingerprintOf(this.all);
  }

  /** Reads every block that was not read yet. A failure is logged. */
  async load(): Promise<void> {
    await Promise.all(this.all.map((held) => readable(held, () => held.load())));
  }

  /** With `isFresh`, every text is read again first. */
  async render(isFresh: boolean): Promise<RenderedBlocks> {
    const rendered = await Promise.all(
      this.all.map(async (held) => {
        const block = await readable(held, () => held.load(!isFresh));
        const shown = block ?? blockOf(held.config, UNREADABLE);
        return { label: held.label, text: renderBlock(shown) ?? "", isDeclared: held.isDeclared, isRead: !!block };
      })
    );
    return {
      blocks: rendered.flatMap(({ isRead: _isRead, ...block }) => (block.text === "" ? [] : [block])),
      isComplete: rendered.every(({ isRead }) => isRead)
    };
  }
}

async function readable(held: HeldBlock, read: () => Promise<ContextBlock>): Promise<ContextBlock | undefined> {
  try {
    return await read();
  } catch (error) {
    console.warn(`The context block "${held.label}" could not be read: ${errorMessage(error)}`);
    return undefined;
  }
}

/** Goes up when the same blocks are rendered differently. */
const FORMAT = 1;

interface DeclaredBlock {
  readonly config: ContextConfig;
  readonly isDeclared: boolean;
}

/**
 * Which blocks a prompt was made of, as one text: labels, descriptions, limits and kinds, not contents. A stored prompt
 * whose fingerprint differs was rendered by other code and is rendered again. Pure.
 */
export function fingerprintOf(blocks: readonly DeclaredBlock[]): string {
  return JSON.stringify([
    FORMAT,
    ...blocks.map(({ config: { label, description, maxTokens, provider }, isDeclared }) => {
      const kind = kindOf(provider);
      return [label, description ?? null, maxTokens ?? null, tagOf(kind), kind.writable, isDeclared];
    })
  ]);
}
