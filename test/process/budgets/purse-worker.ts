// An agent with a purse and sub-agents that spend of it, in a process that is killed. What a provider charges is counted outside
// of the process, before it answers: the name of an agent begins with the port of what counts.
import type { ToolSet } from "ai";
import { z } from "zod";
import { agentTool, Think, usd, type BudgetLimit } from "everthink";
import { routeAgentRequest } from "everthink/agent";
import {
  createScript,
  reply,
  scriptedModel,
  text,
  toolCall,
  usage,
  type Answer,
  type RecordedCall
} from "../../../src/testing/model/index.ts";
import { GRANT, HANDS, LIMIT, USED } from "./purse-plan.ts";

interface Env {
  Purser: DurableObjectNamespace<Purser>;
}

async function charge(root: string, key: string): Promise<void> {
  const [port] = root.split("-");
  const query = new URLSearchParams({ run: root, name: "charge", key });
  await (await fetch(`http://127.0.0.1:${port}/?${query}`)).text();
}

export class Purser extends Think<Env> {
  // Short, so that recovery by the alarm alone takes a moment and not half a minute.
  static override options = { keepAliveIntervalMs: 300 };
  override workspaceTools = false;
  override maxConcurrentAgentTools = 20;

  override getModel() {
    const model = scriptedModel(createScript(answer));
    const root = this.parentPath[0]?.name ?? this.name;
    const doStream = model.doStream.bind(model);
    return Object.assign(model, {
      doStream: async (options: Parameters<typeof doStream>[0]) => {
        await charge(root, this.name);
        await scheduler.wait(50 + Math.random() * 200);
        return doStream(options);
      }
    });
  }
  override getPrices() {
    return [{ provider: "scripted", model: "*", input: 1_000, output: 1_000 }];
  }
  override getBudgets(): BudgetLimit[] {
    if (this.parentPath.length > 0) return [];
    return [{ per: { key: "ann" }, limit: usd(LIMIT), then: "ask", grant: usd(GRANT) }];
  }
  override beforeTurn() {
    return { maxOutputTokens: 300 };
  }
  override getTools(): ToolSet {
    return { hire: agentTool(Hand, { description: "Hires.", inputSchema: z.object({ task: z.string() }) }) };
  }
  override async onRequest(request: Request): Promise<Response> {
    if (new URL(request.url).pathname.endsWith("/begin")) {
      const message = { id: "q", role: "user" as const, parts: [{ type: "text" as const, text: "hire" }] };
      await this.submitMessages([message], { idempotencyKey: "q" });
    }
    const said = this.messages.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")));
    const { accounts, open } = await this.getCosts();
    const isMade = this.sql`SELECT 1 FROM sqlite_master WHERE name = 'cf_budget_grants'`.length > 0;
    const grants = isMade ? this.sql<{ amount: number }>`SELECT amount FROM cf_budget_grants` : [];
    return Response.json({
      said: said.filter((words) => words === "All are paid.").length,
      runs: this.listAgentToolRuns().map(({ runId, status }) => ({ runId, status })),
      spent: accounts.find(({ account }) => account === "key:ann")?.usd ?? 0,
      granted: grants.reduce((sum, { amount }) => sum + amount / 1e9, 0),
      open
    });
  }
}

export class Hand extends Purser {
  override getTools(): ToolSet {
    return {};
  }
}

function answer({ prompt, lastUserText = "" }: RecordedCall): Answer {
  if (prompt.some(({ role }) => role === "tool")) return reply(text("All are paid."), usage(USED));
  if (lastUserText !== "hire") return reply(text("done"), usage(USED));
  const calls = Array.from({ length: HANDS }, (_, at) => toolCall("hire", { task: `task ${at}` }, { id: `c${at}` }));
  return reply(...calls, usage(USED));
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  }
};
