import { Agent, routeAgentRequest } from "everthink/agent";

interface Env {
  Counter: DurableObjectNamespace<Counter>;
}

export class Counter extends Agent<Env, { count: number }> {
  static callables = ["increment", "remind"];
  override initialState = { count: 0 };

  increment(by = 1) {
    this.setState({ count: this.state.count + by });
    return this.state.count;
  }

  async remind(seconds: number) {
    await this.schedule(seconds, "increment", 10);
  }
}

export default {
  async fetch(request: Request, env: Env) {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
