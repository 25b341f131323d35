// The documents that stand in the conversation and could be taken out of it again. What is known comes from the stored
// messages, read once and only when they are asked for; unloading rewrites the newest result that holds the text.
import { errorMessage } from "../../util/errors.ts";
import type { SessionMessage } from "../session-message.ts";
import type { SessionProvider } from "../session-provider.ts";
import { documentCalls, isSame, withoutDocuments, type DocumentId } from "./document-calls.ts";

/** Documents that were unloaded while their answer was still streaming; beyond it the oldest keeps its text. */
const MAX_PENDING = 64;

interface PendingUnload extends DocumentId {
  readonly messageId?: string;
}

export class LoadedDocuments {
  readonly #provider: SessionProvider;
  /** Keys by label; undefined before the messages were read. */
  #loaded: Map<string, Set<string>> | undefined;
  /** Loaded since then, perhaps by an answer that is not stored yet. */
  readonly #recent: DocumentId[] = [];
  /** Unloaded before the message that holds them was stored; then with its id, for it may be stored again. */
  #pending: PendingUnload[] = [];

  constructor(provider: SessionProvider) {
    this.#provider = provider;
  }

  /** A message that is stored next may hold a document that was unloaded. */
  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** As `label:key`. */
  async ids(): Promise<Set<string>> {
    const loaded = await this.#known();
    return new Set([...loaded].flatMap(([label, keys]) => [...keys].map((key) => `${label}:${key}`)));
  }

  async note(document: DocumentId): Promise<void> {
    this.#pending = this.#pending.filter((other) => !isSame(other, document));
    this.#recent.push(document);
    add(await this.#known(), document);
  }

  /** False if it was not loaded. */
  async unload(document: DocumentId): Promise<boolean> {
    const keys = (await this.#known()).get(document.label);
    if (keys?.delete(document.key) !== true) return false;
    const recent = this.#recent.findIndex((other) => isSame(other, document));
    if (recent >= 0) this.#recent.splice(recent, 1);
    if (!(await this.#rewriteNewest(document))) {
      this.#pending = [...this.#pending, document].slice(-MAX_PENDING);
    }
    return true;
  }

  /** A message was stored or changed: takes out what it unloads itself. */
  async tidy(messageId: string): Promise<void> {
    if (this.#pending.length === 0) return;
    const message = await this.#provider.getMessage(messageId);
    if (message === null) return;
    const calls = documentCalls(message);
    this.#pending = this.#pending.flatMap((pending) => {
      if (calls.some((call) => isSame(call, pending))) return { ...pending, messageId };
      // The conversation has moved on.
      return pending.messageId === undefined || pending.messageId === messageId ? pending : [];
    });
    const shorter = withoutDocuments(message);
    if (shorter !== undefined) await this.#provider.updateMessage(shorter);
  }

  forgetLabel(label: string): void {
    this.#loaded?.delete(label);
  }

  /** The conversation took another course: its messages are read again when they are asked for. */
  reconsider(): void {
    this.#loaded = undefined;
    this.#recent.length = 0;
  }

  /** The conversation was cleared. */
  forget(): void {
    this.reconsider();
    this.#pending = [];
  }

  async #known(): Promise<Map<string, Set<string>>> {
    if (this.#loaded !== undefined) return this.#loaded;
    const found = new Map<string, Set<string>>();
    try {
      for await (const message of this.#answers()) {
        for (const call of documentCalls(message)) {
          if (call.kind === "loaded") add(found, call);
          else found.get(call.label)?.delete(call.key);
        }
        // What a crash kept from being taken out.
        const shorter = withoutDocuments(message);
        if (shorter !== undefined) await this.#provider.updateMessage(shorter);
      }
    } catch (error) {
      console.warn(`The loaded documents could not be read from the messages: ${errorMessage(error)}`);
      return found;
    }
    for (const document of this.#recent) add(found, document);
    this.#loaded ??= found;
    return this.#loaded;
  }

  async #rewriteNewest(document: DocumentId): Promise<boolean> {
    for await (const message of this.#answers(true)) {
      if (withoutDocuments(message, [document]) === undefined) continue;
      // As it is now: what was read may be older than the last await.
      const whole = (await this.#provider.getMessage(message.id)) ?? message;
      const shorter = withoutDocuments(whole, [document]);
      if (shorter !== undefined) await this.#provider.updateMessage(shorter);
      return true;
    }
    return false;
  }

  /** The assistant's messages of the active path, one at a time where the storage can tell them apart. */
  async *#answers(isNewestFirst = false): AsyncGenerator<SessionMessage> {
    const stats = await this.#provider.getHistoryRowStats?.();
    const listed: readonly { id: string; role: string }[] = stats ?? (await this.#provider.getHistory());
    const answers = listed.filter(({ role }) => role === "assistant");
    for (const entry of isNewestFirst ? answers.toReversed() : answers) {
      const message = isMessage(entry) ? entry : await this.#provider.getMessage(entry.id);
      if (message !== null) yield message;
    }
  }
}

function isMessage(entry: { id: string; role: string }): entry is SessionMessage {
  return "parts" in entry;
}

function add(loaded: Map<string, Set<string>>, { label, key }: DocumentId): void {
  const keys = loaded.get(label) ?? new Set();
  loaded.set(label, keys.add(key));
}
