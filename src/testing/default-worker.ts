// Routing for tests that bring no worker of their own: `routeAgentRequest` with its defaults.
import { routeAgentRequest } from "../agent/index.ts";

export interface TestWorker<Env> {
  fetch(request: Request, env: Env): Response | Promise<Response>;
}

export const defaultWorker: TestWorker<unknown> = {
  async fetch(request, env) {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
