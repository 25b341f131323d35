// Notifies workflows how their prompts ended. A notification is written in the transaction that ends the submission and sent
// until the platform has taken it: at least once, each on its own schedule, so that one that cannot be delivered delays no
// other. The workflow takes the first.
import type { SubmissionValue } from "../../feature/submission-types.ts";
import { beforeDeadline } from "../../host/deadline.ts";
import type { Emit } from "../../observe/events.ts";
import { byteLength } from "../../util/bytes.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { err, ok } from "../../util/result.ts";
import { SETTLED, type WorkItem } from "../../work/kind.ts";
import { Work, type WorkHost } from "../../work/work.ts";
import type { SubmissionEnd } from "../submissions/submission.ts";
import { WORKFLOW_OUTBOX } from "./outbox-table.ts";
import type { WorkflowPrompt } from "./workflow-prompt.ts";

/** Bytes of an output that travel with the event; a larger one is fetched by the workflow. */
export const EVENT_OUTPUT_BYTES = 256 * 1024;
/** How long a notification is tried, and how long one that was delivered is remembered. */
export const OUTBOX_AGE_MS = 7 * 24 * 3_600_000;
/** Notifications that are sent at a time. */
const CONCURRENCY = 25;
/** A platform that has not answered by then is asked again later. */
const SEND_MS = 30_000;
/** What the platform says of an instance that takes no event any more. */
const IS_OVER =
  /not[._ ]?found|does not exist|no such|finite|finished|already.*(?:complete|end)|terminated|is complete|errored/i;

/** What the workflow's step is given. */
export interface PromptNotification {
  readonly submissionId: string;
  readonly status: SubmissionEnd["status"];
  readonly output?: SubmissionValue;
  /** The output is too large for an event: `inspectSubmission` has it. */
  readonly outputIsKept?: true;
  readonly error?: string;
}

/** An event for a workflow, as it is stored. */
interface Notification {
  readonly workflow: string;
  readonly workflowId: string;
  readonly eventType: string;
  readonly event: unknown;
}

export interface OutboxHost extends WorkHost {
  readonly emit: Emit;
}

type Send = (workflow: string, workflowId: string, event: { type: string; payload: unknown }) => Promise<void>;

export class PromptOutbox {
  readonly work: Work<Notification>;
  readonly #host: OutboxHost;

  constructor(host: OutboxHost, send: Send) {
    const { clock } = host;
    const late = () => new Error(`The platform has not answered for ${SEND_MS} ms.`);
    this.#host = host;
    this.work = new Work(host, {
      name: "workflow-notification",
      replaces: [WORKFLOW_OUTBOX],
      codec: {
        encode: (notification) => notification,
        decode: (stored) => (isNotification(stored) ? ok(stored) : err("it names no workflow and event"))
      },
      retry: {
        backoff: { baseMs: 1_000, maxMs: 5 * 60_000 },
        maxAgeMs: OUTBOX_AGE_MS,
        isFinal: (error) => IS_OVER.test(errorMessage(error))
      },
      concurrency: CONCURRENCY,
      retentionMs: OUTBOX_AGE_MS,
      async run({ payload: { workflow, workflowId, eventType, event } }) {
        const sent = send(workflow, workflowId, { type: eventType, payload: event });
        await beforeDeadline(sent, { clock, timeoutMs: SEND_MS, late });
        return SETTLED;
      },
      givenUp: (item, error) => this.#drop(item, errorMessage(error))
    });
  }

  /** Part of the transaction that ends the submission. */
  add({ workflow }: WorkflowPrompt, submissionId: string, end: SubmissionEnd): void {
    this.send(workflow, { id: submissionId, event: eventOf(submissionId, end) });
  }

  /** Part of the transaction that the notification is about. Each `id` and event type is sent once. */
  send({ name, id, eventType }: WorkflowPrompt["workflow"], about: { id: string; event: object }): void {
    const payload = { workflow: name, workflowId: id, eventType, event: about.event };
    this.work.add({ key: `${about.id}:${eventType}`, payload });
  }

  #drop({ key, payload: { workflowId, eventType } }: WorkItem<Notification>, error: string): void {
    this.#host.sql.afterTransaction({
      committed: () => {
        const submissionId = key.slice(0, -`:${eventType}`.length);
        this.#host.emit("workflow:notification:dropped", { workflowId, submissionId, error });
        console.error(`A workflow could not be notified of how its prompt ended: ${error}`);
      }
    });
  }
}

function isNotification(stored: unknown): stored is Notification {
  return isObject(stored) && ["workflow", "workflowId", "eventType"].every((name) => typeof stored[name] === "string");
}

function eventOf(submissionId: string, { status, output, error }: SubmissionEnd): PromptNotification {
  const notification: PromptNotification = { submissionId, status, error: error ?? undefined };
  const whole = output === undefined ? notification : { ...notification, output };
  const isSmall = byteLength(JSON.stringify(whole)) <= EVENT_OUTPUT_BYTES;
  return isSmall ? whole : { ...notification, outputIsKept: true };
}
