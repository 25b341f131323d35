// One reply at its provider. The reply is a list of texts; what was begun of it is stored with the reply. Delivery brings the
// chat to the list: it posts what is missing and edits what differs, so going on after a crash is the same as going on. A
// message is noted before it is posted and its id after: one that was noted without an id may or may not be there.
// Therefore only a beginning is posted, marked as one, and the edit that makes it complete follows when its id is stored. A
// beginning whose id was lost is given up for another one: the complete text is in the chat exactly once. Where a provider
// cannot edit, a text is posted once, and a note follows when its fate is not known.
import { beforeDeadline } from "../../host/deadline.ts";
import type { Clock } from "../../host/ports.ts";
import { backoffMs } from "../../util/backoff.ts";
import type { ChatAdapter, ChatPostable } from "./chat-adapter.ts";
import type { NormalizedMessenger } from "./definition.ts";
import { classifyDeliveryError, GivenUpError, RetryLaterError, type DeliveryProblem } from "./delivery-errors.ts";
import { splitterOf } from "./delivery-policy.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Inbox, MessengerReply, Post } from "./inbox.ts";
import type { Pacer } from "./pacer.ts";

/** The text of a message that is begun and has no words yet. */
const PENDING = "…";
/** Characters from which on a text has a beginning that cannot be taken for the whole. */
const MIN_BEGINNING_CHARS = 40;
const MAX_BEGINNING_CHARS = 200;
/** Beginnings of one message whose ids may be lost: a quarter of an hour of tries. */
const MAX_LOST = 12;
/** The longest wait that is spent in place; longer ones are left to the object's wake. */
const MAX_WAIT_MS = 5_000;
const EDIT_INTERVAL_MS = 1_000;
const CALL_TIMEOUT_MS = 30_000;
const TRIES = 3;
const BACKOFF = { baseMs: 500, maxMs: MAX_WAIT_MS };

/** The means by which a reply is delivered. */
export interface DeliveryMeans {
  readonly adapter: ChatAdapter;
  readonly messenger: NormalizedMessenger;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly inbox: Inbox;
}

export class Delivery {
  readonly #reply: MessengerReply;
  readonly #means: DeliveryMeans;
  readonly #split: (text: string) => string[];
  readonly #editIntervalMs: number;
  /** Whether messages can be edited: what is posted first is only a beginning. */
  readonly #canEdit: boolean;
  /** Whether answers are shown while they grow. */
  readonly #canStream: boolean;
  readonly #posts: Post[];
  /** The text that each message shows, as far as this process knows. */
  readonly #shown: (string | undefined)[] = [];
  #latest = "";
  #nextEditAt = 0;
  #blockedUntil = 0;
  #pump: Promise<void> | undefined;
  readonly #ending = new AbortController();
  #failure: unknown;
  edits = 0;

  constructor(reply: MessengerReply, means: DeliveryMeans) {
    const { adapter, messenger } = means;
    const { delivery: policy, capabilities } = messenger;
    const isDirectMessage = adapter.isDM?.(reply.threadId) ?? false;
    this.#reply = reply;
    this.#means = means;
    this.#split = splitterOf(policy);
    this.#editIntervalMs = policy.editIntervalMs?.({ isDirectMessage }) ?? EDIT_INTERVAL_MS;
    this.#canEdit = capabilities.canEditMessages !== false;
    this.#canStream = this.#canEdit && capabilities.canStream !== false;
    this.#posts = reply.posts.map((post) => ({ ...post }));
  }

  get posts(): readonly Post[] {
    return this.#posts;
  }

  /** Whether a part of the answer may be in the chat. */
  get hasPosts(): boolean {
    return this.#posts.length > 0;
  }

  /** The error with which the provider refused a message while the answer was streamed. */
  get failure(): unknown {
    return this.#failure;
  }

  // ── While the answer grows ──

  /** Shows the text so far, when its time has come. */
  update(text: string): void {
    this.#latest = text;
    if (!this.#canStream || this.#pump || this.#failure !== undefined) return;
    this.#pump = this.#stream().finally(() => (this.#pump = undefined));
  }

  async #stream(): Promise<void> {
    let seen = "";
    let isShown = false;
    while ((seen !== this.#latest || !isShown) && !this.#ending.signal.aborted) {
      await this.#waitForEdit();
      if (this.#ending.signal.aborted) return;
      seen = this.#latest;
      try {
        isShown = await this.#converge(this.#split(seen), false);
      } catch (error) {
        // The complete text is delivered at the end, by its own rules.
        this.#failure = error;
        return;
      }
      this.#nextEditAt = Math.max(this.#nextEditAt, this.#means.clock.now() + this.#editIntervalMs);
    }
  }

  async #waitForEdit(): Promise<void> {
    const { clock } = this.#means;
    const wait = this.#nextEditAt - clock.now();
    if (wait <= 0) return;
    // The end does not wait for the pause between two edits.
    await clock.sleep(wait, this.#ending.signal).catch(() => undefined);
  }

  // ── The end ──

  /** Stops the stream. No call is under way when it resolves. */
  async stop(): Promise<void> {
    this.#ending.abort(new DOMException("The answer is complete.", "AbortError"));
    await this.#pump;
  }

  /** Delivers the whole text. Resolves when all of it is in the chat. Throws RetryLaterError, GivenUpError. */
  async finish(text: string, uncertainText: string): Promise<void> {
    await this.stop();
    const pieces = this.#split(text);
    await this.#converge(pieces, true);
    await this.#removeExtra(pieces.length);
    const isUncertain = this.#posts.some(({ id, apology }) => id === null && apology !== true);
    if (isUncertain) await this.#apologise({ markdown: uncertainText });
  }

  /** Posts one message after what is there, once. */
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

  /** Posts a card or a file, once; or the text in its place, where the provider refuses it. */
  async say(message: ChatPostable, index = 0): Promise<void> {
    const post = this.#posts[index];
    try {
      if (typeof post?.id === "string") {
        // A file that is there is whole.
        if (!hasFiles(message)) await this.#edit(index, message, true);
      } else if (!this.#mayBeWhole(post, message)) await this.#add(index, message, true);
    } catch (error) {
      const text = fallbackOf(message);
      if (text === undefined || !(error instanceof GivenUpError)) throw error;
      console.warn("A provider refused a card; its text is sent in its place.", error.cause);
      await this.sayText(text);
    }
  }

  /**
   * Posts messages in order, until each is known to be there: one that may not be is posted again, since a message that is
   * read twice does no harm. False: one was refused, or none of its tries is known to have arrived; none is sent after it.
   * Throws RetryLaterError.
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

  /** Posts a file once: it cannot be posted as a beginning. */
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

  /** Posts a text that is complete from its beginning, in as many messages as it needs. */
  async sayText(text: string): Promise<void> {
    await this.#converge(this.#split(text), true);
  }

  /** Brings the chat to these texts. False: some of them are not shown yet, and another edit is worth trying. */
  async #converge(pieces: readonly string[], isFinal: boolean): Promise<boolean> {
    let isShown = true;
    for (const [index, piece] of pieces.entries()) {
      const post = this.#posts[index];
      if (post?.apology) return true;
      if (post?.id === null && !isFinal) throw uncertainPost();
      // It may be there, complete: a note follows, and it is not posted again.
      if (this.#mayBeWhole(post, { markdown: piece })) continue;
      if (post === undefined || post.id === null) {
        // The words so far may be all there are: nothing that looks complete is posted before its id can be stored.
        if (!isFinal && this.#canEdit && beginningOf({ markdown: piece }) === PENDING) return isShown;
        if (!this.#mayCall("posts", isFinal)) return false;
        isShown = await this.#add(index, { markdown: piece }, isFinal);
        if (!isShown) continue;
      } else {
        if (this.#shown[index] === piece) continue;
        if (!this.#mayCall("edits", isFinal)) return false;
        if (!(await this.#edit(index, { markdown: piece }, isFinal))) continue;
      }
      this.#shown[index] = piece;
    }
    return isShown;
  }

  /** Whether a call may be made now. Before the end a call does not wait in line: the end would have to wait behind it. */
  #mayCall(kind: "posts" | "edits", isFinal: boolean): boolean {
    return isFinal || this.#means.pacer.isFree(kind);
  }

  #mayBeWhole(post: Post | undefined, message: ChatPostable): boolean {
    return post?.id === null && post.sent === fingerprint(textOf(message));
  }

  /** Deletes messages beyond the text: a later attempt of the turn gave a shorter answer. */
  async #removeExtra(count: number): Promise<void> {
    for (const { id, apology } of this.#posts.slice(count)) {
      if (id === null || apology) continue;
      await this.#means.adapter.deleteMessage?.(this.#reply.threadId, id).catch(() => undefined);
    }
  }

  // ── Calls ──

  /** Posts a message. False: only its beginning is there; the next edit has the rest. */
  async #add(index: number, message: ChatPostable, isFinal: boolean): Promise<boolean> {
    // A file has no beginning. A provider that never says what it did is not sent one beginning after the other.
    if (!this.#canEdit || hasFiles(message) || (this.#posts[index]?.lost ?? 0) >= MAX_LOST) {
      await this.#place(index, message, isFinal);
      return true;
    }
    await this.#place(index, { markdown: beginningOf(message) }, isFinal);
    if (typeof this.#posts[index]?.id !== "string") throw new RetryLaterError(0, this.#failure);
    return isFinal && this.#edit(index, message, true);
  }

  async #place(index: number, message: ChatPostable, isFinal: boolean): Promise<void> {
    await this.#untilAllowed();
    await this.#means.pacer.wait("posts");
    const known = this.#posts[index];
    const isLost = known?.id === null && known.sent !== undefined;
    const sent = fingerprint(textOf(message));
    this.#note(index, { ...known, id: null, sent, lost: isLost ? (known.lost ?? 0) + 1 : known?.lost });
    for (let tried = 1; ; tried += 1) {
      const problem = await this.#post(index, message);
      if (problem === undefined) return;
      if (problem.kind === "unknown") {
        if (isFinal) return;
        throw uncertainPost();
      }
      // The provider has answered that it was not posted.
      const wait = waitAfter(problem, tried);
      if (wait === undefined || wait > MAX_WAIT_MS) this.#forget(index);
      if (wait === undefined) throw new GivenUpError(problem.error);
      await this.#wait(wait, problem.error);
    }
  }

  /** Makes the call. Undefined: the message is there. */
  async #post(index: number, message: ChatPostable): Promise<(DeliveryProblem & { error: unknown }) | undefined> {
    let posted: { readonly id: string };
    try {
      // The package's own shape of a message is one of the adapter's.
      posted = await this.#inTime(this.#means.adapter.postMessage(this.#reply.threadId, message as never));
    } catch (error) {
      return { ...classifyDeliveryError(error), error };
    }
    // Not part of the call: an id that cannot be stored ends the delivery here.
    this.#note(index, { id: posted.id, apology: this.#posts[index]?.apology });
    return undefined;
  }

  /** Waits in place if the time is short. Throws RetryLaterError. */
  async #wait(waitMs: number, cause: unknown): Promise<void> {
    const { clock } = this.#means;
    this.#blockedUntil = clock.now() + waitMs;
    if (waitMs > MAX_WAIT_MS) throw new RetryLaterError(waitMs, cause);
    await clock.sleep(waitMs);
  }

  /** Waits out the pause that the provider asked for before. */
  async #untilAllowed(): Promise<void> {
    const left = this.#blockedUntil - this.#means.clock.now();
    if (left > 0) await this.#wait(left, this.#failure);
  }

  /** Edits a message. False: it shows an older text. */
  async #edit(index: number, message: ChatPostable, isFinal: boolean): Promise<boolean> {
    const { adapter, clock, messenger, pacer } = this.#means;
    const id = this.#posts[index]?.id;
    if (id === null || id === undefined) return false;
    if (isFinal) await this.#untilAllowed();
    for (let tried = 1; ; tried += 1) {
      await pacer.wait("edits");
      try {
        await this.#inTime(adapter.editMessage(this.#reply.threadId, id, message as never));
        this.edits += 1;
        return true;
      } catch (error) {
        if (messenger.delivery.isExpectedDeliveryCompletion?.(error)) return true;
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

  /** Ends the wait for a provider that never answers, which leaves it open whether it has the message. */
  #inTime<T>(call: Promise<T>): Promise<T> {
    const late = () => new DOMException("The provider did not answer in time.", "TimeoutError");
    return beforeDeadline(call, { clock: this.#means.clock, timeoutMs: CALL_TIMEOUT_MS, late });
  }

  #note(index: number, post: Post): void {
    this.#posts[index] = post;
    this.#save();
  }

  #forget(index: number): void {
    this.#posts.splice(index, 1);
    this.#save();
  }

  #save(): void {
    this.#means.inbox.change(this.#reply, { posts: this.#posts });
  }
}

/** The beginning of a streamed message may be in the chat or not. The complete text is delivered by other rules. */
function uncertainPost(): Error {
  return new Error("It is not known whether the beginning of a message is in the chat.");
}

/** Says how long to wait before the next try. Undefined: there is none. */
function waitAfter(
  problem:
    { readonly kind: "rate-limited"; readonly retryAfterMs: number } | { readonly kind: "unavailable" | "rejected" },
  tried: number
): number | undefined {
  if (problem.kind === "rejected") return undefined;
  if (problem.kind === "rate-limited") return problem.retryAfterMs;
  return tried < TRIES ? backoffMs(tried, BACKOFF) : MAX_WAIT_MS + 1;
}

/** The beginning of a message, which is never the whole text. */
function beginningOf(message: ChatPostable): string {
  if (typeof message === "object" && "card" in message) return PENDING;
  const text = textOf(message);
  if (text.length < MIN_BEGINNING_CHARS) return PENDING;
  const head = text.slice(0, Math.min(Math.floor(text.length / 2), MAX_BEGINNING_CHARS));
  const words = head.slice(0, head.lastIndexOf(" "));
  // The marks of a code block or a link that is cut would show as marks.
  return words.trim() === "" || /[`[\]<>|*_]/.test(words) ? PENDING : `${words.trimEnd()} ${PENDING}`;
}

function hasFiles(message: ChatPostable): boolean {
  return typeof message === "object" && "markdown" in message && (message.files?.length ?? 0) > 0;
}

function fallbackOf(message: ChatPostable): string | undefined {
  return typeof message === "object" && "card" in message ? message.fallbackText : undefined;
}

function textOf(message: ChatPostable): string {
  if (typeof message === "string") return message;
  if ("card" in message) return JSON.stringify(message.card);
  return [message.markdown, ...(message.files ?? []).map(({ filename }) => filename)].join("\n");
}
