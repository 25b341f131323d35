// What a workspace reports to observers, on the channel `agents:workspace`. Without a subscriber it costs nothing.
import { channel } from "node:diagnostics_channel";

export interface WorkspaceEventPayloads {
  "workspace:read": { path: string; storage: string };
  "workspace:write": { path: string; size: number; storage: string; update: boolean };
  "workspace:delete": { path: string };
  "workspace:mkdir": { path: string; recursive: boolean };
  "workspace:rm": { path: string; recursive: boolean };
  "workspace:cp": { src: string; dest: string; recursive: boolean };
  "workspace:mv": { src: string; dest: string };
}

const observers = channel("agents:workspace");

export interface EventSource {
  readonly namespace: string;
  readonly name: () => string | undefined;
  readonly now: () => number;
}

export function report<Type extends keyof WorkspaceEventPayloads>(
  source: EventSource,
  type: Type,
  payload: WorkspaceEventPayloads[Type]
): void {
  if (!observers.hasSubscribers) return;
  observers.publish({
    type,
    name: source.name() ?? "",
    payload: { ...payload, namespace: source.namespace },
    timestamp: source.now()
  });
}
