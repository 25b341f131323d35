// Durable submissions as a part of every agent. A class that submits nothing has no table, no wake and no call for them.
import type { SubmitMessagesOptions, SubmitMessagesResult } from "../../feature/submission-types.ts";
import type { Feature } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { submittedMessages, type SubmissionInput } from "../../feature/turn-input.ts";
import type { SubmissionMembers } from "./capability.ts";
import { submitResponse, type SubmitPort } from "./submit-http.ts";
import { SUBMISSION_TABLES } from "./submission-table.ts";
import { Submissions } from "./submissions.ts";

export interface SubmissionsFeature extends Feature {
  readonly kept: Submissions;
  accept(input: SubmissionInput, options?: SubmitMessagesOptions): Promise<SubmitMessagesResult>;
}

export function openSubmissions(services: ChatServices): SubmissionsFeature {
  const { agent, ids, isOverridden } = services;
  const kept = new Submissions(services);
  const { work } = kept.statusCalls;
  const accept: SubmissionsFeature["accept"] = async (input, options = {}) => {
    const { channel } = options;
    const messages = submittedMessages(input, { newId: () => ids.next(), channel });
    return kept.submit(messages, options);
  };
  return {
    name: "submissions",
    kept,
    accept,
    tables: SUBMISSION_TABLES,
    roles: { submissions: { archive: kept, gaveUp: () => kept.skipWaiting(), submit: accept } },
    routes: {
      submit: (request, rest) =>
        isOverridden("authorizeSubmission") ? submitResponse(request, rest, portOf(agent, { kept, accept })) : undefined
    },
    start: () => work.start(),
    ready: () => kept.ready(),
    stop: () => work.stop(),
    nextWake(nowMs) {
      const times = [work.nextWake(), kept.nextWake(nowMs)].filter((at) => at !== null);
      return times.length === 0 ? null : Math.min(...times);
    },
    runDue() {
      kept.drain();
      return work.runDue();
    },
    connected: (connection) => kept.connected(connection),
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
