// Prompts of workflows as a part of every agent: the turn of such a submission ends with a call of the final-answer tool,
// whose input is the turn's output. Turns that no workflow asked for pay one comparison.
import { jsonSchema, tool, type ToolSet, type UIMessage } from "ai";
import type { StepSettings } from "../../model/index.ts";
import { workflows } from "./capability.ts";
import { PromptOutbox } from "./prompt-outbox.ts";
import { APPROVAL_TABLES, WorkflowApprovals, type WorkflowQuestion } from "./workflow-approvals.ts";
import { submissions } from "../submissions/capability.ts";
import type { ActionMembers } from "../actions/capability.ts";
import { approvals } from "../approvals/capability.ts";
import { questionsSource } from "./questions-source.ts";
import { chatCapability } from "../../feature/capability.ts";
import type { ChatServices } from "../../feature/services.ts";
import {
  answerText,
  finalAnswerName,
  readWorkflowPrompt,
  takeFinalAnswer,
  type WorkflowPrompt
} from "./workflow-prompt.ts";
import type { FinalAnswer } from "../../turn/hooks.ts";
import { rootOf, type TurnView } from "../../turn/turn.ts";
import type { AssembledParts, Feature, TurnPart } from "../../feature/feature.ts";

/** The agent's side of `ThinkWorkflow`. */
export class WorkflowPromptMembers {
  /** Called by `step.approval` of the agent's workflows. */
  async internal_askApproval(question: WorkflowQuestion): Promise<string> {
    return workflowPrompts.of(this).questions.ask(question);
  }

  /** Called by `step.approval` when it does not wait any more. */
  async internal_withdrawApproval(executionId: string): Promise<void> {
    workflowPrompts.of(this).questions.withdraw(executionId);
  }
}

export interface WorkflowPromptsFeature extends Feature {
  readonly questions: WorkflowApprovals;
}

export const workflowPrompts = chatCapability({
  name: "workflow-prompts",
  requires: [workflows, submissions, approvals],
  members: WorkflowPromptMembers,
  feature: openPrompts
});

function openPrompts(services: ChatServices): WorkflowPromptsFeature {
  const { agent, sql, clock, overrides } = services;
  const { kept: submitted } = submissions.of(agent);
  const outbox = new PromptOutbox(services, (workflow, workflowId, event) =>
    workflows.of(agent).started.sendEvent(workflow, workflowId, event)
  );
  submitted.onEnd = ({ id, metadata }, end) => {
    const prompt = readWorkflowPrompt(metadata);
    if (prompt) outbox.add(prompt, id, end);
  };
  const questions = new WorkflowApprovals({ sql, clock, outbox });
  const promptOf = (turn: TurnView) => {
    const { trigger, requestId } = rootOf(turn);
    return trigger === "submission" ? readWorkflowPrompt(submitted.metadataOf(requestId)) : undefined;
  };
  const name = () => finalAnswerName(new Set([...Object.keys(overrides.getTools()), ...Object.keys(actionsOf(agent))]));
  return {
    name: "workflow-prompts",
    questions,
    approvals: questionsSource(questions),
    tables: APPROVAL_TABLES,
    start: () => outbox.work.start(),
    ready: () => outbox.work.ready(),
    stop: () => outbox.work.stop(),
    nextWake: () => outbox.work.nextWake(),
    runDue: () => outbox.work.runDue(),
    inTurn(turn: TurnView) {
      const prompt = promptOf(turn);
      return prompt && { ...askedOf(prompt), ...(prompt.output && partOf(name(), prompt.output.schema)) };
    },
    roles: {
      finalAnswers: {
        finalAnswer(turn, message) {
          const prompt = promptOf(turn);
          return prompt && finalAnswer(prompt, message, name());
        },
        isOwnTool: (turn, toolName) => promptOf(turn)?.output !== undefined && toolName === name()
      }
    }
  };
}

function askedOf({ maxSteps, modelHint }: WorkflowPrompt): TurnPart {
  return { maxSteps, modelHint };
}

function finalAnswer(prompt: WorkflowPrompt, message: UIMessage | undefined, toolName: string): FinalAnswer {
  if (!prompt.output) return { message, output: answerText(message) };
  const taken = takeFinalAnswer(message, toolName);
  if (taken.output !== undefined) return taken;
  return {
    message: taken.message,
    error: `The model ended without calling ${toolName}, which gives the answer its shape.`
  };
}

function partOf(toolName: string, schema: Record<string, unknown>): TurnPart {
  let assembled: AssembledParts | undefined;
  const tools: ToolSet = {
    [toolName]: tool({
      description: "Gives the final answer. Call it once, when everything that is needed is known.",
      inputSchema: jsonSchema(schema),
      execute: async (input: unknown) => input
    })
  };
  return {
    isWhole: true,
    // A client's tool never takes the place of one in this layer.
    tools: { actions: tools },
    begin(_context, parts) {
      assembled = parts;
    },
    beforeStep: ({ stepNumber }) => (assembled ? choiceOf(toolName, { ...assembled, stepNumber }) : undefined),
    stopWhen: ({ steps }) => steps.at(-1)?.toolCalls.some((call) => call.toolName === toolName) ?? false
  };
}

/** Some tool must be called, and this one in the last step. What the class chose itself stays. */
function choiceOf(
  toolName: string,
  { settings, tools, maxSteps, stepNumber }: AssembledParts & { stepNumber: number }
): StepSettings | undefined {
  if (settings.toolChoice !== undefined) return undefined;
  const isLast = stepNumber >= maxSteps - 1;
  const isOnly = Object.keys(tools).length === 1;
  return { toolChoice: isLast || isOnly ? { type: "tool", toolName } : "required" };
}

/** Of a class that has any: whatever the model may call by name. */
function actionsOf(agent: object): object {
  return (agent as Partial<ActionMembers>).getActions?.() ?? {};
}
