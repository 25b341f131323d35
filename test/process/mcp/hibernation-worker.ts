// An agent that says which of its lives this is.
import { Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";

interface Env {
  Sleeper: DurableObjectNamespace<Sleeper>;
}

export class Sleeper extends Think<Env> {
  declare getModel: Think["getModel"];
  readonly life = crypto.randomUUID();

  override async onRequest(request: Request) {
    const url = new URL(request.url).searchParams.get("add");
    if (url !== null) await this.addMcpServer("mine", url, { id: "mine" });
    return new Response(this.life);
  }
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("not found", { status: 404 })
};
