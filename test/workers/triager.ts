// An agent that is asked from outside: by submissions, by its own tasks, and by a workflow with two prompts. Its model
// answers from what it was asked, inside the object.
import { z } from "zod";
import { Think, type ThinkScheduledTasks } from "../../src/index.ts";
import {
  createScript,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  type Answer
} from "../../src/testing/model/index.ts";
import {
  ThinkPromptTimeoutError,
  ThinkWorkflow,
  type AgentWorkflowEvent,
  type ThinkWorkflowStep
} from "../../src/features/workflows/index.ts";

export interface TriageParams {
  ticket: string;
}

export class Triager extends Think {
  override getModel() {
    return scriptedModel(
      createScript((call): Answer => {
        const asked = call.lastUserText;
        if (asked.includes("silence")) return reply(stall());
        const severity = asked.includes("fire") ? "high" : "low";
        const isStructured = call.tools?.some(({ name }) => name === "think_final_answer");
        return isStructured ? reply(toolCall("think_final_answer", { severity })) : reply(text(`re ${asked}`));
      })
    );
  }

  override authorizeSubmission(request: Request) {
    return request.headers.get("Authorization") === "Bearer right";
  }

  override getScheduledTasks(): ThinkScheduledTasks {
    return { london: { schedule: "every day at 01:30 in Europe/London", prompt: "Count." } };
  }

  triage(ticket: string, id: string) {
    return this.runWorkflow("TRIAGE", { ticket } satisfies TriageParams, { id });
  }

  async waiting(): Promise<string[]> {
    return this.pendingApprovals().map(({ executionId }) => executionId);
  }

  /** As plain data: a result must not keep the object awake. */
  async statuses(): Promise<string[]> {
    return (await this.listSubmissions()).map(({ status }) => status);
  }

  async nextRuns(): Promise<(number | undefined)[]> {
    return (await this.listScheduledTasks()).map(({ nextRunAt }) => nextRunAt);
  }
}

export class Triage extends ThinkWorkflow<Triager, TriageParams> {
  override async run(event: AgentWorkflowEvent<TriageParams>, step: ThinkWorkflowStep) {
    const output = z.object({ severity: z.enum(["low", "high"]) });
    try {
      const { severity } = await step.prompt("classify", { prompt: `Classify: ${event.payload.ticket}`, output });
      if (event.payload.ticket.includes("human")) {
        const decision = await step.approval("escalate", { summary: "Wake the team?" });
        return { severity, decision };
      }
      const summary = await step.prompt("summarise", { prompt: `Summarise a ${severity} one.` });
      return { severity, summary };
    } catch (error) {
      if (error instanceof ThinkPromptTimeoutError) return { timedOut: error.submissionId !== "" };
      throw error;
    }
  }
}
