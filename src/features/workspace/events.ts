// What a workspace reports to observers, on the channel `agents:workspace`. Without a subscriber it costs nothing.
import { channel } from "node:diagnostics_channel";
import { channelName, type EventPayloads, type EventType } from "../../observe/events.ts";

type WorkspaceEvent = Extract<EventType, `workspace:${string}`>;

const observers = channel(channelName("workspace"));

export interface EventSource {
  readonly namespace: string;
  readonly name: () => string | undefined;
  readonly now: () => number;
}

/** Publishes an event of a workspace. */
export function report<Type extends WorkspaceEvent>(
  source: EventSource,
  type: Type,
  payload: Omit<EventPayloads[Type], "namespace">
): void {
  if (!observers.hasSubscribers) return;
  observers.publish({
    type,
    name: source.name() ?? "",
    payload: { ...payload, namespace: source.namespace },
    timestamp: source.now()
  });
}
