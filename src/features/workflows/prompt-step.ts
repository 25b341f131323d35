// `step.prompt`: one durable step that submits a prompt to the workflow's agent, and one that waits for the answer. A
// workflow that is replayed submits nothing again; a prompt is identified by the step's name and its key.
import type {
  SubmitMessagesOptions,
  SubmitMessagesResult,
  ThinkSubmissionInspection
} from "../../feature/submission-types.ts";
import { createHash } from "node:crypto";
import { asSchema, type UIMessage } from "ai";
import type { WorkflowStep } from "#platform";
import type { PromptNotification } from "./prompt-outbox.ts";

import type { WorkflowQuestion } from "./workflow-approvals.ts";
import { PROMPT_KEY, type WorkflowPrompt } from "./workflow-prompt.ts";
import { canonicalJson, isObject } from "../../util/json.ts";
import {
  ThinkApprovalTimeoutError,
  ThinkPromptAbortedError,
  ThinkPromptFailedError,
  ThinkPromptReusedError,
  ThinkPromptSkippedError,
  ThinkPromptTimeoutError,
  ThinkPromptValidationError
} from "./prompt-errors.ts";

/** An agent that cannot be reached is tried for about four minutes; a deploy or a restart takes seconds. */
const SUBMIT_RETRIES = { retries: { limit: 8, delay: 1_000, backoff: "exponential" } } as const;

type Validated<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly unknown[] };

/** A schema of an object, such as Zod's, that says what it validates (Standard Schema). */
export interface PromptSchema<Output = unknown> {
  readonly "~standard": {
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly output: Output } | undefined;
  };
}

export interface PromptOptions<Output = unknown> {
  prompt: string;
  /** The shape of the result. Without it the result is the text of the answer. */
  output?: PromptSchema<Output>;
  /** How long the answer may take, as the platform counts it: "10 minutes", or milliseconds. */
  timeout?: Parameters<WorkflowStep["waitForEvent"]>[1]["timeout"];
  /** Tells prompts of one step name apart, such as those of a loop. */
  key?: string;
  /** Whether a prompt that was not answered in time is cancelled. Default true. */
  cancelOnTimeout?: boolean;
  /** Kept with the submission. */
  metadata?: Record<string, unknown>;
  /** Stamped on the message as `metadata.channel`. */
  channel?: string;
  /** Steps this answer may take. Default: what the channel or the class allows. `beforeTurn` has the last word. */
  maxSteps?: number;
  /** A name that the agent's `beforeTurn` finds as `modelHint`, and returns the model for. */
  model?: string;
}

export interface PromptStep {
  /** Asks the agent and waits for its answer, with the type of `output`. Throws a ThinkPromptError. */
  prompt<Output>(name: string, options: PromptOptions<Output> & { output: PromptSchema<Output> }): Promise<Output>;
  prompt(name: string, options: PromptOptions & { output?: undefined }): Promise<string>;
  /**
   * Asks a human: the question is among the agent's `pendingApprovals()` until `approveExecution` or `rejectExecution`
   * decides it. Throws ThinkApprovalTimeoutError.
   */
  approval(name: string, options: ApprovalOptions): Promise<ApprovalResult>;
}

export interface ApprovalOptions {
  /** What is asked, for a person. */
  summary: string;
  /** What it is about. Default: nothing. */
  input?: object;
  risk?: "low" | "medium" | "high";
  /** How long it may take, as the platform counts it. */
  timeout?: PromptOptions["timeout"];
  /** Tells questions of one step name apart. */
  key?: string;
}

/** What a human decided. */
export interface ApprovalResult {
  readonly approved: boolean;
  readonly reason?: string;
  /** Who decided, if they said so. */
  readonly by?: string;
}

/** The agent as the steps use it: the stub of a Think. */
export interface PromptAgent {
  internal_askApproval(question: WorkflowQuestion): Promise<string>;
  internal_withdrawApproval(executionId: string): Promise<unknown>;
  submitMessages(messages: UIMessage[], options: SubmitMessagesOptions): Promise<SubmitMessagesResult>;
  cancelSubmission(submissionId: string, reason?: unknown): Promise<unknown>;
  inspectSubmission(submissionId: string): Promise<ThinkSubmissionInspection | null>;
}

export interface PromptStepInit {
  readonly step: WorkflowStep;
  readonly agent: PromptAgent;
  readonly workflowName: string;
  readonly workflowId: string;
}

export function openPrompts(init: PromptStepInit): PromptStep {
  // The overloads of `prompt` say which result belongs to which options.
  const prompt = (name: string, options: PromptOptions) => runPrompt(init, name, options);
  return { prompt: prompt as PromptStep["prompt"], approval: (name, options) => runApproval(init, name, options) };
}

async function runPrompt(init: PromptStepInit, name: string, options: PromptOptions): Promise<unknown> {
  const { step, agent } = init;
  const asked = await askedOf(init, name, options);
  const { submissionId, isReused } = await step.do(`${asked.stepName}:submit`, SUBMIT_RETRIES, () =>
    submit(agent, asked)
  );
  if (isReused) throw new ThinkPromptReusedError(submissionId);
  const event = await waitFor(init, asked, { submissionId, ...options });
  try {
    return await resultOf(agent, event.payload, options);
  } finally {
    // A handle that came over RPC keeps its object awake until it is let go.
    if (isObject(event) && Symbol.dispose in event) (event as object as Disposable)[Symbol.dispose]();
  }
}

async function runApproval(init: PromptStepInit, name: string, options: ApprovalOptions): Promise<ApprovalResult> {
  const { step, agent, workflowName, workflowId } = init;
  const { summary, input = {}, risk, timeout, key } = options;
  const eventType = `think-approval-${hash(`${workflowName}:${workflowId}:${name}:${key ?? ""}`)}`;
  const stepName = key === undefined ? name : `${name}:${hash(key)}`;
  const workflow = { name: workflowName, id: workflowId, stepName: name, eventType };
  const question: WorkflowQuestion = { workflow, summary, input, risk };
  const executionId = await step.do(`${stepName}:ask`, SUBMIT_RETRIES, () => agent.internal_askApproval(question));
  try {
    const { payload } = await step.waitForEvent<ApprovalResult>(`${stepName}:wait`, {
      type: eventType,
      ...(timeout !== undefined && { timeout })
    });
    const { approved, reason, by } = payload;
    return { approved, reason, by };
  } catch (error) {
    await cancel(step, `${stepName}:withdraw`, () => agent.internal_withdrawApproval(executionId));
    throw new ThinkApprovalTimeoutError(executionId, error);
  }
}

interface Asked {
  readonly stepName: string;
  readonly messages: UIMessage[];
  readonly options: SubmitMessagesOptions;
  readonly eventType: string;
  readonly fingerprint: string;
}

/** Everything that is derived from the step. The same each time the workflow is replayed. */
async function askedOf(init: PromptStepInit, name: string, options: PromptOptions): Promise<Asked> {
  const { workflowName, workflowId } = init;
  const { prompt, output, key, metadata, channel, maxSteps, model } = options;
  // Throws for a schema that JSON Schema cannot express. `asSchema` takes what the AI SDK takes.
  const schema = output && (await asSchema(output as Parameters<typeof asSchema>[0]).jsonSchema);
  const idempotencyKey = `think-workflow:${workflowName}:${workflowId}:${name}${key === undefined ? "" : `:${hash(key)}`}`;
  const eventType = `think-prompt-${hash(`${workflowName}:${workflowId}:${name}:${key ?? ""}`)}`;
  const fingerprint = hash(canonicalJson([prompt, schema ?? null]));
  const workflow: WorkflowPrompt = {
    workflow: { name: workflowName, id: workflowId, stepName: name, eventType },
    output: schema ? { schema: schema as Record<string, unknown> } : undefined,
    maxSteps,
    modelHint: model,
    fingerprint
  };
  return {
    stepName: key === undefined ? name : `${name}:${hash(key)}`,
    messages: [{ id: `prompt-${hash(idempotencyKey)}`, role: "user", parts: [{ type: "text", text: prompt }] }],
    options: {
      idempotencyKey,
      metadata: { ...metadata, [PROMPT_KEY]: workflow },
      channel
    },
    eventType,
    fingerprint
  };
}

/** Plain data: the result of a step must not keep the agent awake. */
async function submit(
  agent: PromptAgent,
  { messages, options, fingerprint }: Asked
): Promise<{ submissionId: string; isReused: boolean }> {
  const { submissionId, metadata, conflict = false } = await agent.submitMessages(messages, options);
  const earlier = metadata?.[PROMPT_KEY];
  return { submissionId, isReused: conflict || !isObject(earlier) || earlier["fingerprint"] !== fingerprint };
}

async function waitFor(
  { step, agent }: PromptStepInit,
  { stepName, eventType }: Asked,
  { submissionId, timeout, cancelOnTimeout = true }: PromptOptions & { submissionId: string }
) {
  try {
    return await step.waitForEvent<PromptNotification>(`${stepName}:wait`, {
      type: eventType,
      ...(timeout !== undefined && { timeout })
    });
  } catch (error) {
    if (cancelOnTimeout)
      await cancel(step, `${stepName}:cancel`, () => agent.cancelSubmission(submissionId, "not answered in time"));
    throw new ThinkPromptTimeoutError(submissionId, error);
  }
}

/** Best effort: what the workflow waits for is over, whether or not the agent hears of it. */
async function cancel(step: WorkflowStep, name: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await step.do(name, async () => {
      await call();
    });
  } catch (error) {
    console.error("What timed out in a workflow could not be cancelled at its agent:", error);
  }
}

async function resultOf(agent: PromptAgent, ended: PromptNotification, { output }: PromptOptions): Promise<unknown> {
  const { submissionId, status, error } = ended;
  switch (status) {
    case "completed":
      break;
    case "aborted":
      throw new ThinkPromptAbortedError(submissionId, error);
    case "skipped":
      throw new ThinkPromptSkippedError(submissionId);
    default:
      throw new ThinkPromptFailedError(submissionId, error);
  }
  const value = ended.outputIsKept ? (await agent.inspectSubmission(submissionId))?.output : ended.output;
  if (!output) return value ?? "";
  const validated = await output["~standard"].validate(value);
  if (validated.issues) throw new ThinkPromptValidationError(submissionId, validated.issues);
  return validated.value;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}
