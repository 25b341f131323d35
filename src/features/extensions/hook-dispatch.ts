// Hooks of extensions in a turn: one extension after another, in the order in which they were loaded, each with a deadline.
// One that fails costs its contribution and a line in the log, never the turn. One that was timed out is not asked again in
// that turn: otherwise every call of a tool would wait for it again.
//
// In a turn each extension has one isolate for its hooks, so that it can add up what it sees. It is gone with the turn.
import type { IsolateLoader } from "../../sandbox/isolate.ts";
import { errorMessage } from "../../util/errors.ts";
import type { HostBridgeInit } from "./host-bridge.ts";
import { callIsolate, ExtensionTimeoutError, openExtension, type ExtensionEntrypoint } from "./isolate-call.ts";
import type { CheckedManifest, ExtensionHook } from "./manifest.ts";

/** An extension that wants to be called. */
export interface HookSubscriber {
  readonly manifest: CheckedManifest;
  readonly modules: Readonly<Record<string, string>>;
}

export interface HookDispatchInit {
  readonly loader: IsolateLoader;
  readonly bridge: HostBridgeInit;
  readonly subscribers: (hook: ExtensionHook) => readonly HookSubscriber[];
  readonly timeoutMs: () => number;
  readonly failed: (name: string, hook: ExtensionHook, error: string) => void;
  /** Work that no caller waits for. */
  readonly background: (work: Promise<unknown>) => void;
}

/** Which turn it is. */
export interface HookTurn {
  readonly turnId: string;
  readonly signal: AbortSignal;
}

/** What is kept of a turn while it runs. */
interface TurnState {
  readonly isolates: Map<HookSubscriber, ExtensionEntrypoint>;
  readonly timedOut: Set<HookSubscriber>;
  readonly chunks: ChunkQueue;
}

interface HookCall {
  readonly state: TurnState;
  readonly signal: AbortSignal;
  readonly hook: ExtensionHook;
  readonly subscriber: HookSubscriber;
}

/** A batch is sent when it has so many, or so long after its first. */
const BATCH_CHUNKS = 64;
const BATCH_MS = 50;
/** Chunks that wait for a slow hook; further ones are dropped. */
const MAX_WAITING = 5_000;

/** Turns whose state is kept at once: one runs at a time, and each is dropped at its end. */
const MAX_TURNS = 20;

export class HookDispatch {
  readonly #init: HookDispatchInit;
  readonly #turns = new Map<string, TurnState>();

  constructor(init: HookDispatchInit) {
    this.#init = init;
  }

  wants(hook: ExtensionHook): boolean {
    return this.#init.subscribers(hook).length > 0;
  }

  /** For hooks that only observe. Never throws. */
  async observe(turn: HookTurn, hook: ExtensionHook, snapshot: () => object): Promise<void> {
    if (!this.wants(hook)) return;
    const { signal } = turn;
    const state = this.#stateOf(turn);
    const shown = snapshot();
    // In order: what was streamed before is seen before.
    await state.chunks.flush();
    for (const subscriber of this.#init.subscribers(hook))
      await this.#call({ state, signal, hook, subscriber }, [shown]);
  }

  /** Asks each for its answer, with a snapshot that may depend on the answers before. Never throws. */
  async ask(
    turn: HookTurn,
    hook: ExtensionHook,
    step: { snapshot: () => object; answered: (manifest: CheckedManifest, answer: unknown) => void }
  ): Promise<void> {
    if (!this.wants(hook)) return;
    const { signal } = turn;
    const state = this.#stateOf(turn);
    for (const subscriber of this.#init.subscribers(hook)) {
      const answer = await this.#call({ state, signal, hook, subscriber }, [step.snapshot()]);
      if (answer !== undefined) step.answered(subscriber.manifest, answer);
    }
  }

  /** Takes a chunk and returns at once: no token waits for an extension. */
  chunk(turn: HookTurn, snapshot: () => object): void {
    if (this.wants("onChunk")) this.#stateOf(turn).chunks.add(snapshot());
  }

  /** What is left of its chunks is still sent. */
  turnEnded(turnId: string): void {
    const state = this.#turns.get(turnId);
    if (!state) return;
    this.#turns.delete(turnId);
    this.#init.background(state.chunks.flush());
  }

  #stateOf({ turnId }: HookTurn): TurnState {
    const known = this.#turns.get(turnId);
    if (known) return known;
    const state: TurnState = {
      isolates: new Map(),
      timedOut: new Set(),
      chunks: new ChunkQueue((chunks) => this.#sendChunks(state, chunks), this.#init.background)
    };
    this.#turns.set(turnId, state);
    const [oldest] = this.#turns.keys();
    if (this.#turns.size > MAX_TURNS && oldest !== undefined) this.#turns.delete(oldest);
    return state;
  }

  /** They were streamed: that the turn has ended since then, or was stopped, does not take them back. */
  async #sendChunks(state: TurnState, chunks: readonly object[]): Promise<void> {
    const signal = new AbortController().signal;
    for (const subscriber of this.#init.subscribers("onChunk"))
      await this.#call({ state, signal, hook: "onChunk", subscriber }, chunks);
  }

  async #call({ state, signal, hook, subscriber }: HookCall, snapshots: readonly object[]): Promise<unknown> {
    if (state.timedOut.has(subscriber) || signal.aborted) return undefined;
    const { manifest, modules } = subscriber;
    const { loader, bridge, timeoutMs, failed } = this.#init;
    try {
      const isolate = state.isolates.get(subscriber) ?? openExtension(loader, modules);
      state.isolates.set(subscriber, isolate);
      const call = { manifest, bridge, timeoutMs: timeoutMs(), signal };
      return await callIsolate(call, (functions) => isolate.hook(hook, JSON.stringify(snapshots), functions));
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof ExtensionTimeoutError) state.timedOut.add(subscriber);
      failed(manifest.name, hook, errorMessage(error));
      return undefined;
    }
  }
}

/** Chunks on their way to hooks: gathered for a moment and sent together, one batch after another. Adding one never waits. */
class ChunkQueue {
  readonly #send: (chunks: readonly object[]) => Promise<void>;
  readonly #background: (work: Promise<unknown>) => void;
  #waiting: object[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isOverfull = false;

  /** `send` never throws. */
  constructor(send: (chunks: readonly object[]) => Promise<void>, background: (work: Promise<unknown>) => void) {
    this.#send = send;
    this.#background = background;
  }

  add(chunk: object): void {
    if (this.#waiting.length >= MAX_WAITING) {
      if (!this.#isOverfull)
        console.warn("Extensions do not keep up with onChunk: further chunks are not sent to them.");
      this.#isOverfull = true;
      return;
    }
    this.#waiting.push(chunk);
    if (this.#waiting.length === BATCH_CHUNKS) this.#background(this.flush());
    else this.#timer ??= setTimeout(() => this.#background(this.flush()), BATCH_MS);
  }

  /** Resolves when everything that was added so far is sent. */
  flush(): Promise<unknown> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#last = this.#last.then(async () => {
      while (this.#waiting.length > 0) await this.#send(this.#waiting.splice(0, BATCH_CHUNKS));
    });
    return this.#last;
  }
}
