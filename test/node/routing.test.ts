// What the route does before an agent is woken: which hook is asked, and what is sent again.
import { expect, test, vi } from "vitest";
import { routeAgentRequest, type RouteTarget } from "../../src/agent-class/index.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { Room } from "../conformance/agents.ts";

test("onBeforeConnect sees upgrades and nothing else, onBeforeRequest requests and nothing else", async () => {
  const seen: string[] = [];
  const hook =
    (which: string) =>
    (request: Request, { className, name }: RouteTarget) => {
      seen.push(`${which}: ${request.method} ${request.headers.get("Upgrade") ?? "plain"} ${className}/${name}`);
    };
  const host = createTestHost({
    agents: { Room },
    worker: {
      async fetch(request, env) {
        const hooks = { onBeforeConnect: hook("connect"), onBeforeRequest: hook("request") };
        return (await routeAgentRequest(request, env, hooks)) ?? new Response("none");
      }
    }
  });
  const upgrade = (spelled: string) => ({ headers: { Upgrade: spelled } });
  for (const init of [upgrade("websocket"), upgrade("WebSocket"), {}, { method: "POST" }, upgrade("h2c")]) {
    await host.fetch("/agents/room/a", init);
  }
  expect(seen).toEqual([
    "connect: GET websocket Room/a",
    "connect: GET WebSocket Room/a",
    "request: GET plain Room/a",
    "request: POST plain Room/a",
    "request: GET h2c Room/a"
  ]);
});

/** A binding whose objects fail as a moving object does, so often before they answer. */
function moving(failures: number) {
  let asked = 0;
  const stub = {
    async fetch() {
      asked += 1;
      if (asked > failures) return new Response("here");
      throw Object.assign(new Error("moved"), { retryable: true });
    }
  };
  const namespace = { idFromName: (name: string) => name, get: () => stub };
  return { env: { Room: namespace }, asked: () => asked };
}

const url = "http://x/agents/room/a";
const routingRetry = { maxAttempts: 4, baseDelayMs: 1, maxDelayMs: 1 };

test("a request without a body is sent again when the platform says so", async () => {
  const { env, asked } = moving(3);
  const onRetry = vi.fn();
  const response = await routeAgentRequest(new Request(url), env, { routingRetry: { ...routingRetry, onRetry } });
  expect([await response?.text(), asked(), onRetry.mock.calls.length]).toEqual(["here", 4, 3]);
});

test.each<[string, RequestInit]>([
  ["text", { method: "POST", body: "pay 5" }],
  ["an empty text", { method: "POST", body: "" }],
  ["a form", { method: "PUT", body: new URLSearchParams({ a: "1" }) }]
])(
  "a request with a body (%s) is sent once: a second time it could act twice, or arrive empty",
  async (_what, init) => {
    const { env, asked } = moving(1);
    await expect(routeAgentRequest(new Request(url, init), env, { routingRetry })).rejects.toThrow("moved");
    expect(asked()).toBe(1);
  }
);
