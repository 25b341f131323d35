// Routing for tests that bring no worker of their own: /agents/{binding in kebab case}/{name}, nothing else.
import { kebabCase } from "../util/kebab.ts";

export interface TestWorker<Env> {
  fetch(request: Request, env: Env): Response | Promise<Response>;
}

export function defaultWorker(bindings: Iterable<string>): TestWorker<Record<string, unknown>> {
  const byPath = new Map([...bindings].map((name) => [kebabCase(name), name]));
  return {
    fetch(request, env) {
      const [prefix, agent, name] = new URL(request.url).pathname.slice(1).split("/");
      const binding = prefix === "agents" ? byPath.get(agent ?? "") : undefined;
      if (binding === undefined || name === undefined || name === "") return new Response("Not found", { status: 404 });
      // Made by the host for exactly this binding name.
      const namespace = env[binding] as DurableObjectNamespace;
      return namespace.getByName(decodeURIComponent(name)).fetch(request);
    }
  };
}
