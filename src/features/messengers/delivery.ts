// One reply at its provider. What is to be seen is a list of texts; what was begun is in the reply's row. Delivery brings
// the one to the other: it posts what is missing and edits what differs, so going on after a crash is the same as going
// on. A message is noted before it is posted and its id after: one that was noted without an id may or may not be there.
// Therefore what is posted is only a beginning, marked as one, and the edit that makes it complete follows when its id is
// stored. A beginning whose id was lost is given up for another one: the complete text is in the chat exactly once. Where
// a provider cannot edit, a text is posted once, and the user is told when its fate is not known.
import { beforeDeadline } from "../../host/deadline.ts";
import type { Clock } from "../../host/ports.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { ChatAdapter, ChatPostable } from "./chat-adapter.ts";
import {
  classifyDeliveryError,
  GivenUpError,
  RetryLaterError,
  UncertainPostError,
  type DeliveryProblem
} from "./delivery-errors.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Post, ReplyStage } from "./inbox.ts";
import type { Pacer } from "./pacer.ts";

/** A message that is begun and has no words yet. */
const PENDING = "…";
/** Shorter texts have no beginning that could not be taken for the whole. */
const MIN_BEGINNING_CHARS = 40;
const MAX_BEGINNING_CHARS = 200;
/** Beginnings of one message whose ids may be lost: a quarter of an hour of tries. */
const MAX_LOST = 12;
/** Waits of this length are spent in place; longer ones are left to the object's wake. */
const MAX_WAIT_MS = 5_000;
const CALL_TIMEOUT_MS = 30_000;
const TRIES = 3;
const BACKOFF = { baseMs: 500, maxMs: MAX_WAIT_MS };

export interface DeliveryInit {
  readonly adapter: ChatAdapter;
  readonly threadId: string;
  readonly posts: readonly Post[];
  readonly clock: Clock;
  /** Messages can be edited: what is posted first is only a beginning. */
  readonly canEdit: boolean;
  /** Answers are shown while they grow. */
  readonly canStream: boolean;
  readonly editIntervalMs: number;
  readonly pacer: Pacer;
  readonly split: (text: string) => string[];
  readonly isExpected: (error: unknown) => boolean;
  /** Durable when it returns. */
  readonly save: (stage: ReplyStage, posts: readonly Post[]) => void;
}

export class Delivery {
  readonly #init: DeliveryInit;
  readonly #posts: Post[];
  /** What each message shows, as far as this process knows. */
  readonly #shown: (string | undefined)[] = [];
  #latest = "";
  #nextEditAt = 0;
  #blockedUntil = 0;
  #pump: Promise<void> | undefined;
  readonly #ending = new AbortController();
  #failure: unknown;
  edits = 0;

  constructor(init: DeliveryInit) {
    this.#init = init;
    this.#posts = init.posts.map((post) => ({ ...post }));
  }

  get posts(): readonly Post[] {
    return this.#posts;
  }

  /** Something of the answer may be in the chat. */
  get hasPosts(): boolean {
    return this.#posts.length > 0;
  }

  /** What made the provider refuse a message while the answer was streamed. */
  get failure(): unknown {
    return this.#failure;
  }

  // ── While the answer grows ──

  update(text: string): void {
    this.#latest = text;
    if (!this.#init.canStream || this.#pump || this.#failure !== undefined) return;
    this.#pump = this.#stream().finally(() => (this.#pump = undefined));
  }

  async #stream(): Promise<void> {
    let seen = "";
    let isShown = false;
    while ((seen !== this.#latest || !isShown) && !this.#ending.signal.aborted) {
      await this.#paced();
      if (this.#ending.signal.aborted) return;
      seen = this.#latest;
      try {
        isShown = await this.#converge(this.#init.split(seen), false);
      } catch (error) {
        // The complete text is delivered at the end, by its own rules.
        this.#failure = error;
        return;
      }
      this.#nextEditAt = Math.max(this.#nextEditAt, this.#init.clock.now() + this.#init.editIntervalMs);
    }
  }

  async #paced(): Promise<void> {
    const wait = this.#nextEditAt - this.#init.clock.now();
    if (wait <= 0) return;
    // The end does not wait for the pause between two edits.
    await this.#init.clock.sleep(wait, this.#ending.signal).catch(() => undefined);
  }

  // ── The end ──

  /** Stops the stream. Nothing is at work after it. */
  async stop(): Promise<void> {
    this.#ending.abort(new DOMException("The answer is complete.", "AbortError"));
    await this.#pump;
  }

  /** Resolves when all of it is in the chat. Throws RetryLaterError, GivenUpError. */
  async finish(text: string, uncertainText: string): Promise<void> {
    await this.stop();
    const pieces = this.#init.split(text);
    await this.#converge(pieces, true);
    await this.#removeExtra(pieces.length);
    const isUncertain = this.#posts.some(({ id, apology }) => id === null && apology !== true);
    if (isUncertain) await this.#apologise({ markdown: uncertainText });
  }

  /** One message after what is there, once. */
  async append(message: ChatPostable): Promise<void> {
    await this.stop();
    await this.#apologise(message);
  }

  async #apologise(message: ChatPostable): Promise<void> {
    const known = this.#posts.findIndex(({ apology }) => apology === true);
    const index = known === -1 ? this.#posts.length : known;
    const post = (this.#posts[index] ??= { id: null, apology: true });
    if (typeof post.id === "string") await this.#edit(index, message, true);
    else if (!this.#mayBeWhole(post, message)) await this.#add(index, message, true);
  }

  /** A card, once; or the text in its place, where the provider refuses it. */
  async say(message: ChatPostable, index = 0): Promise<void> {
    const post = this.#posts[index];
    try {
      if (typeof post?.id === "string") await this.#edit(index, message, true);
      else if (!this.#mayBeWhole(post, message)) await this.#add(index, message, true);
    } catch (error) {
      const text = fallbackOf(message);
      if (text === undefined || !(error instanceof GivenUpError)) throw error;
      console.warn("A provider refused a card; its text is sent in its place.", error.cause);
      await this.sayText(text);
    }
  }

  /**
   * In order, each of them known to be there: one that may not be is posted again, since a message that is read twice does no
   * harm. False: one was refused, or none of its tries is known to have arrived; none is sent after it. Throws RetryLaterError.
   */
  async sayAll(messages: readonly ChatPostable[]): Promise<boolean> {
    for (const [index, message] of messages.entries()) {
      try {
        await this.say(message, index);
      } catch (error) {
        if (!(error instanceof GivenUpError)) throw error;
        console.error("A provider refused a message.", error.cause);
        return false;
      }
      const { id, lost = 0 } = this.#posts[index] ?? { id: null };
      if (id !== null) continue;
      if (lost >= MAX_LOST) return false;
      this.#note(index, { id, lost: lost + 1 });
      throw new RetryLaterError(0, this.#failure);
    }
    return true;
  }

  /** A file cannot be posted as a beginning: it is posted once. */
  async postOnce(message: ChatPostable): Promise<"posted" | "refused" | "not known"> {
    try {
      if (this.#posts.length === 0) await this.#place(0, message, true);
    } catch (error) {
      if (!(error instanceof GivenUpError)) throw error;
      this.#failure = error.cause;
      return "refused";
    }
    return typeof this.#posts[0]?.id === "string" ? "posted" : "not known";
  }

  /** A text that is complete from its beginning, in as many messages as it needs. */
  async sayText(text: string): Promise<void> {
    await this.#converge(this.#init.split(text), true);
  }

  /** False: some of it is not shown yet, and another edit is worth trying. */
  async #converge(pieces: readonly string[], isFinal: boolean): Promise<boolean> {
    let isShown = true;
    for (const [index, piece] of pieces.entries()) {
      const post = this.#posts[index];
      if (post?.apology) return true;
      if (post?.id === null && !isFinal) throw new UncertainPostError();
      // It may be there, complete: the user is told, and it is not posted again.
      if (this.#mayBeWhole(post, { markdown: piece })) continue;
      if (post === undefined || post.id === null) {
        // The words so far may be all there are: nothing that looks complete is posted before its id can be stored.
        if (!isFinal && this.#init.canEdit && beginningOf({ markdown: piece }) === PENDING) return isShown;
        if (!this.#isTurnOf("posts", isFinal)) return false;
        isShown = await this.#add(index, { markdown: piece }, isFinal);
        if (!isShown) continue;
      } else {
        if (this.#shown[index] === piece) continue;
        if (!this.#isTurnOf("edits", isFinal)) return false;
        if (!(await this.#edit(index, { markdown: piece }, isFinal))) continue;
      }
      this.#shown[index] = piece;
    }
    return isShown;
  }

  /** What is shown meanwhile does not wait in line: the end would have to wait behind it. */
  #isTurnOf(kind: "posts" | "edits", isFinal: boolean): boolean {
    return isFinal || this.#init.pacer.isFree(kind);
  }

  #mayBeWhole(post: Post | undefined, message: ChatPostable): boolean {
    return post?.id === null && post.sent === fingerprint(textOf(message));
  }

  /** A later attempt of the turn gave a shorter answer. */
  async #removeExtra(count: number): Promise<void> {
    for (const { id, apology } of this.#posts.slice(count)) {
      if (id === null || apology) continue;
      await this.#init.adapter.deleteMessage?.(this.#init.threadId, id).catch(() => undefined);
    }
  }

  // ── Calls ──

  /** False: only its beginning is there; the next edit has the rest. */
  async #add(index: number, message: ChatPostable, isFinal: boolean): Promise<boolean> {
    // A provider that never says what it did is not sent one beginning after the other.
    if (!this.#init.canEdit || (this.#posts[index]?.lost ?? 0) >= MAX_LOST) {
      await this.#place(index, message, isFinal);
      return true;
    }
    await this.#place(index, { markdown: beginningOf(message) }, isFinal);
    if (typeof this.#posts[index]?.id !== "string") throw new RetryLaterError(0, this.#failure);
    return isFinal && this.#edit(index, message, true);
  }

  async #place(index: number, message: ChatPostable, isFinal: boolean): Promise<void> {
    await this.#allowed();
    await this.#init.pacer.turn("posts");
    const known = this.#posts[index];
    const isLost = known?.id === null && known.sent !== undefined;
    const sent = fingerprint(textOf(message));
    this.#note(index, { ...known, id: null, sent, ...(isLost && { lost: (known.lost ?? 0) + 1 }) });
    for (let tried = 1; ; tried += 1) {
      const problem = await this.#post(index, message);
      if (problem === undefined) return;
      if (problem.kind === "unknown") {
        if (isFinal) return;
        throw new UncertainPostError();
      }
      // The provider has answered that it was not posted.
      const wait = waitAfter(problem, tried);
      if (wait === undefined || wait > MAX_WAIT_MS) this.#forget(index);
      if (wait === undefined) throw new GivenUpError(problem.error);
      await this.#wait(wait, problem.error);
    }
  }

  /** Undefined: it is there. */
  async #post(index: number, message: ChatPostable): Promise<(DeliveryProblem & { error: unknown }) | undefined> {
    const { adapter, threadId } = this.#init;
    let posted: { readonly id: string };
    try {
      // The package's own shape of a message is one of the adapter's.
      posted = await this.#limited(adapter.postMessage(threadId, message as never));
    } catch (error) {
      return { ...classifyDeliveryError(error), error };
    }
    // Not part of the call: an id that cannot be stored ends the delivery here.
    this.#note(index, { id: posted.id, ...(this.#posts[index]?.apology && { apology: true }) });
    return undefined;
  }

  /** Spent in place if it is short. Throws RetryLaterError. */
  async #wait(waitMs: number, cause: unknown): Promise<void> {
    this.#blockedUntil = this.#init.clock.now() + waitMs;
    if (waitMs > MAX_WAIT_MS) throw new RetryLaterError(waitMs, cause);
    await this.#init.clock.sleep(waitMs);
  }

  /** The provider asked for a pause before. */
  async #allowed(): Promise<void> {
    const left = this.#blockedUntil - this.#init.clock.now();
    if (left > 0) await this.#wait(left, this.#failure);
  }

  /** False: it shows an older text. */
  async #edit(index: number, message: ChatPostable, isFinal: boolean): Promise<boolean> {
    const { adapter, threadId, clock, isExpected, pacer } = this.#init;
    const id = this.#posts[index]?.id;
    if (id === null || id === undefined) return false;
    if (isFinal) await this.#allowed();
    for (let tried = 1; ; tried += 1) {
      await pacer.turn("edits");
      try {
        await this.#limited(adapter.editMessage(threadId, id, message as never));
        this.edits += 1;
        return true;
      } catch (error) {
        if (isExpected(error)) return true;
        const problem = classifyDeliveryError(error);
        const wait = waitAfter(problem.kind === "unknown" ? { kind: "unavailable" } : problem, tried);
        if (!isFinal) {
          // The next edit has this text, too.
          this.#nextEditAt = clock.now() + (wait ?? MAX_WAIT_MS);
          if (problem.kind === "rate-limited") this.#blockedUntil = this.#nextEditAt;
          return false;
        }
        const isWorthWaiting = wait !== undefined && (wait <= MAX_WAIT_MS || problem.kind === "rate-limited");
        if (isWorthWaiting) await this.#wait(wait, error);
        // The message stays as it is: its text is written into it.
        else if (problem.kind === "rejected" && fallbackOf(message) !== undefined) throw new GivenUpError(error);
        // An edit that is refused, or fails again and again, must not cost the answer: it is posted anew.
        else return this.#place(index, message, true).then(() => true);
      }
    }
  }

  /** A provider that never answers leaves it open whether it has the message. */
  #limited<T>(call: Promise<T>): Promise<T> {
    const late = () => new DOMException("The provider did not answer in time.", "TimeoutError");
    return beforeDeadline(call, { clock: this.#init.clock, timeoutMs: CALL_TIMEOUT_MS, late });
  }

  #note(index: number, post: Post): void {
    this.#posts[index] = post;
    this.#init.save("streaming", this.#posts);
  }

  #forget(index: number): void {
    this.#posts.splice(index, 1);
    this.#init.save(this.#posts.length > 0 ? "streaming" : "accepted", this.#posts);
  }
}

/** Undefined: not to be tried again. */
function waitAfter(
  problem:
    { readonly kind: "rate-limited"; readonly retryAfterMs: number } | { readonly kind: "unavailable" | "rejected" },
  tried: number
): number | undefined {
  if (problem.kind === "rejected") return undefined;
  if (problem.kind === "rate-limited") return problem.retryAfterMs;
  return tried < TRIES ? backoffMs(tried, BACKOFF) : MAX_WAIT_MS + 1;
}

/** Never the whole text. */
function beginningOf(message: ChatPostable): string {
  if (typeof message === "object" && "card" in message) return PENDING;
  const text = textOf(message);
  if (text.length < MIN_BEGINNING_CHARS) return PENDING;
  const head = text.slice(0, Math.min(Math.floor(text.length / 2), MAX_BEGINNING_CHARS));
  const words = head.slice(0, head.lastIndexOf(" "));
  // The marks of a code block or a link that is cut would show as marks.
  return words.trim() === "" || /[`[\]<>|*_]/.test(words) ? PENDING : `${words.trimEnd()} ${PENDING}`;
}

function fallbackOf(message: ChatPostable): string | undefined {
  return typeof message === "object" && "card" in message ? message.fallbackText : undefined;
}

function textOf(message: ChatPostable): string {
  if (typeof message === "string") return message;
  if ("card" in message) return JSON.stringify(message.card);
  return [message.markdown, ...(message.files ?? []).map(({ filename }) => filename)].join("\n");
}
