// The base class of workflows that prompt the agent they belong to.
import type { WorkflowStep } from "#platform";
import { AgentWorkflow, type AgentWorkflowEvent } from "./agent-workflow.ts";
import { withMembers, type AgentWorkflowStep } from "./workflow-step.ts";
import type { Think } from "../../think/think.ts";
import { openPrompts, type PromptAgent, type PromptStep } from "./prompt-step.ts";

/** The steps of an AgentWorkflow, and prompts. */
export interface ThinkWorkflowStep<Progress = unknown, State = unknown>
  extends AgentWorkflowStep<Progress, State>, PromptStep {}

/**
 * A workflow, started with `runWorkflow` of a Think, that can prompt it.
 *
 * @example
 * export class Triage extends ThinkWorkflow<Support, { ticket: string }> {
 *   async run(event: AgentWorkflowEvent<{ ticket: string }>, step: ThinkWorkflowStep) {
 *     const output = z.object({ severity: z.enum(["low", "high"]) });
 *     const { severity } = await step.prompt("classify", { prompt: `Classify: ${event.payload.ticket}`, output });
 *     return severity;
 *   }
 * }
 */
export abstract class ThinkWorkflow<
  AgentClass extends Think = Think,
  Params = unknown,
  Progress = unknown,
  Env = unknown
> extends AgentWorkflow<AgentClass, Params, Progress, Env> {
  abstract override run(
    event: AgentWorkflowEvent<Params>,
    step: ThinkWorkflowStep<Progress, AgentClass["state"]>
  ): Promise<unknown>;

  protected override extendStep(step: AgentWorkflowStep): ThinkWorkflowStep {
    const { workflowName, workflowId } = this;
    // Every Think has these methods.
    const agent = this.agent as object as PromptAgent;
    const platform: WorkflowStep = step;
    return withMembers(step, {
      ...openPrompts({ step: platform, agent, workflowName, workflowId })
    }) as ThinkWorkflowStep;
  }
}
