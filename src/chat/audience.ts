// The sockets of a conversation and sending to them. A frame is made once however many get it, and not at all for
// nobody; one bad socket never keeps the others from theirs.
import type { Clock } from "../host/ports.ts";
import type { Turns } from "../turn/turns.ts";
import type { TurnView } from "../turn/turn.ts";
import { ClientView } from "./client-view.ts";
import { chatFrames } from "./frames.ts";
import type { ChatSocket, ChatSockets } from "./sockets.ts";

export interface AudienceInit {
  readonly sockets: ChatSockets;
  readonly turns: Pick<Turns, "transcript">;
  readonly clock: Pick<Clock, "now">;
}

export class Audience {
  readonly #init: AudienceInit;
  readonly #views = new Map<object, ClientView>();

  constructor(init: AudienceInit) {
    this.#init = init;
  }

  of(socket: ChatSocket): ClientView {
    const known = this.#views.get(socket.key);
    if (known) {
      known.socket = socket;
      return known;
    }
    // A close that was never reported must not leave its view behind for ever.
    for (const [key, view] of this.#views) if (!view.socket.isOpen) this.#views.delete(key);
    const view = new ClientView(socket);
    this.#views.set(socket.key, view);
    return view;
  }

  forget(socket: ChatSocket): void {
    this.#views.delete(socket.key);
  }

  /** Everybody who wants to hear of things they did not ask for. */
  all(): ClientView[] {
    return this.#init.sockets.list().map((socket) => this.of(socket));
  }

  /** Everybody, also those who are only here for their own answers. */
  known(): Iterable<ClientView> {
    this.all();
    return this.#views.values();
  }

  /** Who hears of a turn: everybody, whoever asked for it, and whoever joined its stream. */
  ofTurn(turn: TurnView): ClientView[] {
    const audience = new Set(this.all());
    for (const view of this.#views.values()) {
      if (!audience.has(view) && this.#takesPart(view, turn)) audience.add(view);
    }
    return [...audience];
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

  sendSnapshotFrame(view: ClientView, frame: string): void {
    this.send(view, frame);
    view.tookSnapshot(this.#init.clock.now());
  }

  #takesPart(view: ClientView, { origin, requestId }: TurnView): boolean {
    if (!view.socket.isOpen) return false;
    return view.socket.key === origin || view.hasAcknowledged(requestId) || view.offered === requestId;
  }
}
