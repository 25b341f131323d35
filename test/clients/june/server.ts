// Objects of the original, as its published packages write them.
import { AIChatAgent } from "@cloudflare/ai-chat";
import { Agent, routeAgentRequest } from "agents";

export class Counter extends Agent<object, { count: number }> {
  override initialState = { count: 0 };

  override async onRequest(request: Request): Promise<Response> {
    if (request.method === "POST") {
      this.setState({ count: this.state.count + 1 });
      await this.schedule(3600, "tick", { at: "noon" });
    }
    return Response.json(this.state);
  }

  tick(): void {}
}

export class Chat extends AIChatAgent<object> {
  override async onRequest(request: Request): Promise<Response> {
    if (request.method === "POST") {
      await this.persistMessages([{ id: "u1", role: "user", parts: [{ type: "text", text: "Hello" }] }]);
    }
    return Response.json(this.messages.map(({ id }) => id));
  }
}

export default {
  async fetch(request: Request, env: object): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
