// The worker that the published client talks to about MCP servers, bundled like a user's, on a real workerd.
import { Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { createScript, reply, scriptedModel, text, toolCall } from "../../../src/testing/index.ts";

interface Env {
  Reader: DurableObjectNamespace<Reader>;
}

export class Reader extends Think<Env> {
  static override callables = ["add", "ask"];
  override waitForMcpConnections = true;

  override getModel() {
    return scriptedModel(createScript([reply(toolCall("tool_mine_whoami", {})), reply(text("You are you."))]));
  }
  async add(url: string) {
    return this.addMcpServer("mine", url, { id: "mine" });
  }
  async ask() {
    await this.saveMessages([{ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: "Who am I?" }] }]);
    return this.messages.at(-1);
  }
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("not found", { status: 404 })
};
