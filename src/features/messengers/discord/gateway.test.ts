import { expect, test } from "vitest";
import { DiscordGateway } from "./gateway.ts";

test("an agent that keeps a socket wakes every minute, to open one that died with its process; one that stopped does not", () => {
  const never = () => new Promise<never>(() => undefined);
  const clock = { now: () => 0, sleep: never } as never;
  const intake = {
    agentName: "main",
    clock,
    run: never,
    receive: never,
    remember: () => undefined,
    recall: () => undefined
  };
  const gateway = new DiscordGateway(intake, { token: "bot-token" });
  expect([0, 1, 59_999, 60_000].map((now) => gateway.nextWake(now))).toEqual([60_000, 60_000, 60_000, 120_000]);
  gateway.stop();
  expect(gateway.nextWake(0)).toBe(null);
});
