// The clients of a conversation: their sockets, what is remembered about each, and sending to them. The owner of the
// connections adapts them to ChatSocket; nothing here depends on ids, tags or attachments, so two sockets of one client
// can never be mistaken for each other. What is remembered is in memory only: a running turn keeps the object alive, and
// after a restart every decision assumes the worse case. A frame is encoded once for all its recipients, and not at all
// when there are none; one bad socket never keeps the others from theirs.
import type { TurnView } from "../turn/turn.ts";
import { chatFrames } from "./frames.ts";
import type { ChatProtocolInit } from "./protocol.ts";

export interface ChatSocket {
  /** The same object for the same socket, and for no other: what is remembered about a client is stored under it. */
  readonly key: object;
  /** False when the client is gone. */
  send(frame: string): boolean;
  readonly isOpen: boolean;
}

export interface ChatSockets {
  /** Open sockets that want unsolicited frames, in order of acceptance. */
  list(): ChatSocket[];
}

/** A client of another encoding, as the origin of what it starts. */
export abstract class OtherClient {
  /** Its connection, or itself if it has none. */
  abstract readonly key: object;
  abstract readonly isOpen: boolean;
}

/**
 * A snapshot is the only frame that adds a message to what a published client shows, or moves one, and it grows with the
 * conversation: one per question, or per answer of a queue, would cost the square of their number. So this many come at
 * once when they follow each other closely; from then on there is one per pause.
 */
const SNAPSHOTS_AT_ONCE = 20;
/** The pause where messages are missing. */
const MESSAGES_PAUSE_MS = 250;
/** The pause for the order grows with the snapshot: a client is sent 4,000 characters of them per second. */
const ORDER_CHARS_PER_MS = 4;
/** After so long without one, and at least two pauses, they may come at once again. */
const CALM_MS = 2_000;

/**
 * What a client that was not sent a snapshot does not show. `messages`: some are missing; it needs them before an answer to
 * them begins. `order`: it has all of them, but in another order, or with a partial that was not kept. In the middle of a
 * stream a snapshot would remove the unfinished answer from its screen, so that waits for the stream to end.
 */
export type Missing = "messages" | "order";

/** Snapshots of one client that followed each other within this time. */
interface Row {
  readonly count: number;
  readonly pauseMs: number;
}

/** What a request says about what its client shows. */
export interface Posting {
  readonly posted: readonly { readonly id: string }[];
  readonly now: number;
  /** How long a frame may be in transit. */
  readonly periodMs: number;
}

export class ClientView {
  /** The newest wrapper of the socket; the key behind it never changes. */
  socket: ChatSocket;
  /** A replay of this request was offered and not acknowledged: live chunks would come before it. */
  #offered: string | undefined;
  /** The stream it has acknowledged on this socket. */
  #acknowledged: string | undefined;
  /** The turn it receives live since its first chunk. */
  #following: string | undefined;
  #isParked = false;
  #isInSync = false;
  #snapshotAt: number | undefined;
  /** The newest answer it received to the end since that snapshot. */
  #receivedSince: string | undefined;
  readonly #rows: Record<Missing, Row> = {
    messages: { count: 0, pauseMs: MESSAGES_PAUSE_MS },
    order: { count: 0, pauseMs: MESSAGES_PAUSE_MS }
  };
  /** It is owed a snapshot of whatever is stored then. */
  #owed: Missing | undefined;

  constructor(socket: ChatSocket) {
    this.socket = socket;
  }

  get offered(): string | undefined {
    return this.#offered;
  }

  /** Shows exactly what is stored, as far as the server can tell. */
  get isInSync(): boolean {
    return this.#isInSync;
  }

  hasAcknowledged(requestId: string): boolean {
    return this.#acknowledged === requestId;
  }

  isFollowing(turnId: string): boolean {
    return this.#following === turnId;
  }

  /** Was sent `pending`: it waits for a stream. */
  park(): void {
    this.#isParked = true;
  }

  unpark(): boolean {
    const wasParked = this.#isParked;
    this.#isParked = false;
    return wasParked;
  }

  /** An offer was sent. A client that has acknowledged this stream before does not have to do it again. */
  offer(requestId: string): void {
    this.#isParked = false;
    if (this.#acknowledged === requestId) return;
    this.#offered = requestId;
    this.#following = undefined;
  }

  /**
   * What it shows of this stream is no longer the answer: it is sent no more of it, unless it acknowledges the stream again.
   */
  withhold(requestId: string): void {
    this.#acknowledged = undefined;
    this.#offered = requestId;
    this.#following = undefined;
  }

  /** It was sent everything so far and receives the rest live. */
  acknowledge(requestId: string): void {
    this.#offered = undefined;
    this.#acknowledged = requestId;
    this.#isParked = false;
  }

  /** A stream begins and this socket receives it from the start. */
  follow(turnId: string): void {
    this.#following = turnId;
  }

  /** The stream of this request is over; without a request, every stream is. */
  endStream(requestId?: string): void {
    if (requestId === undefined || this.#offered === requestId) this.#offered = undefined;
    if (requestId === undefined || this.#acknowledged === requestId) this.#acknowledged = undefined;
    this.#following = undefined;
  }

  /** In the middle of a stream a snapshot removes the unfinished answer from the screen: later chunks do not restore it. */
  tookSnapshot(now: number, chars: number): void {
    this.#count("messages", now, MESSAGES_PAUSE_MS);
    this.#count("order", now, Math.max(MESSAGES_PAUSE_MS, chars / ORDER_CHARS_PER_MS));
    this.#owed = undefined;
    this.#snapshotAt = now;
    this.#receivedSince = undefined;
    this.#isInSync = true;
    this.#following = undefined;
  }

  /** How long it has to wait for one more snapshot. */
  snapshotDueMs(now: number, missing: Missing): number {
    const { count, pauseMs } = this.#rows[missing];
    return count < SNAPSHOTS_AT_ONCE ? 0 : Math.max(0, pauseMs - this.#sinceSnapshotMs(now));
  }

  owe(missing: Missing): void {
    if (this.#owed !== "messages") this.#owed = missing;
    this.#isInSync = false;
  }

  get owed(): Missing | undefined {
    return this.#owed;
  }

  #count(missing: Missing, now: number, pauseMs: number): void {
    const row = this.#rows[missing];
    // One that comes when the pause is over still belongs to the row.
    const isCalm = this.#sinceSnapshotMs(now) >= Math.max(CALM_MS, 2 * row.pauseMs);
    this.#rows[missing] = { count: isCalm ? 1 : row.count + 1, pauseMs };
  }

  #sinceSnapshotMs(now: number): number {
    return this.#snapshotAt === undefined ? Infinity : now - this.#snapshotAt;
  }

  /** It was sent an answer, live and whole. */
  received(messageId: string): void {
    this.#receivedSince = messageId;
  }

  /**
   * A recent snapshot may have crossed a message that the client was just sending, and erased it there. Not if the client
   * was sent an answer after the snapshot and posts that answer: then it had the snapshot before. A client that posts its
   * new message alone does not show this; it is assumed to have waited for the answer.
   */
  mayHaveCrossed({ posted, now, periodMs }: Posting): boolean {
    if (this.#snapshotAt === undefined || now - this.#snapshotAt >= periodMs) return false;
    const received = this.#receivedSince;
    return received === undefined || !(posted.length === 1 || posted.some(({ id }) => id === received));
  }

  setInSync(isInSync: boolean): void {
    this.#isInSync = isInSync;
  }
}

export class ChatClients {
  readonly #init: ChatProtocolInit;
  #isPaying = false;
  readonly #views = new Map<object, ClientView>();

  constructor(init: ChatProtocolInit) {
    this.#init = init;
  }

  of(socket: ChatSocket): ClientView {
    const known = this.#views.get(socket.key);
    if (known) {
      known.socket = socket;
      return known;
    }
    // A close that was never reported must not keep its view in memory for ever.
    for (const [key, view] of this.#views) if (!view.socket.isOpen) this.#views.delete(key);
    const view = new ClientView(socket);
    this.#views.set(socket.key, view);
    return view;
  }

  forget(socket: ChatSocket): void {
    this.#views.delete(socket.key);
  }

  /** Clients that want unsolicited frames. */
  all(): ClientView[] {
    return this.#init.sockets.list().map((socket) => this.of(socket));
  }

  /** All clients, also those that only want answers to their own requests. */
  known(): Iterable<ClientView> {
    this.all();
    return this.#views.values();
  }

  /** The recipients of a turn's frames: clients that want all frames, the one that asked, and those that joined its stream. */
  ofTurn(turn: TurnView): ClientView[] {
    const recipients = new Set(this.all());
    for (const view of this.#views.values()) {
      if (!recipients.has(view) && this.#takesPart(view, turn)) recipients.add(view);
    }
    return [...recipients];
  }

  /** The client that started something, while it is connected. */
  origin(origin: unknown): ClientView | undefined {
    for (const view of this.known()) {
      if (view.socket.key === origin) return view.socket.isOpen ? view : undefined;
    }
    return undefined;
  }

  send(view: ClientView, frame: string): boolean {
    try {
      return view.socket.send(frame);
    } catch (error) {
      console.error("A chat frame could not be sent:", error);
      return false;
    }
  }

  sendAll(views: readonly ClientView[], frame: () => string): void {
    if (views.length === 0) return;
    const text = frame();
    for (const view of views) this.send(view, text);
  }

  /** Sends the transcript as it is now. */
  sendSnapshot(views: readonly ClientView[], connect = false): void {
    if (views.length === 0) return;
    const frame = chatFrames.snapshot(this.#init.turns.transcript(), connect);
    for (const view of views) this.sendSnapshotFrame(view, frame);
  }

  /**
   * For changes that may follow each other closely: a client that was sent many snapshots in a row is sent the next after
   * a pause, with everything that changed until then.
   */
  sendSnapshotSoon(views: readonly ClientView[], missing: Missing = "messages"): void {
    const able = views.filter((view) => this.canTakeSnapshot(view, missing));
    for (const view of views) if (!able.includes(view)) view.owe(missing);
    this.sendSnapshot(able);
    if (able.length < views.length) void this.#payLater();
  }

  canTakeSnapshot(view: ClientView, missing: Missing): boolean {
    return view.snapshotDueMs(this.#init.clock.now(), missing) === 0;
  }

  /** An answer begins: what it answers must be shown before it. */
  payMissing(): void {
    this.sendSnapshot(this.#owing().filter(({ owed }) => owed === "messages"));
  }

  /** No turn is left: every client is sent what it is owed. */
  payAll(): void {
    this.sendSnapshot(this.#owing());
  }

  async #payLater(): Promise<void> {
    if (this.#isPaying) return;
    this.#isPaying = true;
    const { clock } = this.#init;
    try {
      for (let due = this.#payable(); due.length > 0; due = this.#payable()) {
        // At least a moment: what changes until then is part of it.
        await clock.sleep(Math.max(1, Math.min(...due.map(({ inMs }) => inMs))));
        this.sendSnapshot(this.#payable().flatMap(({ view, inMs }) => (inMs === 0 ? [view] : [])));
      }
    } catch {
      // The object is gone, and its sockets with it.
    } finally {
      this.#isPaying = false;
    }
  }

  /** Clients that can be sent what they are owed, and when; what the others are owed waits for the end of the stream. */
  #payable(): { readonly view: ClientView; readonly inMs: number }[] {
    const isStreaming = this.#init.turns.streaming() !== undefined;
    const now = this.#init.clock.now();
    return this.#owing().flatMap((view) => {
      const { owed } = view;
      if (owed === undefined || (owed === "order" && isStreaming)) return [];
      return [{ view, inMs: view.snapshotDueMs(now, owed) }];
    });
  }

  #owing(): ClientView[] {
    return [...this.#views.values()].filter((view) => view.owed !== undefined && view.socket.isOpen);
  }

  sendSnapshotFrame(view: ClientView, frame: string): void {
    this.send(view, frame);
    view.tookSnapshot(this.#init.clock.now(), frame.length);
  }

  #takesPart(view: ClientView, { origin, requestId }: TurnView): boolean {
    if (!view.socket.isOpen) return false;
    return view.socket.key === origin || view.hasAcknowledged(requestId) || view.offered === requestId;
  }
}
