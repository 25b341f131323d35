// Durable submissions as a part of every agent. A class that submits nothing has no table, no wake and no call for them.
import type {
  SubmitMessagesOptions,
  SubmitMessagesResult,
  ThinkSubmissionInspection
} from "../../feature/submission-types.ts";
import { currentDurable } from "../../agent/context.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { submittedMessages, type SubmissionInput } from "../../feature/turn-input.ts";
import { workflows } from "../workflows/capability.ts";
import type { SubmissionMembers } from "./capability.ts";
import { PromptOutbox } from "./prompt-outbox.ts";
import { submitResponse, type SubmitPort } from "./submit-http.ts";

import { SUBMISSION_TABLES } from "./submission-table.ts";
import { Submissions } from "./submissions.ts";

export interface SubmissionsFeature extends Feature {
  readonly kept: Submissions;
  /** What workflows are told of the ends of their prompts. */
  readonly outbox: PromptOutbox;
  accept(input: SubmissionInput, options?: SubmitMessagesOptions): Promise<SubmitMessagesResult>;
}

export function openSubmissions(services: ChatServices): SubmissionsFeature {
  const { agent, sql, clock, ids, blobs, turns, isOverridden } = services;
  const outbox = new PromptOutbox(services, (workflow, workflowId, event) =>
    workflows.of(agent).started.sendEvent(workflow, workflowId, event)
  );
  const kept = new Submissions({
    sql,
    blobs,
    clock,
    newId: () => ids.next(),
    turns: () => turns,
    emit: (type, payload) => services.emit(type, payload),
    onStatus: isOverridden("onSubmissionStatus") ? (submission) => callHook(agent, submission) : undefined,
    announce: (submission) => services.broadcast(submissionsFrame([submission])),
    retentionMs: () => retentionOf(agent),
    durableKey: () => currentDurable()?.work.nextKey(),
    rearm: () => services.rearm(),
    background: (work) => services.background(work),
    onPromptEnd: (prompt, submissionId, end) => outbox.add(prompt, submissionId, end)
  });
  const accept: SubmissionsFeature["accept"] = async (input, options = {}) => {
    const { channel } = options;
    const messages = submittedMessages(input, { newId: () => ids.next(), channel });
    return kept.submit(messages, options);
  };
  return {
    name: "submissions",
    kept,
    outbox,
    accept,
    tables: SUBMISSION_TABLES,
    roles: { submissions: { archive: kept, gaveUp: () => kept.skipWaiting(), submit: accept } },
    routes: {
      submit: (request, rest) =>
        isOverridden("authorizeSubmission") ? submitResponse(request, rest, portOf(agent, { kept, accept })) : undefined
    },
    ready: () => kept.ready(),
    nextWake: (nowMs) => kept.nextWake(nowMs),
    runDue: async () => kept.drain(),
    connected: (connection) => {
      if (kept.hasAny) connection.send(JSON.stringify(submissionsFrame(kept.list({ limit: SENT_ON_CONNECT }))));
    },
    // A request of a client may have been called as a submission that waits is.
    settled: () => queueMicrotask(() => kept.drain())
  };
}

/** Only for a class that says who may. */
function portOf(agent: object, { kept, accept }: Pick<SubmissionsFeature, "kept" | "accept">): SubmitPort {
  return {
    isAllowed: async (request) => (await (agent as SubmissionMembers).authorizeSubmission(request)) === true,
    // Checked as the input of a submission: anything else is refused by name.
    submit: (input, options) => accept(input as SubmissionInput, options),
    inspect: (id) => kept.inspect(id)
  };
}

/** Submissions that a client is sent when it connects. */
const SENT_ON_CONNECT = 20;

/** What a client is told of them: not the key, the metadata or the output, which are the submitter's. */
function submissionsFrame(submissions: readonly ThinkSubmissionInspection[]): object {
  const shown = submissions.map(
    ({ idempotencyKey: _key, metadata: _metadata, output: _output, requestId: _requestId, ...submission }) => submission
  );
  return { type: "cf_agent_submissions", submissions: shown };
}

/** It is protected: only its name is known here. */
function callHook(agent: object, submission: ThinkSubmissionInspection): unknown {
  const hook: unknown = Reflect.get(agent, "onSubmissionStatus");
  return typeof hook === "function"
    ? runtimeOf(agent).runAs({}, () => Reflect.apply(hook, agent, [submission]))
    : undefined;
}

function retentionOf(agent: object): number | undefined {
  const value: unknown = Reflect.get(agent, "submissionRetentionMs");
  return typeof value === "number" && value > 0 ? value : undefined;
}
