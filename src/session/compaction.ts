// Compacts a session: asks the user's function, checks its answer against what is stored by then, and adds a summary.
// No transaction is held while the function works. A failing function, counter or storage is reported and changes
// nothing; the phase that clients see is always closed. Automatic compaction does not try again what saved nothing.
import type { ContextBlock } from "./context/block.ts";
import type { CompactContext, CompactFunction, CompactResult, Summarize } from "./compact-function.ts";
import { firstOpenCall } from "./compaction-boundary.ts";
import { planCompaction, type SummaryNote } from "./compaction-plan.ts";
import { CompactionRangeError, sessionErrors } from "./errors.ts";
import { MessageStore } from "./message-store.ts";
import { requireSummary } from "./overlays.ts";
import type { SessionMessage } from "./session-message.ts";
import type { SessionProvider } from "./session-provider.ts";
import type { StatusFrames, StatusSource } from "./status-frames.ts";
import { checkedCount, estimateMessageTokens, estimateStringTokens, type SessionTokenCounter } from "./tokens.ts";

/** After a compaction that saved nothing, the conversation must grow by this much before the next try. */
export const RETRY_GROWTH = 0.1;

/** Called with what went wrong while compacting. */
export type CompactionErrorHandler = (error: unknown) => void;

export interface CompactionSettings {
  compact?: CompactFunction;
  threshold?: number;
  tokenCounter?: SessionTokenCounter;
  onError?: CompactionErrorHandler;
  /** Asks the agent's own model. */
  summarize?: Summarize;
  /** Must not throw. */
  noteFor?: SummaryNote;
}

/** The prompt, as far as its size matters. */
export interface PromptSource {
  /** False: there is no prompt, and nothing has to be asked. */
  readonly isPresent: boolean;
  text(): Promise<string>;
  blocks(): Promise<readonly ContextBlock[]>;
  refresh(): Promise<unknown>;
}

export interface CompactOutcome extends CompactResult {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export interface CompactorInit {
  readonly provider: SessionProvider;
  readonly settings: CompactionSettings;
  readonly prompt: PromptSource;
}

type Ended = CompactOutcome | "nothing" | "failed";

export class Compactor implements StatusSource {
  readonly #init: CompactorInit;
  frames: StatusFrames | undefined;
  #running: { readonly leafId: string | null; readonly ended: Promise<Ended> } | undefined;
  #isWarned = false;
  /** Automatic compaction waits until the estimate is above this. */
  #retryAbove = 0;
  /** A count that is being made. */
  #counting: { readonly key: string; readonly tokens: Promise<number> } | undefined;

  constructor(init: CompactorInit) {
    this.#init = init;
  }

  get threshold(): number | null {
    return this.#init.settings.threshold ?? null;
  }

  /**
   * What the conversation costs a model: by the user's counter, else by the provider's last count and an estimate of
   * what is newer, else by an estimate.
   */
  estimate(): number | Promise<number> {
    const { provider, settings, prompt } = this.#init;
    if (settings.tokenCounter !== undefined) return this.#count(settings.tokenCounter);
    if (!(provider instanceof MessageStore)) return this.#estimateWhole();
    const { tokens } = provider.shownTotals();
    const extra = provider.usage.extraTokens();
    if (extra !== undefined) return Math.max(0, tokens + extra);
    return prompt.isPresent ? prompt.text().then((text) => tokens + estimateStringTokens(text)) : tokens;
  }

  /** Null: it was not shortened. Throws only for a session that cannot be compacted at all. */
  async compact(leafId?: string | null): Promise<CompactOutcome | null> {
    if (this.#init.settings.compact === undefined) throw sessionErrors.NoCompactionFunctionError();
    const { provider } = this.#init;
    if (provider.addCompaction === undefined || provider.getCompactions === undefined) {
      throw sessionErrors.CompactionUnsupportedError();
    }
    const ended = await this.#once(leafId ?? null);
    return typeof ended === "object" ? ended : null;
  }

  /** Compacts if the conversation is over the threshold. Never throws. */
  async compactIfDue(): Promise<CompactOutcome | null> {
    const { settings } = this.#init;
    const { threshold } = settings;
    if (threshold === undefined || settings.compact === undefined || this.#running !== undefined) return null;
    try {
      const tokens = await this.estimate();
      if (tokens <= threshold) this.#retryAbove = 0;
      if (tokens <= Math.max(threshold, this.#retryAbove)) return null;
      const ended = await this.#once(null);
      if (ended === "nothing") this.#backOff(tokens);
      if (typeof ended !== "object") return null;
      this.#isWarned = false;
      this.#retryAbove = ended.tokensAfter > threshold ? ended.tokensAfter * (1 + RETRY_GROWTH) : 0;
      return ended;
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  /** One at a time. A caller that asks for what is running gets its outcome; one that asks for another branch waits. */
  async #once(leafId: string | null): Promise<Ended> {
    for (let running = this.#running; running !== undefined; running = this.#running) {
      if (running.leafId === leafId) return running.ended;
      await running.ended;
    }
    const ended = this.#run(leafId).finally(() => {
      this.#running = undefined;
    });
    this.#running = { leafId, ended };
    return ended;
  }

  async #run(leafId: string | null): Promise<Ended> {
    const tokensBefore = await this.#safeEstimate();
    this.frames?.compacting(tokensBefore);
    let ended: Ended = "failed";
    try {
      ended = await this.#shorten(leafId, tokensBefore);
    } catch (error) {
      this.#failed(error);
    }
    if (typeof ended === "object") this.frames?.idle(ended.tokensAfter, { tokensBefore });
    else this.frames?.idle(await this.#safeEstimate());
    return ended;
  }

  async #shorten(leafId: string | null, tokensBefore: number): Promise<Ended> {
    const { provider, settings, prompt } = this.#init;
    const watch = watchChanges(provider);
    let plan: CompactResult | null = null;
    try {
      const history = await provider.getHistory(leafId);
      const given = await settings.compact?.(history, this.#context(leafId));
      const stored = (await provider.getCompactions?.()) ?? [];
      plan = given ? planCompaction(history, given, { stored, noteFor: settings.noteFor }) : null;
      if (plan === null) return "nothing";
      requireSummary(plan.summary);
      if (!watch.stillHolds(plan, leafId)) return "nothing";
      await provider.addCompaction?.(plan.summary, plan.fromMessageId, plan.toMessageId);
    } catch (error) {
      // Its ends are not stored any more.
      if (error instanceof CompactionRangeError) return "nothing";
      throw error;
    } finally {
      watch.stop();
    }
    try {
      await prompt.refresh();
    } catch (error) {
      // The conversation is shorter all the same; the prompt is merely older.
      this.#failed(error);
    }
    return { ...plan, tokensBefore, tokensAfter: await this.#safeEstimate() };
  }

  #context(leafId: string | null): CompactContext {
    const { provider, settings } = this.#init;
    const shared = settings.summarize && { summarize: settings.summarize };
    if (settings.tokenCounter !== undefined) return { ...shared, tokenCounter: settings.tokenCounter };
    // A report is about the active path.
    if (leafId !== null || !(provider instanceof MessageStore)) return { ...shared };
    const extra = provider.usage.extraTokens();
    if (extra === undefined) return { ...shared };
    // The trigger's number: a tail chosen by another one could leave nothing to summarize, at every append.
    return { ...shared, tokenEstimate: Math.max(0, provider.shownTotals().tokens + extra) };
  }

  #count(tokenCounter: SessionTokenCounter): Promise<number> {
    const { provider, prompt } = this.#init;
    const count = async () => {
      const contextBlocks = prompt.isPresent ? await prompt.blocks() : [];
      const systemPrompt = prompt.isPresent ? await prompt.text() : "";
      return checkedCount(await tokenCounter({ messages: await provider.getHistory(), systemPrompt, contextBlocks }));
    };
    if (!(provider instanceof MessageStore)) return count();
    // The frame after a write and the look at the threshold ask at the same time about the same conversation.
    const key = JSON.stringify([provider.leafId, provider.shownTotals()]);
    if (this.#counting?.key === key) return this.#counting.tokens;
    const tokens = count().finally(() => {
      if (this.#counting?.tokens === tokens) this.#counting = undefined;
    });
    this.#counting = { key, tokens };
    return tokens;
  }

  async #estimateWhole(): Promise<number> {
    const { provider, prompt } = this.#init;
    const tokens = estimateMessageTokens(await provider.getHistory());
    return prompt.isPresent ? tokens + estimateStringTokens(await prompt.text()) : tokens;
  }

  /** For frames to clients: a number that cannot be had must not keep a phase open. */
  async #safeEstimate(): Promise<number> {
    try {
      return await this.estimate();
    } catch (error) {
      this.#failed(error);
      return 0;
    }
  }

  #backOff(tokens: number): void {
    this.#retryAbove = tokens * (1 + RETRY_GROWTH);
    if (this.#isWarned) return;
    this.#isWarned = true;
    console.warn(`Compaction saved nothing at ${tokens} tokens; it is tried again when the conversation has grown.`);
  }

  #failed(error: unknown): void {
    this.frames?.failed(error);
    const { onError } = this.#init.settings;
    if (onError === undefined) console.warn("The session could not be compacted:", error);
    else {
      try {
        onError(error);
      } catch (thrown) {
        console.warn("The handler of onCompactionError failed:", thrown);
      }
    }
  }
}

interface ChangeWatch {
  /** Whether what the function saw is still so, as far as the plan covers it. */
  stillHolds(plan: CompactResult, leafId: string | null): boolean;
  stop(): void;
}

/** Remembers what changed while the function worked. A custom provider checks for itself. */
function watchChanges(provider: SessionProvider): ChangeWatch {
  if (!(provider instanceof MessageStore)) return { stillHolds: () => true, stop: () => undefined };
  const touched = new Set<string>();
  let isMoved = false;
  const stop = provider.scope.changes.subscribe((change) => {
    if (change.kind === "updated" || change.kind === "shortened") touched.add(change.id);
    else if (change.kind === "restructured" || change.kind === "cleared") isMoved = true;
  });
  return {
    stop,
    stillHolds({ fromMessageId, toMessageId }, leafId) {
      if (isMoved) return false;
      const { rows } = provider;
      const [from, to] = [rows.header(fromMessageId), rows.header(toMessageId)];
      if (from === undefined || to === undefined) return false;
      if (leafId === null && !provider.locate(to).isOnPath) return false;
      const changed = [...rows.headers([...touched]).values()].filter(
        ({ sequence }) => from.sequence <= sequence && sequence <= to.sequence
      );
      const messages = changed.flatMap(({ id }): SessionMessage[] => {
        const message = provider.getShown(id);
        return message === null ? [] : [message];
      });
      return firstOpenCall(messages) === messages.length;
    }
  };
}
