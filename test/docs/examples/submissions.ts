import { openai } from "@ai-sdk/openai";
import type { LanguageModel } from "ai";
import { z } from "zod";
import { Think, type ThinkScheduledTasks, type ThinkSubmissionInspection } from "everthink";
import { getAgentByName, hasBearerToken } from "everthink/agent";
import { ThinkWorkflow, type AgentWorkflowEvent, type ThinkWorkflowStep } from "everthink/workflows";

interface Env {
  Support: DurableObjectNamespace<Support>;
  WEBHOOK_SECRET: string;
}

export class Support extends Think<Env> {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override authorizeSubmission(request: Request) {
    return hasBearerToken(request, this.env.WEBHOOK_SECRET);
  }

  protected override onSubmissionStatus({ submissionId, status }: ThinkSubmissionInspection) {
    this.broadcast(JSON.stringify({ type: "submission", submissionId, status }));
  }

  handle(ticket: string) {
    return this.runWorkflow("TRIAGE", { ticket });
  }
}

export async function orderPaid(env: Env, event: { id: string; order: string }) {
  const agent = await getAgentByName(env.Support, event.order);
  const message = {
    id: event.id,
    role: "user" as const,
    parts: [{ type: "text" as const, text: "The order is paid." }]
  };
  const { submissionId, accepted } = await agent.submitMessages([message], { idempotencyKey: event.id });
  return { submissionId, isRepeat: !accepted };
}

export async function answerOf(env: Env, order: string, submissionId: string) {
  const agent = await getAgentByName(env.Support, order);
  const submission = await agent.waitForSubmission(submissionId, { timeoutMs: 10_000 });
  return submission?.status;
}

export class Triage extends ThinkWorkflow<Support, { ticket: string }> {
  override async run({ payload }: AgentWorkflowEvent<{ ticket: string }>, step: ThinkWorkflowStep) {
    const output = z.object({ severity: z.enum(["low", "high"]), reason: z.string() });
    const { severity, reason } = await step.prompt("classify", { prompt: `Classify: ${payload.ticket}`, output });
    if (severity === "high") {
      const { approved } = await step.approval("escalate", { summary: `Answer this one? ${reason}`, timeout: "1 day" });
      if (!approved) return "left to a human";
    }
    return step.prompt("reply", { prompt: `Write the reply to a ${severity} ticket: ${reason}` });
  }
}

export class Newsroom extends Think {
  override getModel(): LanguageModel {
    return openai("gpt-5");
  }

  override getDefaultTimezone() {
    return "Europe/London";
  }

  override getScheduledTasks(): ThinkScheduledTasks {
    return {
      digest: { schedule: "every weekday at 08:30", prompt: "Write the morning digest.", overlap: "skip" },
      cleanup: {
        schedule: "every 6 hours",
        retry: { maxAttempts: 5 },
        handler: async ({ idempotencyKey, lateByMs }) => {
          this.log(`${idempotencyKey}, ${lateByMs} ms late`);
        }
      }
    };
  }

  entries: string[] = [];

  log(entry: string) {
    this.entries.push(entry);
  }
}
