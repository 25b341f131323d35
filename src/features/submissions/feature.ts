// Durable submissions as a part of every agent. A class that submits nothing has no table, no wake and no call for them.
import { currentDurable } from "../../agent/context.ts";
import type { AgentRuntime } from "../../agent/runtime.ts";
import type { Blobs } from "../../host/blobs.ts";
import { SUBMISSION_TABLES } from "./submission-table.ts";
import type { ThinkSubmissionInspection } from "./submission.ts";
import { PromptOutbox } from "./prompt-outbox.ts";
import { submitResponse, type SubmitPort } from "./submit-http.ts";
import { Submissions } from "./submissions.ts";
import type { TurnEngine } from "../../turn/engine.ts";
import type { Feature } from "../../feature/feature.ts";
import type { OptionalHook } from "../../think/overrides.ts";

export interface SubmissionsSetup {
  readonly agent: AgentRuntime;
  readonly blobs: Blobs;
  readonly turns: () => TurnEngine;
  readonly isOverridden: (hook: OptionalHook) => boolean;
  readonly outbox: PromptOutbox;
}

export function openOutbox(agent: AgentRuntime): PromptOutbox {
  return new PromptOutbox({
    sql: agent.sql,
    clock: agent.clock,
    send: (workflow, workflowId, event) => agent.workflows.sendEvent(workflow, workflowId, event),
    emit: (type, payload) => agent.emit(type, payload),
    rearm: () => void agent.wakes.rearm(),
    background: (work) => agent.background(work)
  });
}

export function openSubmissions({ agent, blobs, turns, isOverridden, outbox }: SubmissionsSetup): Submissions {
  const { sql, clock, ids } = agent;
  return new Submissions({
    sql,
    blobs,
    clock,
    newId: () => ids.next(),
    turns,
    emit: (type, payload) => agent.emit(type, payload),
    onStatus: isOverridden("onSubmissionStatus") ? (submission) => callHook(agent, submission) : undefined,
    announce: (submission) => agent.connections.broadcastProtocol(submissionsFrame([submission])),
    retentionMs: () => retentionOf(agent.agent),
    durableKey: () => currentDurable()?.work.nextKey(),
    rearm: () => void agent.wakes.rearm(),
    background: (work) => agent.background(work),
    onPromptEnd: (prompt, submissionId, end) => outbox.add(prompt, submissionId, end)
  });
}

export function submissionsFeature(submissions: Submissions, port: Omit<SubmitPort, "inspect"> | undefined): Feature {
  const submit = port && { ...port, inspect: (id: string) => submissions.inspect(id) };
  return {
    ...(submit && { routes: { submit: (request, rest) => submitResponse(request, rest, submit) } }),
    name: "submissions",
    tables: SUBMISSION_TABLES,
    ready: () => submissions.ready(),
    nextWake: (nowMs) => submissions.nextWake(nowMs),
    runDue: async () => submissions.drain(),
    connected: (connection) => {
      if (submissions.hasAny) connection.send(submissionsFrame(submissions.list({ limit: SENT_ON_CONNECT })));
    },
    // A request of a client may have been called as a submission that waits is.
    settled: () => queueMicrotask(() => submissions.drain())
  };
}

/** Submissions that a client is sent when it connects. */
const SENT_ON_CONNECT = 20;

/** What a client is told of them: not the key, the metadata or the output, which are the submitter's. */
function submissionsFrame(submissions: readonly ThinkSubmissionInspection[]): string {
  const shown = submissions.map(
    ({ idempotencyKey: _key, metadata: _metadata, output: _output, requestId: _requestId, ...submission }) => submission
  );
  return JSON.stringify({ type: "cf_agent_submissions", submissions: shown });
}

/** It is protected: only its name is known here. */
function callHook(agent: AgentRuntime, submission: ThinkSubmissionInspection): unknown {
  const hook: unknown = Reflect.get(agent.agent, "onSubmissionStatus");
  return typeof hook === "function" ? agent.runAs({}, () => Reflect.apply(hook, agent.agent, [submission])) : undefined;
}

function retentionOf(agent: object): number | undefined {
  const value: unknown = Reflect.get(agent, "submissionRetentionMs");
  return typeof value === "number" && value > 0 ? value : undefined;
}
