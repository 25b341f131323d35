// An agent and a workflow that prompts it as its params say, on a workflow binding without a platform.
import { z } from "zod";
import type { AgentEvent } from "../../src/observe/index.ts";
import { Think, type ApprovalAuthorizationContext, type ApprovalCaller } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  toolCall,
  type RecordedCall,
  type Script,
  type Steps,
  type TestHost
} from "../../src/testing/index.ts";
import {
  ThinkPromptError,
  ThinkWorkflow,
  type AgentWorkflowEvent,
  type ThinkWorkflowStep
} from "../../src/features/workflows/index.ts";
import { WorkflowPlatform } from "./workflow-platform.ts";

export const Verdict = z.object({ severity: z.enum(["low", "high"]), note: z.string().optional() });

/** One prompt of the workflow. */
export interface Ask {
  name: string;
  prompt: string;
  key?: string;
  plain?: boolean;
  /** Asks a human instead of the model. */
  human?: boolean;
  cancelOnTimeout?: boolean;
  maxSteps?: number;
  model?: string;
}

/** What outlives the process. */
export const scene: { script: Script; events: AgentEvent[]; toolHooks: string[]; approvers: string[] } = {
  script: createScript([]),
  events: [],
  toolHooks: [],
  approvers: ["ada"]
};

export class Support extends Think {
  override workspaceTools = false;
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };
  override getModel() {
    return scriptedModel(scene.script);
  }
  override beforeToolCall({ toolName }: { toolName: string }) {
    scene.toolHooks.push(`before ${toolName}`);
  }
  override afterToolCall({ toolName }: { toolName: string }) {
    scene.toolHooks.push(`after ${toolName}`);
  }
  override identifyApprover({ request }: ApprovalCaller) {
    return request?.headers.get("X-User") ?? undefined;
  }

  override authorizeApproval({ by, source }: ApprovalAuthorizationContext) {
    return source === "workflow" && scene.approvers.includes(by ?? "");
  }
  start(asks: Ask[], id: string) {
    return this.runWorkflow("TRIAGE", { asks }, { id });
  }
  async startBelow(child: string, asks: Ask[], id: string) {
    await (await this.subAgent(Support, child)).start(asks, id);
  }
  async messagesOf(child: string) {
    return (await (await this.subAgent(Support, child)).getMessages()).length;
  }
}

/** Asks one after the other; errors are results, so that a test sees them. */
export class Triage extends ThinkWorkflow<Support, { asks: Ask[] }> {
  override async run(event: AgentWorkflowEvent<{ asks: Ask[] }>, step: ThinkWorkflowStep) {
    const results: unknown[] = [];
    for (const { name, prompt, key, plain, human, cancelOnTimeout, maxSteps, model } of event.payload.asks) {
      const options = {
        prompt,
        timeout: "1 hour" as const,
        ...(key !== undefined && { key }),
        ...(cancelOnTimeout !== undefined && { cancelOnTimeout }),
        ...(maxSteps !== undefined && { maxSteps }),
        ...(model !== undefined && { model })
      };
      if (human) {
        results.push(await step.approval(name, { summary: prompt, input: { ticket: 7 }, risk: "high" }));
        continue;
      }
      try {
        results.push(await (plain ? step.prompt(name, options) : step.prompt(name, { ...options, output: Verdict })));
      } catch (error) {
        if (!(error instanceof ThinkPromptError)) throw error;
        results.push({ error: error.constructor.name, status: error.status, of: error.submissionId !== "" });
      }
    }
    return results;
  }
}

export type Host = TestHost<{ Support: DurableObjectNamespace<Support> }>;

export const promptOf = (call: RecordedCall): string => {
  const last = call.prompt.findLast(({ role }) => role === "user");
  return JSON.stringify(last?.content ?? "");
};

/** Answers every prompt with the tool it was given for that. */
export const verdict: Steps = (call) =>
  reply(toolCall("think_final_answer", { severity: promptOf(call).includes("fire") ? "high" : "low" }));

export function open(steps: Steps = verdict): { host: Host; platform: WorkflowPlatform } {
  Object.assign(scene, { script: createScript(steps), events: [], toolHooks: [] });
  const platform = new WorkflowPlatform(Triage);
  const host = createTestHost({ agents: { Support }, env: { TRIAGE: platform.binding } });
  platform.host = host as TestHost<unknown>;
  return { host, platform };
}

export const supportOf = (host: Host) => host.get(Support, "a");
