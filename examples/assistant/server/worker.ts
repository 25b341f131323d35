// The Worker: two kinds of objects, the colleagues that live below one of them, and the way to them. The page itself is served as static files.
import { routeAgentRequest } from "everthink/agent";
import type { Env } from "./env.ts";

export { Assistant } from "./assistant.ts";
export { Directory } from "./directory.ts";
export { Critic, Researcher } from "./team.ts";

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
