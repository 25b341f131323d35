// Runs of sub-agents as a part of every agent: clients, wakes and its end reach them. An agent that starts none has no row
// of them, and asks no table for them.
import type { Agent } from "../../agent/agent.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import { AgentToolsAgent } from "./agent-tools-agent.ts";
import { ChildRuns } from "./child-runs.ts";
import { provideChildRuns } from "./registry.ts";

export function openChildRuns(agent: Agent): void {
  const runtime = runtimeOf(agent);
  const runs = new ChildRuns({
    runtime,
    settings: () => ({
      maxConcurrent: agent.maxConcurrentAgentTools,
      maxQueued: agent.maxQueuedAgentTools,
      noProgressMs: agent.agentToolNoProgressMs,
      retention: agent.agentToolRetention
    }),
    hooks: {
      onStart: (run) => agent.onAgentToolStart(run),
      onFinish: (run, result) => agent.onAgentToolFinish(run, result),
      get wantsFinish() {
        return agent.onAgentToolFinish !== AgentToolsAgent.prototype.onAgentToolFinish;
      }
    }
  });
  provideChildRuns(agent, runs);
  runtime.wakes.add((nowMs) => runs.nextWake(nowMs));
  runtime.extensions.push({
    connected: (connection) => runs.connected(connection),
    runDue: () => runs.runDue(),
    stop: () => runs.stop()
  });
}
