// The live view: the newest part of the active path in memory, as much as its byte budget allows, and never fewer than a
// few messages. It is read at its first use, not at boot, and from then on only what changed is read again. It is derived
// from what is stored: a change that was undone leaves no trace. Storage is never written.
import { byteLength } from "../util/bytes.ts";
import { sessionErrors } from "./errors.ts";
import { BATCH_ROWS, type MessageRow } from "./message-rows.ts";
import type { MessageStore, SizedMessage } from "./message-store.ts";
import { isCompactionMessage, type SessionMessage } from "./session-message.ts";
import type { RecentHistoryResult, SessionProvider } from "./session-provider.ts";

export const HYDRATION_BYTE_BUDGET = 24 * 1024 * 1024;
/** The view has at least these, whatever their size. */
export const MIN_HYDRATED_MESSAGES = 4;

/** Rows kept between two looks; a turn appends two. More are read from storage. */
const KEPT_APPENDS = 8;

/** Payload of `chat:hydration:windowed`. */
export interface HydrationWindow {
  readonly totalContentBytes: number;
  readonly budgetBytes: number;
  readonly hydratedMessages: number;
}

export interface LiveViewInit {
  readonly store: MessageStore;
  /** Asked at every look. Not finite, zero or negative: no limit. */
  readonly budgetBytes: () => number;
  /** Called when the view leaves messages out, and again only when its numbers change. */
  readonly onWindowed: (window: HydrationWindow) => void;
  /** Called with what made a read fail, before HistoryUnreadableError is thrown; the next read tries again. */
  readonly onFailure: (error: unknown) => void;
}

export class LiveView {
  readonly #init: LiveViewInit;
  readonly #stop: () => void;
  /** Undefined: to be read. */
  #entries: SizedMessage[] | undefined;
  #known = new Set<string>();
  #leafId: string | null = null;
  #messages: readonly SessionMessage[] = [];
  readonly #stale = new Set<string>();
  /** Appended since the last look, or undone. By id; the path to the newest message tells which are there. */
  readonly #appended = new Map<string, MessageRow>();
  /** Messages of the path are missing here. */
  #isPartial = false;
  #reported = "";
  /** `Sql.rollbacks` at the last read. */
  #rollbacks = 0;

  constructor(init: LiveViewInit) {
    this.#init = init;
    this.#stop = init.store.scope.changes.subscribe((change) => {
      if (change.kind === "appended") this.#note(change.row);
      else if (change.kind === "updated" || change.kind === "shortened") this.#stale.add(change.id);
      else if (change.kind !== "repeated") this.#entries = undefined;
    });
  }

  /** Oldest first. The same list as long as nothing changed. Throws HistoryUnreadableError. */
  get messages(): readonly SessionMessage[] {
    try {
      this.#refresh();
    } catch (error) {
      this.#entries = undefined;
      this.#init.onFailure(error);
      // An empty list would be taken for an empty conversation.
      throw sessionErrors.HistoryUnreadableError(error);
    }
    return this.#messages;
  }

  /** Of the rows behind `messages`. */
  get sizeBytes(): number {
    return (this.#entries ?? []).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  /** Reads everything again at the next look. */
  invalidate(): void {
    this.#entries = undefined;
  }

  close(): void {
    this.#stop();
  }

  #note(row: MessageRow): void {
    // Until the view is read they are not kept: the read gets them from storage.
    if (this.#entries === undefined || this.#appended.size >= KEPT_APPENDS) this.#appended.clear();
    else this.#appended.set(row.id, row);
  }

  #refresh(): void {
    const { leafId, scope } = this.#init.store;
    const { rollbacks } = scope.host.sql;
    // What was read or noted since may be part of what was undone.
    if (rollbacks !== this.#rollbacks) this.#entries = undefined;
    this.#rollbacks = rollbacks;
    if (this.#entries !== undefined && this.#leafId === leafId && this.#stale.size === 0) return;
    if (this.#entries !== undefined && this.#extend(this.#entries, leafId)) return;
    const entries = this.#entries && this.#follow(this.#entries, leafId);
    this.#show(entries ?? this.#load(leafId), leafId);
  }

  /** What nearly every look finds: messages were added, and all else is as it was. False: it is not so. */
  #extend(entries: SizedMessage[], leafId: string | null): boolean {
    if (this.#stale.size > 0 || leafId === null) return false;
    const added = this.#added(leafId);
    if (added === undefined || added.knownId !== entries.at(-1)?.message.id) return false;
    const extended = [...entries, ...added.messages];
    if (this.#fit(extended) !== extended) return false;
    this.#entries = extended;
    for (const { message } of added.messages) this.#known.add(message.id);
    this.#messages = [...this.#messages, ...added.messages.map(({ message }) => message)];
    this.#shown(leafId);
    return true;
  }

  #load(leafId: string | null): SizedMessage[] {
    this.#isPartial = true;
    return this.#init.store.readRecent(leafId, this.budgetBytes, MIN_HYDRATED_MESSAGES).messages;
  }

  /** The entries as they are now, reading only new and changed messages. Undefined: read all of them again. */
  #follow(entries: readonly SizedMessage[], leafId: string | null): SizedMessage[] | undefined {
    const fresh: SizedMessage[] = [];
    let kept = 0;
    if (leafId === this.#leafId) kept = entries.length;
    else if (leafId !== null) {
      const added = this.#added(leafId) ?? this.#readAdded(leafId, entries.length + BATCH_ROWS);
      if (added === undefined) return undefined;
      kept = entries.findLastIndex(({ message }) => message.id === added.knownId) + 1;
      fresh.push(...added.messages);
    }
    const current: SizedMessage[] = [];
    for (const entry of entries.slice(0, kept)) {
      const isStale = this.#stale.has(entry.message.id);
      const next = isStale ? this.#init.store.readSized(entry.message.id) : entry;
      if (next === undefined) return undefined;
      current.push(next);
    }
    const followed = this.#fit([...current, ...fresh]);
    return kept < entries.length && this.#isMeagre(followed) ? undefined : followed;
  }

  /** What was appended since the last look, without reading it. Undefined: not all of it is known. */
  #added(leafId: string): Added | undefined {
    const newestFirst: SizedMessage[] = [];
    let id: string | null = leafId;
    while (id !== null && !this.#known.has(id)) {
      const row: MessageRow | undefined = this.#appended.get(id);
      const message = row && !this.#stale.has(id) ? this.#init.store.decode(row) : undefined;
      if (row === undefined || message === undefined) return undefined;
      newestFirst.push({ message, sizeBytes: row.sizeBytes });
      id = row.parentId;
    }
    return id === null ? undefined : { messages: newestFirst.reverse(), knownId: id };
  }

  #readAdded(leafId: string, maxRows: number): Added | undefined {
    return this.#init.store.readUntil(leafId, { isKnown: (id) => this.#known.has(id), maxRows });
  }

  /** Another branch began so far up that the window has room for much of what comes before it. */
  #isMeagre(entries: readonly SizedMessage[]): boolean {
    if (entries.length >= this.#init.store.shownTotals().length) return false;
    const bytes = entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return entries.length < MIN_HYDRATED_MESSAGES || bytes * 2 < this.budgetBytes;
  }

  /** Drops the oldest until the rest fits. The newest summary stays: it is what is left of everything before it. */
  #fit(entries: SizedMessage[]): SizedMessage[] {
    let bytes = 0;
    for (const { sizeBytes } of entries) bytes += sizeBytes;
    if (bytes <= this.budgetBytes) return entries;
    const summary = entries.findLast(({ message }) => isCompactionMessage(message));
    const others = entries.filter((entry) => entry !== summary);
    let first = 0;
    while (bytes > this.budgetBytes && others.length - first > MIN_HYDRATED_MESSAGES) {
      bytes -= others[first++]?.sizeBytes ?? 0;
    }
    if (first === 0) return entries;
    this.#isPartial = true;
    const kept = new Set(others.slice(first));
    return entries.filter((entry) => entry === summary || kept.has(entry));
  }

  #show(entries: SizedMessage[], leafId: string | null): void {
    this.#entries = entries;
    this.#known = new Set(entries.map(({ message }) => message.id));
    this.#messages = entries.map(({ message }) => message);
    this.#stale.clear();
    this.#shown(leafId);
  }

  #shown(leafId: string | null): void {
    this.#leafId = leafId;
    this.#appended.clear();
    if (this.#isPartial) this.#report(this.#entries ?? []);
  }

  #report(entries: readonly SizedMessage[]): void {
    const { length, bytes } = this.#init.store.shownTotals();
    this.#isPartial = entries.length < length;
    const shown = entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    // A row that cannot be read is missing from the view, but not because of its size.
    if (entries.length >= length || shown >= bytes || bytes <= this.budgetBytes) return;
    const window = { totalContentBytes: bytes, budgetBytes: this.budgetBytes, hydratedMessages: entries.length };
    const numbers = JSON.stringify(window);
    if (numbers === this.#reported) return;
    if (this.#reported === "")
      console.warn("The conversation is larger than hydrationByteBudget; older messages are left out.");
    this.#reported = numbers;
    this.#init.onWindowed(window);
  }

  /** Infinite: no limit. */
  get budgetBytes(): number {
    const budget = this.#init.budgetBytes();
    return Number.isFinite(budget) && budget > 0 ? budget : Number.POSITIVE_INFINITY;
  }
}

interface Added {
  readonly messages: SizedMessage[];
  /** The message they come after. */
  readonly knownId: string;
}

const warned = new WeakSet<SessionProvider>();

/** A window of any provider's latest path; one that cannot read a part of it is read whole. */
export async function readWindow(
  provider: SessionProvider,
  maxContentBytes: number,
  minRecentMessages: number
): Promise<RecentHistoryResult> {
  if (provider.getRecentHistory !== undefined) {
    return provider.getRecentHistory(null, maxContentBytes, minRecentMessages);
  }
  if (!warned.has(provider)) console.warn("This session provider has no getRecentHistory; its whole history is read.");
  warned.add(provider);
  const messages = await provider.getHistory();
  const totalContentBytes = messages.reduce((sum, message) => sum + byteLength(JSON.stringify(message)), 0);
  return { messages, truncated: false, totalContentBytes };
}
