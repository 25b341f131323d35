// Work for later as a capability of every agent: its public names, and its part in the agent's life. What it does is in
// `queue.ts`.
import { runtimeOf } from "../../agent/runtime.ts";
import { capability } from "../../feature/capability.ts";
import { Queue, type DeadLetter, type QueueItem, type QueueOptions } from "./queue.ts";

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
    await queue.of(this).dequeueAllByCallback(callback);
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

export const queue = capability({
  name: "queue",
  opensWithAgent: true,
  members: QueueMembers,
  feature: ({ agent }) => {
    const runtime = runtimeOf(agent);
    return new Queue(runtime, runtime.keepAlive);
  }
});
