// An agent whose model writes code, in a process that is killed or freezes. What its tools do is counted outside of the
// process: the name of a conversation begins with the port of what counts.
import { Think } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { CodemodeRuntime, type Connector, type ConnectorContext, type UnknownOutcome } from "everthink/codemode";
import { createExecuteTool } from "everthink/tools/execute";
import { planModel } from "../../../src/testing/model/plan-model.ts";
import { BOMB, CODE, FREEZING, type RunState } from "./coder-plan.ts";

// As a Worker that was written for the original exports it.
export { CodemodeRuntime };

interface Env {
  Coder: DurableObjectNamespace<Coder>;
  LOADER: WorkerLoader;
}

/** Before and after an effect it is time for a kill. */
const AROUND_MS = 25;

const plans = Object.fromEntries(
  Object.entries({ go: CODE, freeze: FREEZING, bomb: BOMB }).map(([question, code]) => [
    question,
    [{ calls: [{ tool: "execute", input: { code } }] }, { text: "It is over." }]
  ])
);

export class Coder extends Think<Env> {
  // Short, so that recovery by the alarm alone takes a moment and not half a minute.
  static override options = { keepAliveIntervalMs: 300 };
  override workspaceTools = false;

  override getModel() {
    return planModel(plans);
  }

  override getTools() {
    return { execute: createExecuteTool(this, { connectors: [this.#world()] }) };
  }

  #world(): Connector {
    const counted = (name: string, onUnknownOutcome?: UnknownOutcome, requiresApproval = false) => ({
      ...(onUnknownOutcome && { onUnknownOutcome }),
      requiresApproval,
      execute: (_args: unknown, { idempotencyKey }: ConnectorContext) => this.#count(name, idempotencyKey)
    });
    const tools = {
      keyed: counted("keyed", "retry"),
      once: counted("once"),
      gated: counted("gated", undefined, true),
      last: counted("last", undefined, true)
    };
    return { name: () => "world", tools: () => tools };
  }

  async #count(name: string, key: string): Promise<string> {
    await scheduler.wait(AROUND_MS);
    const [port] = this.name.split("-");
    const response = await fetch(`http://127.0.0.1:${port}/?${new URLSearchParams({ run: this.name, name, key })}`);
    await response.text();
    await scheduler.wait(AROUND_MS);
    return name;
  }

  override async onRequest(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const id = searchParams.get("id") ?? "";
    if (pathname.endsWith("/begin")) {
      const text = searchParams.get("question") ?? "go";
      await this.submitMessages([{ id: "q", role: "user", parts: [{ type: "text", text }] }], { idempotencyKey: "q" });
    }
    // As a client of before sends it: without the question that it is about.
    else if (pathname.endsWith("/approve")) await this.approveExecution(id);
    return Response.json(await this.#readState());
  }

  async #readState(): Promise<RunState> {
    const hasRuns = this.sql`SELECT 1 FROM sqlite_master WHERE name = 'cm_executions'`.length > 0;
    const runs = hasRuns
      ? this.sql<RunState["runs"][number]>`SELECT id, status, error, is_placed AS isPlaced FROM cm_executions`
      : [];
    const said = this.messages.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")));
    return { runs, pending: this.pendingExecutions(), isSaid: said.includes("It is over.") };
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
