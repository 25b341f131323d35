import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { Think } from "everthink";
import { McpConnector, OpenApiConnector, type ConnectorTool, type OpenApiRequest } from "everthink/codemode";
import { createExecuteTool } from "everthink/tools/execute";

const ordersDocument = {
  openapi: "3.1.0",
  paths: {
    "/orders/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      get: { operationId: "get_order", summary: "An order." },
      delete: { operationId: "cancel_order", summary: "Cancels an order." }
    }
  }
};

class Orders extends OpenApiConnector<Env> {
  name() {
    return "orders";
  }

  protected override spec() {
    return ordersDocument;
  }

  // Made by the agent, with its credentials. The code sees neither the address nor the token.
  protected override async request({ method, path }: OpenApiRequest): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.env?.ORDERS_TOKEN}` };
    const response = await fetch(`https://orders.example.com${path}`, { method, headers });
    return response.json();
  }

  protected override tool(name: string, tool: ConnectorTool) {
    return name === "cancel_order" ? { ...tool, requiresApproval: true } : tool;
  }
}

class Weather extends McpConnector {
  readonly #agent: Shopkeeper;

  constructor(agent: Shopkeeper) {
    super();
    this.#agent = agent;
  }

  name() {
    return "weather";
  }

  // The server that this.addMcpServer("weather", …) added.
  protected override createConnection() {
    return { agent: this.#agent, server: "weather" };
  }
}

interface Env {
  LOADER: WorkerLoader;
  ORDERS_TOKEN: string;
}

export class Shopkeeper extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getTools() {
    const connectors = [new Orders(this.ctx, this.env), new Weather(this)];
    return { execute: createExecuteTool(this, { connectors }) };
  }
}
