// Publishing and receiving events. An observer that throws never reaches the agent.
import { channel, subscribe as subscribeChannel, unsubscribe as unsubscribeChannel } from "node:diagnostics_channel";
import { channelName, channelOf, type AgentEvent, type ChannelKey } from "./events.ts";

/** Where an agent's events go. Assign your own to `observability`, or `undefined` to turn events off. */
export interface Observability {
  emit(event: AgentEvent): void;
}

/** Publishes to Node's diagnostics channels, `agents:<channel>`. */
export const diagnosticsObservability: Observability = {
  emit(event) {
    const target = channel(channelName(channelOf(event.type)));
    if (target.hasSubscribers) target.publish(event);
  }
};

/**
 * Listens to one channel of events of every agent in this isolate; returns the function that stops listening.
 *
 * @example
 * const stop = subscribe("schedule", (event) => console.log(event.type, event.payload));
 */
export function subscribe(key: ChannelKey, listener: (event: AgentEvent) => void): () => void {
  const name = channelName(key);
  const receive = (message: unknown) => {
    try {
      // Only `emit` above publishes on these channels, and only events.
      listener(message as AgentEvent);
    } catch (error) {
      console.error(`An observer of "${name}" failed:`, error);
    }
  };
  subscribeChannel(name, receive);
  return () => void unsubscribeChannel(name, receive);
}
