// The visible text of one turn as a stream, for code that posts a reply itself, such as a `Chat` of the Chat SDK that the
// class runs. The package's own messengers deliver a turn's text in replies.ts.
import { ReplyText } from "./reply-text.ts";

export interface TextStreamOptions {
  /** Characters that are streamed; the rest is `remainingText()`. Default: all of them. */
  readonly visibleSoftLimit?: number;
  /** Called and awaited once, before the first text is given. */
  readonly onVisibleStart?: () => void | Promise<void>;
}

/** A callback for `chat()`, whose `stream()` is for the code that posts. */
export class TextStreamCallback {
  readonly #limit: number;
  readonly #onVisibleStart: (() => void | Promise<void>) | undefined;
  readonly #text = new ReplyText();
  /** Characters of the text that were given to the stream. */
  #given = 0;
  #requestId: string | undefined;
  #end: { readonly error?: unknown } | undefined;
  #isInterrupted = false;
  #changed: () => void = () => undefined;

  constructor({ visibleSoftLimit = Number.POSITIVE_INFINITY, onVisibleStart }: TextStreamOptions = {}) {
    this.#limit = visibleSoftLimit;
    this.#onVisibleStart = onVisibleStart;
  }

  // ── Of a turn ──

  onStart({ requestId }: { readonly requestId: string }): void {
    this.#requestId = requestId;
  }

  onEvent(json: string): void {
    if (this.#text.read(json)) this.#changed();
  }

  onDone(): void {
    this.#finish({});
  }

  onError(message: string): void {
    this.fail(new Error(message));
  }

  /** Ends the stream of a turn that is not over, and goes on without it. */
  onInterrupted(): void {
    this.#isInterrupted = true;
    this.#finish({});
  }

  /** Ends the stream with an error, which it throws when what is pending was read. */
  fail(error: unknown): void {
    this.#finish({ error });
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#changed();
  }

  // ── Of what posts ──

  /** Gives what is visible, piece by piece, to one reader. */
  async *stream(): AsyncGenerator<string, void, undefined> {
    for (;;) {
      const visible = this.visibleText();
      if (visible.length > this.#given) {
        if (this.#given === 0) await this.#onVisibleStart?.();
        const piece = visible.slice(this.#given);
        this.#given = visible.length;
        yield piece;
      } else if (this.visibleLimitReached()) return;
      else if (this.#end) {
        if ("error" in this.#end) throw this.#end.error;
        return;
      } else await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  visibleText(): string {
    return this.#text.value.slice(0, this.#limit);
  }

  remainingText(): string {
    return this.#text.value.slice(this.visibleText().length);
  }

  textSoFar(): string {
    return this.#text.value;
  }

  hasText(): boolean {
    return this.#text.value.trim() !== "";
  }

  visibleLimitReached(): boolean {
    return this.#text.value.length >= this.#limit;
  }

  wasInterrupted(): boolean {
    return this.#isInterrupted;
  }

  requestId(): string | undefined {
    return this.#requestId;
  }
}
