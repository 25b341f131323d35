// One reply at its provider. What is to be seen is a list of texts; what was begun is in the reply's row. Delivery brings
// the one to the other: it posts what is missing and edits what differs, so going on after a crash is the same as going
// on. A message is noted before it is posted and its id after: one that was noted without an id may or may not be there.
// Its complete text is never posted again; only the beginning of a streamed answer is given up for the complete text.
import type { Clock } from "../host/ports.ts";
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

/** Waits of this length are spent in place; longer ones are left to the object's wake. */
const MAX_WAIT_MS = 5_000;
const CALL_TIMEOUT_MS = 30_000;
const TRIES = 3;
const FIRST_BACKOFF_MS = 500;

export interface DeliveryInit {
  readonly adapter: ChatAdapter;
  readonly threadId: string;
  readonly posts: readonly Post[];
  readonly clock: Clock;
  readonly canEdit: boolean;
  readonly editIntervalMs: number;
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
    if (!this.#init.canEdit || this.#pump || this.#failure !== undefined) return;
    this.#pump = this.#stream().finally(() => (this.#pump = undefined));
  }

  async #stream(): Promise<void> {
    let seen = "";
    while (seen !== this.#latest && !this.#ending.signal.aborted) {
      await this.#paced();
      if (this.#ending.signal.aborted) return;
      seen = this.#latest;
      try {
        await this.#converge(this.#init.split(seen), false);
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
    if (isUncertain && !this.#posts.some(({ apology }) => apology === true)) {
      await this.#apologise({ markdown: uncertainText });
    }
  }

  /** One message after what is there, once. */
  async append(message: ChatPostable): Promise<void> {
    await this.stop();
    if (this.#posts.some(({ apology }) => apology === true)) return;
    await this.#apologise(message);
  }

  #apologise(message: ChatPostable): Promise<void> {
    const index = this.#posts.length;
    this.#posts[index] = { id: null, apology: true };
    return this.#add(index, message, true);
  }

  /** A card, once. */
  async say(message: ChatPostable): Promise<void> {
    if (this.#posts.length === 0) await this.#add(0, message, true);
  }

  /** A text that is complete from its beginning, in as many messages as it needs. */
  async sayText(text: string): Promise<void> {
    await this.#converge(this.#init.split(text), true);
  }

  async #converge(pieces: readonly string[], isFinal: boolean): Promise<void> {
    for (const [index, piece] of pieces.entries()) {
      const post = this.#posts[index];
      if (post?.apology) return;
      if (post?.id === null && !isFinal) throw new UncertainPostError();
      // It may be there, complete: the user is told, and it is not posted again.
      if (post?.id === null && post.sent === fingerprint(piece)) continue;
      if (post === undefined || post.id === null) await this.#add(index, { markdown: piece }, isFinal);
      else if (this.#shown[index] === piece || !(await this.#edit(index, piece, isFinal))) continue;
      this.#shown[index] = piece;
    }
  }

  /** A later attempt of the turn gave a shorter answer. */
  async #removeExtra(count: number): Promise<void> {
    for (const { id, apology } of this.#posts.slice(count)) {
      if (id === null || apology) continue;
      await this.#init.adapter.deleteMessage?.(this.#init.threadId, id).catch(() => undefined);
    }
  }

  // ── Calls ──

  async #add(index: number, message: ChatPostable, isFinal: boolean): Promise<void> {
    await this.#allowed();
    const begun = { ...this.#posts[index], id: null, sent: fingerprint(textOf(message)) };
    this.#note(index, begun);
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
    try {
      // The package's own shape of a message is one of the adapter's.
      const { id } = await this.#limited(adapter.postMessage(threadId, message as never));
      this.#note(index, { id, ...(this.#posts[index]?.apology && { apology: true }) });
      return undefined;
    } catch (error) {
      return { ...classifyDeliveryError(error), error };
    }
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
  async #edit(index: number, piece: string, isFinal: boolean): Promise<boolean> {
    const { adapter, threadId, clock, isExpected } = this.#init;
    const id = this.#posts[index]?.id;
    if (id === null || id === undefined) return false;
    if (isFinal) await this.#allowed();
    for (let tried = 1; ; tried += 1) {
      try {
        await this.#limited(adapter.editMessage(threadId, id, { markdown: piece } as never));
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
        // An edit that is refused, or fails again and again, must not cost the answer: it is posted anew.
        else return this.#add(index, { markdown: piece }, true).then(() => true);
      }
    }
  }

  /** A provider that never answers leaves it open whether it has the message. */
  async #limited<T>(call: Promise<T>): Promise<T> {
    const timer = new AbortController();
    const timeout = this.#init.clock.sleep(CALL_TIMEOUT_MS, timer.signal).then(() => {
      throw new DOMException("The provider did not answer in time.", "TimeoutError");
    });
    try {
      return await Promise.race([call, timeout]);
    } finally {
      timer.abort();
      timeout.catch(() => undefined);
      call.catch(() => undefined);
    }
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
  return tried < TRIES ? FIRST_BACKOFF_MS * 2 ** tried : MAX_WAIT_MS + 1;
}

function textOf(message: ChatPostable): string {
  if (typeof message === "string") return message;
  return "markdown" in message ? message.markdown : JSON.stringify(message.card);
}
