// Delivers one reply on a surface of the caller's, such as a thread of the Chat SDK: the turn runs, its text is posted as it
// grows, what does not fit follows. This is for code with a `Chat` of its own; messengers that the class declares need none
// of it, and survive a crash, which a surface in memory does not.
import type { UIMessage } from "ai";
import type { StreamCallback } from "../../feature/stream-callback.ts";
import type { MessengerDeliveryPolicy } from "./definition.ts";
import { textsOf } from "./delivery-policy.ts";
import {
  messengerContextFromEvent,
  toMessengerUserMessage,
  type MessengerContext,
  type MessengerEvent
} from "./event.ts";
import { messengerReplyFailureMode, type MessengerReplyStage } from "./reply-snapshot.ts";
import { TextStreamCallback } from "./text-stream.ts";

export interface MessengerReplySurface {
  post(message: AsyncIterable<string> | string | { readonly markdown: string }): Promise<unknown>;
  startTyping?(status?: string): unknown;
}

/** A class that extends `Think`, or a stub of one. */
export interface MessengerReplyTarget {
  chat(message: UIMessage, callback: StreamCallback): Promise<unknown>;
  chatWithMessengerContext?(message: UIMessage, callback: StreamCallback, context: MessengerContext): Promise<unknown>;
  cancelChat?(requestId: string): unknown;
}

export interface DeliverReplyOptions {
  readonly event: MessengerEvent;
  readonly surface: MessengerReplySurface;
  readonly target: MessengerReplyTarget;
  readonly delivery?: MessengerDeliveryPolicy;
  /**
   * Stores how far the reply is, and is durable when it resolves: "accepted" at first, "streaming" before the first text is
   * visible, "completed" at the end.
   */
  readonly checkpoint?: (stage: MessengerReplyStage) => void | Promise<void>;
}

/** Delivers a reply. Resolves when the reply, or a text in its place, was posted. Nothing of an error reaches the chat. */
export async function deliverMessengerReply(options: DeliverReplyOptions): Promise<void> {
  const { event, surface, target, delivery = {}, checkpoint } = options;
  const { visibleSoftLimit, splitText, isExpectedDeliveryCompletion: isExpected } = delivery;
  const texts = textsOf(delivery);
  await checkpoint?.("accepted");
  const callback = new TextStreamCallback({ visibleSoftLimit, onVisibleStart: async () => checkpoint?.("streaming") });
  // Posting begins with the first text: a placeholder would stay behind an empty answer.
  const posting = postVisible(surface, callback).catch((error: unknown) => {
    if (isExpected?.(error)) return;
    const requestId = callback.requestId();
    if (requestId !== undefined) void Promise.resolve(target.cancelChat?.(requestId)).catch(() => undefined);
    callback.fail(error);
    throw error;
  });
  posting.catch(() => undefined);
  let turnCompleted = false;
  try {
    startTyping(surface);
    await runTurn(target, event, callback);
    turnCompleted = !callback.wasInterrupted();
    callback.onDone();
    await posting;
    if (callback.wasInterrupted()) await say(surface, texts.interrupted);
    else if (!callback.hasText()) await surface.post(texts.empty);
    else for (const chunk of splitText?.(callback.remainingText()) ?? []) await surface.post(chunk);
  } catch (error) {
    callback.fail(error);
    await posting.catch(() => undefined);
    console.error("A reply of a messenger was not delivered.", error);
    const expected = isExpected?.(error) ?? false;
    const mode = messengerReplyFailureMode(callback.hasText(), turnCompleted, expected);

    if (mode !== "none") await say(surface, texts[mode]);
  }
  await checkpoint?.("completed");
}

async function runTurn(
  target: MessengerReplyTarget,
  event: MessengerEvent,
  callback: TextStreamCallback
): Promise<void> {
  const message = toMessengerUserMessage([event]);
  let failure: Error | undefined;
  // Functions reach a target in another object; an instance of a class does not.
  const handlers: StreamCallback = {
    onStart: (started) => callback.onStart(started),
    onEvent: (json) => callback.onEvent(json),
    onDone: () => callback.onDone(),
    onError: (reason) => void (failure = new Error(reason)),
    onInterrupted: () => callback.onInterrupted()
  };
  if (target.chatWithMessengerContext) {
    await target.chatWithMessengerContext(message, handlers, messengerContextFromEvent(event));
  } else await target.chat(message, handlers);
  if (failure) throw failure;
}

async function postVisible(surface: MessengerReplySurface, callback: TextStreamCallback): Promise<void> {
  const stream = callback.stream();
  const first = await stream.next();
  if (first.done) return;
  const rest = async function* (): AsyncGenerator<string> {
    yield first.value;
    yield* stream;
  };
  await surface.post(rest());
}

/** Shows that the bot is typing. A failure costs nothing. */
function startTyping(surface: MessengerReplySurface): void {
  void Promise.resolve()
    .then(() => surface.startTyping?.("Thinking..."))
    .catch(() => undefined);
}

/** Posts a text in the place of a reply. A failure is logged: the chat may be what failed. */
async function say(surface: MessengerReplySurface, markdown: string): Promise<void> {
  await surface.post({ markdown }).catch((error: unknown) => {
    console.error("The text in the place of a messenger's reply was not posted.", error);
  });
}
