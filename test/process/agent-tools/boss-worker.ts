// An agent with children as tools, and hooks that take their time, in a process that is killed. What the hooks and the
// children do is counted outside of the process: the name of a conversation begins with the port of what counts.
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import { agentTool, Think, type AgentToolRunInfo } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import { planModel } from "../../../src/testing/model/plan-model.ts";
import { hookMsOf, type BossReport } from "./boss-plan.ts";

interface Env {
  Boss: DurableObjectNamespace<Boss>;
}

/** This process. Drawn when it is first asked for: a module may not. */
let life = "";

async function count(boss: string, name: string, key: string): Promise<void> {
  life ||= crypto.randomUUID();
  const [port] = boss.split("-");
  const query = new URLSearchParams({ run: boss, name, key: `${key} ${life}` });
  await (await fetch(`http://127.0.0.1:${port}/?${query}`)).text();
}

const input = z.object({ query: z.string() });

const plans = {
  go: [
    {
      calls: [
        { tool: "research", input: { query: "one" } },
        { tool: "research", input: { query: "two" } },
        { tool: "survey", input: { query: "three" } }
      ]
    },
    { text: "It is over." }
  ]
};

const helperPlans = Object.fromEntries(
  ["one", "two", "three"].map((query) => [
    JSON.stringify({ query }, null, 2),
    [{ calls: [{ tool: "work", input: {} }] }, { text: `about ${query}` }]
  ])
);

export class Helper extends Think<Env> {
  static override options = { keepAliveIntervalMs: 300 };
  override workspaceTools = false;
  override getModel() {
    return planModel(helperPlans);
  }
  override getTools(): ToolSet {
    const [{ name } = { name: "" }] = this.parentPath;
    return {
      work: tool({ inputSchema: z.object({}), execute: () => count(name, "work", this.name).then(() => "done") })
    };
  }
}

export class Boss extends Think<Env> {
  // Short, so that recovery by the alarm alone takes a moment and not half a minute.
  static override options = { keepAliveIntervalMs: 300 };
  override workspaceTools = false;

  override getModel() {
    return planModel(plans);
  }

  override getTools(): ToolSet {
    const shared = { description: "Research.", inputSchema: input };
    return {
      research: agentTool(Helper, shared),
      survey: agentTool(Helper, { ...shared, detached: { onFinish: "onSurvey" } })
    };
  }

  override onAgentToolFinish(run: AgentToolRunInfo) {
    return this.#hook("finish", run);
  }

  onSurvey(run: AgentToolRunInfo) {
    return this.#hook("survey", run);
  }

  async #hook(name: string, { runId, status }: AgentToolRunInfo): Promise<void> {
    await count(this.name, `${name} begins`, `${runId} ${status}`);
    await scheduler.wait(hookMsOf(this.name));
    await count(this.name, `${name} ends`, `${runId} ${status}`);
  }

  override async onRequest(request: Request): Promise<Response> {
    if (new URL(request.url).pathname.endsWith("/begin")) {
      const message = { id: "q", role: "user" as const, parts: [{ type: "text" as const, text: "go" }] };
      await this.submitMessages([message], { idempotencyKey: "q" });
    }
    return Response.json(this.#report());
  }

  #report(): BossReport {
    const isMade = this.sql`SELECT 1 FROM sqlite_master WHERE name = 'cf_child_runs'`.length > 0;
    const rows = isMade
      ? this.sql<{ runId: string; status: string; reports: number }>`
          SELECT run_id AS runId, status, reports FROM cf_child_runs`
      : [];
    const said = this.messages.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")));
    return {
      runs: rows.map(({ runId, status, reports }) => ({ runId, status, isReported: reports === 0 })),
      isSaid: said.includes("It is over.")
    };
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
