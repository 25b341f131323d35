// Events that an agent emitted to a test.
import type { AgentEvent } from "../../src/observe/index.ts";

export const payloadsOf = (events: readonly AgentEvent[], type: AgentEvent["type"]): AgentEvent["payload"][] =>
  events.filter((event) => event.type === type).map(({ payload }) => payload);
