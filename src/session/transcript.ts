// The session's messages as the engine and the class use them: what is shown comes from the live view, what is written
// goes to the store, and what a model is shown is repaired first. `Transcript` is what the engine needs of it: every call is
// synchronous and may be part of the caller's transaction.
import type { UIMessage } from "ai";
import { asMessagePart, type MessagePart } from "../model/tool-part.ts";
import type { Emit, EventPayloads } from "../observe/events.ts";
import { ALREADY_RECORDED, type ChangeOrigin, recordChange, USER_CODE } from "./change-log.ts";
import { LiveView, MIN_HYDRATED_MESSAGES, type HydrationWindow, type LiveViewInit } from "./hydration.ts";
import type { MessageStore } from "./message-store.ts";
import { isCompactionMessage, type SessionMessage } from "./session-message.ts";
import { isCutForPeople, mayMissFiles, withWholeFiles, withWholeParts } from "./whole-files.ts";
import { repairTranscript, type RunningCalls } from "./transcript-repair.ts";
import type { Idempotency } from "./idempotency.ts";
import { sessionErrors } from "./errors.ts";

export interface TranscriptPromptOptions {
  /** Whether a client runs a tool, for calls that do not say themselves who answers them. */
  readonly isClientTool: (toolName: string) => boolean;
  /** A new message of the user started this turn. */
  readonly isUserTurn: boolean;
  /** The allowed calls that this turn runs. */
  readonly running?: RunningCalls;
}

/** Of one call of the model; undefined where the provider said nothing. */
export interface CountedTokens {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

export interface Transcript {
  /** Newest message of the active path. */
  readonly leafId: string | null;
  get(messageId: string): UIMessage | undefined;
  has(messageId: string): boolean;
  /** Which of these are stored. */
  storedOf(messageIds: readonly string[]): ReadonlySet<string>;
  /** Under the leaf, or under `parentId`. False: the id is stored already, and is left as it is. */
  append(message: UIMessage, origin: ChangeOrigin, parentId?: string | null): boolean;
  update(message: UIMessage, origin: ChangeOrigin): void;
  /** The path that ends at a message (default: the leaf), as clients see it. */
  path(leafId?: string): UIMessage[];
  /** The same for a model: every tool call is settled. Reads only; repairs that outlive the prompt are for `repair`. */
  prompt(leafId: string | undefined, options: TranscriptPromptOptions): RepairedPrompt;
  /** Stores the repairs of a prompt, as part of a turn that begins, and tells of them. Nothing if there are none. */
  repair(prompt: RepairedPrompt, turnId: string): void;
  /** The newest message that holds this tool call. */
  messageOfCall(toolCallId: string): UIMessage | undefined;
  /** What the provider counted for the call that wrote a message. Part of the transaction that ends its turn. */
  noteUsage?(messageId: string, usage: CountedTokens): void;
  clear(origin: ChangeOrigin): void;
}

export interface RepairedPrompt {
  readonly messages: UIMessage[];
  /** Those that are to be stored as they are here. */
  readonly changed: readonly UIMessage[];
  /** Payload of `chat:transcript:repaired`. */
  readonly repairs: EventPayloads["chat:transcript:repaired"];
}

export interface ChainOptions {
  /** Where the first one goes: below the latest message (default), as a root (`null`), or below this message. */
  readonly parentId?: string | null;
  /** What happens to a message whose id is stored: it is left alone (`append`, default) or gets the new content. */
  readonly mode?: "append" | "upsert";
}

/**
 * Adds messages without a turn, each below the one before, in one transaction. Doing it twice changes nothing, and no queue
 * is involved, so it is safe from inside a tool. Writes one record for what was added, and one for what got new content.
 * Throws UnknownParentError before anything is written.
 */
export function addMessages(
  store: MessageStore,
  messages: readonly SessionMessage[],
  { parentId, mode = "append" }: ChainOptions = {}
): void {
  if (messages.length === 0) return;
  store.scope.conversation.transaction(() => {
    if (typeof parentId === "string" && !store.has(parentId)) throw sessionErrors.UnknownParentError(parentId);
    let parent = parentId;
    const [added, updated]: [string[], string[]] = [[], []];
    for (const message of messages) {
      // What a history shows may be added again; a summary is not part of the tree.
      if (isCompactionMessage(message)) continue;
      const isNew = store.appendMessage(message, parent, ALREADY_RECORDED);
      if (isNew) added.push(message.id);
      else if (mode === "upsert" && store.updateMessage(message, ALREADY_RECORDED)) updated.push(message.id);
      parent = message.id;
    }
    recordChange(store.scope, USER_CODE, { change: "appended", ids: added });
    recordChange(store.scope, USER_CODE, { change: "edited", ids: updated });
  });
}

/** So many of the newest messages are shown with files of any size. */
export const WHOLE_FILE_MESSAGES = 8;

export interface StoredTranscriptInit extends Omit<LiveViewInit, "onWindowed"> {
  readonly idempotency: Idempotency;
  readonly announce: () => void;
  /** Part of the same transaction. */
  readonly onClear: () => void;
  /** As `Transcript.noteUsage`. */
  readonly noteUsage: (messageId: string, usage: CountedTokens) => void;
  /** What stands for a tool call that was cut off. */
  readonly repairPart: (part: MessagePart) => MessagePart;
  readonly emit: Emit;
}

export interface AddOptions extends ChainOptions {
  /** Under this key once. */
  readonly idempotencyId?: string;
}

export class StoredTranscript implements Transcript {
  readonly #init: StoredTranscriptInit;
  readonly #store: MessageStore;
  readonly #view: LiveView;
  /** By the message the view shows: as long as that is the same object, so are its whole forms. */
  readonly #withFiles = new WeakMap<SessionMessage, SessionMessage>();
  readonly #withParts = new WeakMap<SessionMessage, { message: SessionMessage; wholeBytes: number }>();

  constructor(init: StoredTranscriptInit) {
    this.#init = init;
    this.#store = init.store;
    const onWindowed = (window: HydrationWindow) => init.emit("chat:hydration:windowed", { ...window });
    this.#view = new LiveView({ ...init, onWindowed });
  }

  get leafId(): string | null {
    return this.#store.leafId;
  }

  get(messageId: string): UIMessage | undefined {
    return asUi(this.#store.getMessage(messageId));
  }

  has(messageId: string): boolean {
    return this.#store.has(messageId);
  }

  storedOf(messageIds: readonly string[]): ReadonlySet<string> {
    return this.#store.rows.storedOf(messageIds);
  }

  append(message: UIMessage, origin: ChangeOrigin, parentId?: string | null): boolean {
    return this.#store.appendMessage(message, parentId, origin);
  }

  update(message: UIMessage, origin: ChangeOrigin): void {
    this.#store.updateMessage(message, origin);
  }

  /** One transaction; false if they had been added under the key. */
  add(messages: readonly UIMessage[], options: AddOptions): boolean {
    const { idempotencyId, ...chain } = options;
    return this.#store.scope.conversation.transaction(() => {
      if (idempotencyId !== undefined && this.hasAdded(idempotencyId)) return false;
      addMessages(this.#store, messages, chain);
      if (idempotencyId !== undefined) this.#init.idempotency.keepMessages(idempotencyId);
      return true;
    });
  }

  hasAdded(idempotencyId: string): boolean {
    return this.#init.idempotency.has(idempotencyId);
  }

  messages(): UIMessage[] {
    return this.path();
  }

  /** Ids of `messages()`, without reading their files. */
  shownIds(): string[] {
    return this.#view.messages.map(({ id }) => id);
  }

  leaf(): UIMessage | undefined {
    return asUi(this.#store.getLatestLeaf());
  }

  /**
   * As users see it. Messages that were too large for a row are whole, newest first, as far as the budget goes and the
   * newest of them in any case; the outputs of tools stay cut.
   */
  path(leafId?: string): UIMessage[] {
    const { messages, sizeBytes } = this.#read(leafId);
    if (!messages.some(isCutForPeople)) return messages.map(uiOf);
    const shown = this.#filesIn(messages);
    let left = this.#view.budgetBytes - sizeBytes;
    let isFirst = true;
    for (let index = messages.length - 1; index >= 0; index -= 1) {
      const message = messages[index];
      const whole = message && this.#wholePartsOf(message, isFirst ? Number.POSITIVE_INFINITY : left);
      if (whole === undefined) continue;
      shown[index] = whole.message;
      left -= whole.wholeBytes;
      isFirst = false;
    }
    return shown.map(uiOf);
  }

  #read(leafId: string | undefined): { messages: readonly SessionMessage[]; sizeBytes: number } {
    if (leafId === undefined || leafId === this.leafId) {
      // In this order: looking at the messages is what reads them.
      const { messages } = this.#view;
      return { messages, sizeBytes: this.#view.sizeBytes };
    }
    const { messages } = this.#store.readRecent(leafId, this.#view.budgetBytes, MIN_HYDRATED_MESSAGES);
    const sizeBytes = messages.reduce((sum, entry) => sum + entry.sizeBytes, 0);
    return { messages: messages.map(({ message }) => message), sizeBytes };
  }

  /** Undefined: nothing of it is cut, it is gone, or it has more than `maxBytes`. */
  #wholePartsOf(
    message: SessionMessage,
    maxBytes: number
  ): { message: SessionMessage; wholeBytes: number } | undefined {
    if (!isCutForPeople(message)) return undefined;
    const known = this.#withParts.get(message);
    const wholeBytes = known?.wholeBytes ?? this.#store.wholeBytes(message.id);
    if (wholeBytes === null || wholeBytes > maxBytes) return undefined;
    if (known) return known;
    const stored = this.#store.getMessage(message.id);
    if (stored === null) return undefined;
    const whole = { message: withWholeParts(message, stored), wholeBytes };
    this.#withParts.set(message, whole);
    return whole;
  }

  /** The newest messages with files that are too large for a row; older ones say that there was one. */
  #filesIn(messages: readonly SessionMessage[]): SessionMessage[] {
    const shown = messages.slice(0, -WHOLE_FILE_MESSAGES);
    for (const message of messages.slice(-WHOLE_FILE_MESSAGES)) shown.push(this.#withFilesOf(message));
    return shown;
  }

  #withFilesOf(message: SessionMessage): SessionMessage {
    if (!mayMissFiles(message)) return message;
    const known = this.#withFiles.get(message);
    if (known) return known;
    const stored = this.#store.getMessage(message.id);
    const whole = stored ? withWholeFiles(message, stored) : message;
    this.#withFiles.set(message, whole);
    return whole;
  }

  prompt(leafId: string | undefined, options: TranscriptPromptOptions): RepairedPrompt {
    // A model is not shown what would fill its context window by itself.
    const repaired = repairTranscript(this.#filesIn(this.#read(leafId).messages), {
      ...options,
      repairPart: (part) => this.#init.repairPart(asMessagePart(part))
    });
    const { messages, changed, removedToolCalls, normalizedInputs, toolCallIds } = repaired;
    return {
      messages: messages.map(uiOf),
      changed: changed.map(uiOf),
      repairs: { removedToolCalls, normalizedInputs, toolCallIds: [...toolCallIds] }
    };
  }

  repair({ changed, repairs }: RepairedPrompt, turnId: string): void {
    if (changed.length === 0) return;
    const origin = { by: "runner", change: "repaired", why: "calls-cut-off", turnId } as const;
    this.#store.updateMessages(changed, origin);
    this.#init.emit("chat:transcript:repaired", repairs);
    this.announce();
  }

  messageOfCall(toolCallId: string): UIMessage | undefined {
    return asUi(this.#store.messageOfCall(toolCallId));
  }

  /** The same for several calls, in one walk. */
  messagesOfCalls(toolCallIds: ReadonlySet<string>): ReadonlyMap<string, UIMessage> {
    return new Map([...this.#store.messagesOfCalls(toolCallIds)].map(([id, message]) => [id, uiOf(message)]));
  }

  noteUsage(messageId: string, usage: CountedTokens): void {
    this.#init.noteUsage(messageId, usage);
  }

  clear(origin: ChangeOrigin): void {
    this.#store.clearMessages(origin);
    this.#init.onClear();
  }

  invalidate(): void {
    this.#view.invalidate();
  }

  announce(): void {
    this.#store.scope.conversation.afterCommit(() => this.#init.announce());
  }
}

/** Both are the same JSON; the SDK's type also knows what each kind of part holds. */
function uiOf(message: SessionMessage): UIMessage {
  return message as SessionMessage & UIMessage;
}

function asUi(message: SessionMessage | null): UIMessage | undefined {
  return message === null ? undefined : uiOf(message);
}
