export { channelName, channelOf } from "./events.ts";
export type { AgentEvent, ChannelKey, EventPayloads, EventType } from "./events.ts";
export { diagnosticsObservability, subscribe } from "./emit.ts";
export type { Observability } from "./emit.ts";
