// An agent and a sub-agent with one slow scheduled callback each and the default options.
import { Agent, routeAgentRequest } from "everthink/agent";

interface Env {
  Parent: DurableObjectNamespace<Parent>;
}

/** Half of the work: long enough to be killed in, short against the heartbeat. */
const WORK_MS = 200;

abstract class Scheduled extends Agent<Env> {
  async begin(): Promise<void> {
    await this.schedule(0, "work");
  }

  async work(): Promise<void> {
    console.log(`began ${this.name}.`);
    await scheduler.wait(WORK_MS);
    console.log(`under way ${this.name}.`);
    await scheduler.wait(WORK_MS);
    console.log(`ended ${this.name}.`);
  }
}

export class Child extends Scheduled {}

export class Parent extends Scheduled {
  override async onRequest(request: Request): Promise<Response> {
    if (request.url.endsWith("/child")) await (await this.subAgent(Child, "child")).begin();
    else await this.begin();
    return new Response("begun");
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
