// Keeps old media out of the history, in the background: values of aged messages move to where they are kept (the
// workspace, or a blob of the message), then the row is rewritten. One row at a time, oldest first, so that a crash
// loses nothing and a rerun does nothing twice. A conversation without large values is never looked through.
import { evict, evictableValues, type EvictionRule } from "./media-eviction.ts";
import type { MessageHeader } from "./message-rows.ts";
import { labelOf } from "./session-host.ts";
import type { MessageStore } from "./message-store.ts";
import { noteCutCalls } from "./row-limit.ts";
import type { SessionMessage } from "./session-message.ts";

export interface EvictionPolicy {
  /** Newest messages that are left alone. Default 8, at least 4. */
  readonly keepRecentMessages?: number;
  /** Characters of a single value. Default 32,768. */
  readonly minPartBytes?: number;
  /** False: the values are dropped instead of kept. Default true. */
  readonly externalizeToWorkspace?: boolean;
  /** Rows looked into before others get their turn. Default 64. */
  readonly maxRowsPerPass?: number;
}

const DEFAULTS = { keepRecentMessages: 8, minPartBytes: 32_768, externalizeToWorkspace: true, maxRowsPerPass: 64 };
const MIN_KEPT_MESSAGES = 4;

/** Writes a value where it can be read again, and says where that is. */
export type Preserve = (bytes: Uint8Array, mediaType: string | undefined, name: string) => string | Promise<string>;

/** Payload of `chat:media:evicted`. */
export interface EvictionSummary {
  readonly messages: number;
  readonly parts: number;
  readonly bytes: number;
  readonly externalizedBytes: number;
}

export interface MediaEvictorInit {
  readonly store: MessageStore;
  readonly options: EvictionPolicy | boolean;
  /** Absent: the whole message is kept as a blob, and `getMessage` still gives it. */
  readonly preserve?: Preserve | undefined;
  /** Outputs the model works with however old they are. */
  readonly keeps?: EvictionRule["keeps"];
  /** Runs work in the background, later than the current event's own. */
  readonly defer: (work: () => Promise<void>) => void;
  /** Once per pass that changed something. */
  readonly onEvicted: (summary: EvictionSummary) => void;
}

export class MediaEvictor {
  readonly #init: MediaEvictorInit;
  readonly #options: typeof DEFAULTS;
  readonly #isOn: boolean;
  /** Everything on the active path up to this row has been looked into, at its present size. */
  #doneThrough = 0;
  /** A value large enough to be evicted, now or later, was written. */
  #hasLarge = false;
  #isRunning = false;
  #isScheduled = false;

  constructor(init: MediaEvictorInit) {
    this.#init = init;
    this.#isOn = init.options !== false;
    this.#options = { ...DEFAULTS, ...(typeof init.options === "object" ? init.options : {}) };
    init.store.scope.changes.subscribe((change) => {
      if (change.kind === "restructured" || change.kind === "cleared") this.#doneThrough = 0;
      if (change.kind !== "appended" && change.kind !== "updated") return;
      if (change.sizeBytes >= this.#options.minPartBytes) {
        this.#hasLarge = true;
        if (change.kind === "updated") this.#doneThrough = 0;
      }
      if (this.#hasLarge) this.#schedule();
    });
  }

  /** Looks through the conversation whatever was written since the start; for one that is too large to show whole. */
  force(): void {
    this.#hasLarge = true;
    this.#doneThrough = 0;
    this.#schedule();
  }

  /** At most one run at a time; passes follow each other until nothing is left. */
  async run(): Promise<void> {
    if (!this.#isOn || this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (await this.#pass()) continue;
    } catch (error) {
      // The row stays as it is; the next append tries again.
      console.warn(`${labelOf(this.#init.store.scope.host)}old media could not be evicted:`, error);
    } finally {
      this.#isRunning = false;
    }
  }

  #schedule(): void {
    if (!this.#isOn || this.#isRunning || this.#isScheduled) return;
    this.#isScheduled = true;
    this.#init.defer(() => {
      this.#isScheduled = false;
      return this.run();
    });
  }

  /** True when rows are left for another pass. */
  async #pass(): Promise<boolean> {
    this.#hasLarge = false;
    const { aged, agedThrough, hasLargeRecent } = this.#candidates();
    if (hasLargeRecent) this.#hasLarge = true;
    const batch = aged.slice(0, Math.max(1, this.#options.maxRowsPerPass));
    const summary = { messages: 0, parts: 0, bytes: 0, externalizedBytes: 0 };
    try {
      for (const header of batch) {
        await this.#evictRow(header, summary);
        this.#doneThrough = header.sequence;
      }
    } catch (error) {
      this.#hasLarge = true;
      throw error;
    } finally {
      if (summary.messages > 0) this.#init.onEvicted(summary);
    }
    if (aged.length > batch.length) return true;
    this.#doneThrough = Math.max(this.#doneThrough, agedThrough);
    return false;
  }

  /** Large rows that have not been looked into, oldest first. Walks only what is new since the last pass. */
  #candidates(): { aged: MessageHeader[]; agedThrough: number; hasLargeRecent: boolean } {
    const keep = Math.max(MIN_KEPT_MESSAGES, this.#options.keepRecentMessages);
    const { store } = this.#init;
    const aged: MessageHeader[] = [];
    let agedThrough = 0;
    let hasLargeRecent = false;
    let position = 0;
    for (const header of store.leafId === null ? [] : store.rows.path(store.leafId)) {
      if (header.sequence <= this.#doneThrough) break;
      const isLarge = header.sizeBytes >= this.#options.minPartBytes;
      const isAged = position++ >= keep;
      if (isAged) agedThrough = Math.max(agedThrough, header.sequence);
      if (isLarge && isAged) aged.push(header);
      else if (isLarge) hasLargeRecent = true;
    }
    return { aged: aged.reverse(), agedThrough, hasLargeRecent };
  }

  async #evictRow(header: MessageHeader, summary: { -readonly [Key in keyof EvictionSummary]: number }): Promise<void> {
    const { store, preserve, keeps } = this.#init;
    const { minPartBytes, externalizeToWorkspace } = this.#options;
    const rule = { minChars: minPartBytes, keeps };
    const message = store.getShown(header.id);
    const values = message === null ? [] : evictableValues(message, rule);
    if (message === null || values.length === 0) return;
    const { leafId } = store;
    const paths: (string | undefined)[] = [];
    for (const value of values) {
      const isKept = externalizeToWorkspace && preserve !== undefined;
      paths.push(isKept ? await preserve(value.bytes(), value.mediaType, value.name) : undefined);
    }
    // Other code may have written while the values were kept; then the row is for a later pass.
    if (!isSame(store.getShown(header.id), message)) return;
    const keepWhole = externalizeToWorkspace && preserve === undefined;
    const isOnPath = leafId === store.leafId;
    const evicted = evict(message, rule, paths);
    const shown = keepWhole ? noteCutCalls(evicted, message) : evicted;
    store.shortenMessage(shown, { keepWhole, isOnPath: isOnPath || undefined });
    const bytes = values.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    summary.messages += 1;
    summary.parts += values.length;
    summary.bytes += bytes;
    if (externalizeToWorkspace) summary.externalizedBytes += bytes;
  }
}

function isSame(first: SessionMessage | null, second: SessionMessage): boolean {
  return first !== null && JSON.stringify(first) === JSON.stringify(second);
}
