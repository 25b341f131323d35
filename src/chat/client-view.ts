// What is remembered about one socket: how far it takes part in the current stream, and whether it is known to show the
// stored transcript. In memory only: a running turn keeps the object alive, and after a restart nothing is known, which
// every decision takes for the worse case.
import type { ChatSocket } from "./sockets.ts";

/** A request, as far as it tells what its client shows. */
export interface Posting {
  readonly posted: readonly { readonly id: string }[];
  readonly now: number;
  /** How long a frame may be under way. */
  readonly periodMs: number;
}

export class ClientView {
  /** The newest wrapper of the socket; the key behind it never changes. */
  socket: ChatSocket;
  /** A replay of this request was offered and not acknowledged: live chunks would come before it. */
  #offered: string | undefined;
  /** The stream it has acknowledged on this socket. */
  #acknowledged: string | undefined;
  /** The turn it hears live since its first chunk. */
  #following: string | undefined;
  #isParked = false;
  #inStep = false;
  #snapshotAt: number | undefined;
  /** The newest answer it heard to the end since that snapshot. */
  #heardSince: string | undefined;

  constructor(socket: ChatSocket) {
    this.socket = socket;
  }

  get offered(): string | undefined {
    return this.#offered;
  }

  get isParked(): boolean {
    return this.#isParked;
  }

  /** Shows exactly what is stored, as far as we know. */
  get inStep(): boolean {
    return this.#inStep;
  }

  hasAcknowledged(requestId: string): boolean {
    return this.#acknowledged === requestId;
  }

  isFollowing(turnId: string): boolean {
    return this.#following === turnId;
  }

  /** Was told to wait for a stream. */
  park(): void {
    this.#isParked = true;
  }

  unpark(): boolean {
    const wasParked = this.#isParked;
    this.#isParked = false;
    return wasParked;
  }

  /** An offer went out. One who acknowledged this stream before is not made to do it again. */
  offer(requestId: string): void {
    this.#isParked = false;
    if (this.#acknowledged === requestId) return;
    this.#offered = requestId;
    this.#following = undefined;
  }

  /** It has been sent everything so far and hears the rest live. */
  acknowledge(requestId: string): void {
    this.#offered = undefined;
    this.#acknowledged = requestId;
    this.#isParked = false;
  }

  /** A stream begins and this socket hears it from the start. */
  follow(turnId: string): void {
    this.#following = turnId;
  }

  /** A stream is over, or everything is. */
  endStream(requestId?: string): void {
    if (requestId === undefined || this.#offered === requestId) this.#offered = undefined;
    if (requestId === undefined || this.#acknowledged === requestId) this.#acknowledged = undefined;
    this.#following = undefined;
  }

  /** In the middle of a stream it takes the unfinished answer off the screen: what follows does not bring it back. */
  tookSnapshot(now: number): void {
    this.#snapshotAt = now;
    this.#heardSince = undefined;
    this.#inStep = true;
    this.#following = undefined;
  }

  /** It was sent an answer, live and whole. */
  heard(messageId: string): void {
    this.#heardSince = messageId;
  }

  /**
   * A snapshot this recent may have crossed a message the client was just sending, and erased it there. Not if it was
   * sent an answer behind the snapshot and posts that: then it had the snapshot before. One that posts its new message
   * alone does not say; it is taken to have waited for the answer.
   */
  mayHaveCrossed({ posted, now, periodMs }: Posting): boolean {
    if (this.#snapshotAt === undefined || now - this.#snapshotAt >= periodMs) return false;
    const heard = this.#heardSince;
    return heard === undefined || !(posted.length === 1 || posted.some(({ id }) => id === heard));
  }

  setInStep(inStep: boolean): void {
    this.#inStep = inStep;
  }
}
