import { expect, test } from "vitest";
import { FEATURE } from "../../feature/feature.ts";
import { resolveChannels, type ChannelMessenger, type MessengerSet, type ThinkChannels } from "./channels.ts";

const messenger: ChannelMessenger = {
  [FEATURE]: () => {
    throw new Error("Nothing opens it here.");
  }
};

test.each<[ThinkChannels, MessengerSet, string]>([
  [{ web: { kind: "custom" } }, {}, "reserved for the built-in WebSocket chat surface"],
  [{}, { web: messenger }, "reserved for the built-in WebSocket chat surface"],
  [{ bot: { kind: "custom" } }, { bot: messenger }, "channel ids must be unique"]
])("%o with %o is refused", (configured, messengers, problem) => {
  expect(() => resolveChannels(configured, messengers)).toThrow(problem);
});

test("a policy for web keeps its capabilities", () => {
  const resolved = resolveChannels({ web: { kind: "web", maxTurns: 2 } }, {});
  expect(resolved.get("web")).toMatchObject({ maxTurns: 2, capabilities: { canStream: true, canEditMessages: true } });
});
