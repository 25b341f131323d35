// The last requests and the sockets they came on, to know a frame that is delivered twice. In memory: after a restart
// the engine still knows the requests that became turns.

/** Ids are made by chance; a repetition follows its original closely. */
const REMEMBERED_REQUESTS = 256;

export class RecentRequests {
  readonly #senders = new Map<string, WeakRef<object>>();

  add(requestId: string, sender: object): void {
    this.#senders.delete(requestId);
    this.#senders.set(requestId, new WeakRef(sender));
    if (this.#senders.size <= REMEMBERED_REQUESTS) return;
    const oldest = this.#senders.keys().next();
    if (!oldest.done) this.#senders.delete(oldest.value);
  }

  isFrom(requestId: string, sender: object): boolean {
    return this.#senders.get(requestId)?.deref() === sender;
  }
}
