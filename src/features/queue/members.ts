// The public names of the queue on the class.
// Its declarations name no type of `ai` and not the capability: a project with a plain `Agent` is type-checked without
// that package. At run time only `capability.ts` imports this file.
import { queue } from "./capability.ts";
import type { DeadLetter, QueueItem, QueueOptions } from "./queue-item.ts";

export class QueueMembers {
  /** Runs `this[callback](payload, item)` soon, in order per callback, surviving restarts. */
  queue<Payload>(callback: keyof this, payload: Payload, options?: QueueOptions): Promise<string> {
    return queue.of(this).enqueue(callback as string, payload, options);
  }

  async dequeue(id: string): Promise<void> {
    await queue.of(this).dequeue(id);
  }

  async dequeueAll(): Promise<void> {
    await queue.of(this).dequeueAll();
  }

  async dequeueAllByCallback(callback: string): Promise<void> {
    await queue.of(this).dequeueAll(callback);
  }

  async getQueue<Payload = unknown>(id: string): Promise<QueueItem<Payload> | undefined> {
    return queue.of(this).get(id);
  }

  /** Lists the items whose payload has this value under this key. */
  async getQueues<Payload = unknown>(key: string, value: string): Promise<QueueItem<Payload>[]> {
    return queue.of(this).find(key, value);
  }

  /** Lists the items that failed for good, newest first; the last 100 are kept. */
  async getDeadLetters(): Promise<DeadLetter[]> {
    return queue.of(this).deadLetters();
  }

  /** Gives a dead letter another chance; false if there is none with that id. */
  requeueDeadLetter(id: string): Promise<boolean> {
    return queue.of(this).requeue(id);
  }
}
