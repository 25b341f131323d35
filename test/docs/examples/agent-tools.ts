// The examples of docs/agent-tools.md. The models are the tests' own; everything else is as the page shows it.
import type { LanguageModel, UIMessage } from "ai";
import { Output } from "ai";
import { agentTool, Think, type AgentToolRunInfo, type RunAgentToolResult } from "everthink";
import { Agent } from "everthink/agent";
import { createThinkClient } from "everthink/client";
import { z } from "zod";

export const models = new Map<string, LanguageModel>();
const model = (name: string) => models.get(name) ?? "none";

export class Researcher extends Think {
  override getModel() {
    return model("researcher");
  }
  override getSystemPrompt() {
    return "Research the requested topic and end with a concise summary.";
  }
}

export class Assistant extends Think {
  override getModel() {
    return model("assistant");
  }
  override getTools() {
    return {
      research: agentTool(Researcher, {
        description: "Research one topic in depth.",
        inputSchema: z.object({ query: z.string().min(3) }),
        displayName: "Researcher"
      }),
      survey: agentTool(Researcher, {
        description: "Start a survey that takes hours. Its result is added to the chat.",
        inputSchema: z.object({ query: z.string() }),
        detached: { notify: true, maxBudgetMs: 6 * 3_600_000 }
      }),
      judge: agentTool(Critic, {
        description: "Judge a text.",
        inputSchema: z.object({ text: z.string() }),
        outputSchema: z.object({ score: z.number(), why: z.string() })
      }),
      draft: agentTool(Researcher, {
        description: "Draft a report.",
        inputSchema: z.object({ topic: z.string() }),
        steer: "child"
      })
    };
  }

  // At most three children at a time; ten more wait their turn.
  override maxConcurrentAgentTools = 3;
  override maxQueuedAgentTools = 10;
  override agentToolRetention = { maxRuns: 200, maxAgeMs: 30 * 86_400_000 };

  // Clients may open the children that exist, and create none.
  override onBeforeSubAgent(_request: Request, child: { className: string; name: string }) {
    if (!this.hasAgentToolRun(child.className, child.name)) return new Response("Not found", { status: 404 });
  }

  override onAgentToolFinish(run: AgentToolRunInfo, result: RunAgentToolResult) {
    console.log(run.agentType, result.status, result.summary);
  }

  async compare(topics: string[]) {
    const runs = topics.map((query) => this.runAgentTool(Researcher, { input: { query }, runId: `compare:${query}` }));
    const results = await Promise.all(runs);
    return results.map(({ status, summary, error }) => (status === "completed" ? summary : error));
  }
}

export class Newsroom extends Agent {
  async report(topic: string) {
    const { status, summary } = await this.runAgentTool(Researcher, {
      input: { query: topic },
      runId: `report:${topic}`
    });
    return status === "completed" ? summary : undefined;
  }
}

export class Critic extends Think {
  override getModel() {
    return model("critic");
  }
  override beforeTurn() {
    return { output: Output.object({ schema: z.object({ score: z.number(), why: z.string() }) }) };
  }
}

export async function watch(host: string, onText: (name: string, text: string) => void) {
  const client = createThinkClient({ host, agent: "assistant", name: "ada" });
  client.subscribe(() => {
    for (const run of client.getSnapshot().agentRuns) {
      onText(`${run.display["name"]} (${run.status})`, textOf(run.message));
    }
  });
  await client.send("Compare tides and winds.");

  const [run] = client.getSnapshot().agentRuns;
  if (run) {
    const child = createThinkClient(client.addressOf(run));
    await child.send("Which source was best?");
  }
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
