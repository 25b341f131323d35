// Turns that run later: submissions, and what hands them turns (recurring tasks, prompts and approvals of workflows).
import type { AgentRuntime } from "../agent/runtime.ts";
import type { Blobs } from "../host/blobs.ts";
import type { ScheduledTasks } from "../features/tasks/scheduled-tasks.ts";
import type { PromptOutbox } from "../features/submissions/prompt-outbox.ts";
import type { Submissions, SubmitMessagesOptions, SubmitMessagesResult } from "../features/submissions/submissions.ts";
import { WorkflowApprovals } from "../features/submissions/workflow-approvals.ts";
import type { TurnEngine } from "../turn/engine.ts";
import type { Feature } from "../feature/feature.ts";
import type { OnStartDegradation, OptionalHook, ThinkOverrides } from "./overrides.ts";
import { openScheduledTasks, scheduledTasksFeature } from "../features/tasks/feature.ts";
import { openOutbox, openSubmissions, submissionsFeature } from "../features/submissions/feature.ts";
import { submittedMessages, type SubmissionInput } from "./turn-input.ts";
import { workflowPromptsFeature } from "../features/workflows/prompts-feature.ts";

export interface DeferredTurnsInit {
  readonly agent: AgentRuntime;
  readonly overrides: ThinkOverrides;
  readonly isOverridden: (hook: OptionalHook) => boolean;
  readonly blobs: Blobs;
  readonly turns: () => TurnEngine;
  readonly degrade: (step: OnStartDegradation["step"], error: unknown) => void;
}

export class DeferredTurns {
  readonly submissions: Submissions;
  readonly approvals: WorkflowApprovals;
  readonly tasks: ScheduledTasks;
  readonly #outbox: PromptOutbox;
  readonly #init: DeferredTurnsInit;

  constructor(init: DeferredTurnsInit) {
    const { agent, overrides } = init;
    this.#init = init;
    this.#outbox = openOutbox(agent);
    this.approvals = new WorkflowApprovals({ sql: agent.sql, clock: agent.clock, outbox: this.#outbox });
    this.submissions = openSubmissions({ ...init, outbox: this.#outbox });
    this.tasks = openScheduledTasks({
      agent,
      overrides,
      submissions: this.submissions,
      submit: (input, options) => this.submit(input, options)
    });
  }

  async submit(input: SubmissionInput, options: SubmitMessagesOptions = {}): Promise<SubmitMessagesResult> {
    const { channel } = options;
    const newId = () => this.#init.agent.ids.next();
    const messages = submittedMessages(input, { newId, ...(channel !== undefined && { channel }) });
    return this.submissions.submit(messages, options);
  }

  features(): Feature[] {
    const { agent, overrides, isOverridden, degrade } = this.#init;
    return [
      submissionsFeature(this.submissions, this.#submitPort()),
      scheduledTasksFeature({
        tasks: this.tasks,
        isOverridden,
        // Short, and done again by the next start: it needs no wake of its own.
        inAgent: (work) => agent.runAs({}, work),
        background: (work) => agent.background(work),
        degrade
      }),
      workflowPromptsFeature({ submissions: this.submissions, outbox: this.#outbox, overrides })
    ];
  }

  /** Only for a class that says who may. */
  #submitPort(): Parameters<typeof submissionsFeature>[1] {
    const { overrides, isOverridden } = this.#init;
    if (!isOverridden("authorizeSubmission")) return undefined;
    return {
      isAllowed: async (request) => (await overrides.authorizeSubmission(request)) === true,
      // Checked as the input of a submission: anything else is refused by name.
      submit: (input, options) => this.submit(input as SubmissionInput, options)
    };
  }
}
