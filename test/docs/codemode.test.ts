// The example of docs/execute.md for services as connectors, run.
import { expect, test, vi } from "vitest";
import {
  createScript,
  createTestHost,
  createTestLoader,
  reply,
  scriptedModel,
  text,
  toolCall
} from "everthink/testing";
import { Shopkeeper } from "./examples/codemode.ts";
import { user } from "../kit/messages.ts";

test("the model's code asks a service, and cancels an order when a human has agreed", async () => {
  const requests: string[] = [];
  vi.stubGlobal("fetch", async (url: string, init: { method: string; headers: { authorization: string } }) => {
    requests.push(`${init.method} ${url} ${init.headers.authorization}`);
    return Response.json({ total: 9 });
  });
  const code = `const { total } = await orders.get_order({ id: "7" }); if (total < 10) await orders.cancel_order({ id: "7" })`;
  const script = createScript([reply(toolCall("execute", { code })), reply(text("Waiting.")), reply(text("Done."))]);
  class Scripted extends Shopkeeper {
    override getModel() {
      return scriptedModel(script);
    }
    override get mcp() {
      // A server that is there and has no tools.
      return {
        ...super.mcp,
        waitForConnections: async () => undefined,
        listTools: () => [],
        listServers: () => [WEATHER]
      };
    }
  }
  const host = createTestHost({ agents: { Scripted }, env: { LOADER: createTestLoader(), ORDERS_TOKEN: "t" } });
  const agent = await host.get(Scripted, "a");
  await agent.saveMessages([user("u", "Cancel it if it is small.")]);
  expect(requests).toEqual(["GET https://orders.example.com/orders/7 Bearer t"]);
  const [pending] = await agent.pendingApprovals();
  expect(pending).toMatchObject({ descriptor: { action: "orders.cancel_order", input: { id: "7" } } });
  await agent.approveExecution(pending?.executionId ?? "");
  expect(requests).toHaveLength(2);
  expect(requests[1]).toBe("DELETE https://orders.example.com/orders/7 Bearer t");
});

const WEATHER = { id: "w", name: "weather", url: "", state: "ready" as const, authUrl: null, error: null };
