// The commands of the user, on their way to the agent: one queue, first in, first out, whatever the kind of command. A
// command stays in it until the agent is known to have it. When a connection breaks, those in doubt are sent again in
// their place on the next one; a command that must not run twice is reported as lost instead.
import { isLongerThan } from "../util/bytes.ts";
import { FrameTooLargeError } from "./errors.ts";

/** The platform closes the connection on a larger one. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024;

export interface OutboxCommand {
  /** Adding a second one with the same key takes the first one back. */
  readonly key: string;
  readonly frame: string;
  /** Waits until the server has sent what it has: it may have this command from an earlier connection. */
  readonly isChat: boolean;
  /** True: only its own answer ends it. False: the server has it when it has answered something that was sent later. */
  readonly needsAnswer: boolean;
  /** Whether the server's transcript shows that it has the command. In doubt: sent on an earlier connection only. */
  isDone?(isInDoubt: boolean): boolean;
  /** Present: it is never sent twice. Makes the error for one that was sent when the connection broke. */
  lost?(): Error;
  onSent?(): void;
}

interface Entry {
  readonly command: OutboxCommand;
  /** Its number among what was sent on this connection. */
  sentAs: number | undefined;
  wasSent: boolean;
  readonly promise: Promise<void>;
  resolve(value?: Promise<void>): void;
  reject(error: Error): void;
}

export interface OutboxInit {
  /** False: there is no connection. */
  send(text: string): boolean;
  /** The server has sent on this connection what it has. */
  isGreeted(): boolean;
}

export class Outbox {
  readonly #init: OutboxInit;
  readonly #entries = new Map<string, Entry>();
  #sent = 0;
  #closedFor: Error | undefined;

  constructor(init: OutboxInit) {
    this.#init = init;
  }

  /** Resolves when the agent has it. A caller that does not look at the promise need not handle its rejection. */
  add(command: OutboxCommand): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => undefined);
    const problem = this.#closedFor ?? tooLarge(command);
    if (problem) {
      reject(problem);
      return promise;
    }
    const earlier = this.#entries.get(command.key);
    this.#entries.delete(command.key);
    this.#entries.set(command.key, { command, sentAs: undefined, wasSent: false, promise, resolve, reject });
    earlier?.resolve(promise);
    this.pump();
    return promise;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  hasAny(keyPrefix: string): boolean {
    return [...this.#entries.keys()].some((key) => key.startsWith(keyPrefix));
  }

  /** The command that was added last, if it has not been sent yet. */
  get newestUnsent(): string | undefined {
    const newest = [...this.#entries.values()].at(-1);
    return newest?.sentAs === undefined ? newest?.command.key : undefined;
  }

  /** Something was sent that a later answer of the server will confirm. */
  get isWaitingForConfirmation(): boolean {
    return [...this.#entries.values()].some(({ sentAs, command }) => sentAs !== undefined && !command.needsAnswer);
  }

  /** Sends what can be sent. A command that cannot be sent yet holds back all those behind it. */
  pump(): void {
    for (const entry of this.#entries.values()) {
      if (entry.sentAs !== undefined) continue;
      const { command } = entry;
      if (command.isChat && !this.#init.isGreeted()) return;
      if (!this.#init.send(command.frame)) return;
      this.#sent += 1;
      entry.sentAs = this.#sent;
      entry.wasSent = true;
      command.onSent?.();
    }
  }

  /** What the server shows has changed: commands that it evidently has are done. */
  settle(): void {
    for (const { command, sentAs, wasSent } of this.#entries.values()) {
      if (command.isDone?.(wasSent && sentAs === undefined)) this.acknowledge(command.key);
    }
  }

  /** What was sent so far: an answer to what is sent next confirms it. */
  get mark(): number {
    return this.#sent;
  }

  /** Frames of one connection are handled in their order: all up to the mark have arrived. */
  confirm(mark: number): void {
    for (const { command, sentAs } of this.#entries.values()) {
      if (sentAs !== undefined && sentAs <= mark && !command.needsAnswer) this.acknowledge(command.key);
    }
  }

  acknowledge(key: string): void {
    this.#take(key)?.resolve();
  }

  /** False: there is no such command. */
  refuse(key: string, error: Error): boolean {
    const entry = this.#take(key);
    entry?.reject(error);
    return entry !== undefined;
  }

  /** The connection is gone. `isTooLarge`: because of the size of something that was sent. */
  dropped(isTooLarge: boolean): void {
    if (isTooLarge) this.#refuseLargest();
    for (const entry of this.#entries.values()) {
      if (entry.sentAs === undefined) continue;
      entry.sentAs = undefined;
      const { key, lost } = entry.command;
      if (lost) this.refuse(key, lost());
    }
  }

  /** Callers stop waiting. A command that may be sent twice stays for the next connection. */
  closed(error: Error): void {
    for (const { command, reject } of this.#entries.values()) {
      if (command.lost) this.#entries.delete(command.key);
      reject(error);
    }
  }

  /** There will be no connection: nothing is accepted until `reopen`. */
  closeForGood(error: Error): void {
    this.#closedFor = error;
    for (const key of [...this.#entries.keys()]) this.refuse(key, error);
  }

  reopen(): void {
    this.#closedFor = undefined;
  }

  /** Sent again it would end the next connection as well. */
  #refuseLargest(): void {
    const sent = [...this.#entries.values()].filter(({ sentAs }) => sentAs !== undefined);
    const [largest] = sent.sort((a, b) => b.command.frame.length - a.command.frame.length);
    if (largest) this.refuse(largest.command.key, new FrameTooLargeError());
  }

  #take(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    return entry;
  }
}

function tooLarge({ frame }: OutboxCommand): Error | undefined {
  return isLongerThan(frame, MAX_FRAME_BYTES) ? new FrameTooLargeError(MAX_FRAME_BYTES) : undefined;
}
