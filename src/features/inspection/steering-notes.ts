// What the records of a turn say about it as a message for a busy conversation: its receipt, step by step. Pure.
import type { ReadableRecord } from "../../journal/records.ts";

/** One step of a receipt, in the order of the records. */
export interface SteeringNote {
  readonly at: number;
  readonly what:
    | "steer-accepted"
    | "follow-up-accepted"
    | "edited"
    /** It took over from `requestId` after `step` of that turn's model calls. */
    | "applied"
    /** A sub-agent that the running turn waits for was given it: `requestId` is its run. */
    | "passed"
    /** That sub-agent ended without reading it. */
    | "given-back"
    | "withdrawn"
    /** `requestId` took over from it. */
    | "taken-over"
    /** It was to end after its step. */
    | "stop-requested";
  readonly requestId: string | null;
  readonly step: number | null;
}

/** Undefined: the record says nothing of it. */
export function steeringNote(record: ReadableRecord): SteeringNote | undefined {
  const note = (what: SteeringNote["what"], requestId: string | null = null, step: number | null = null) => ({
    at: record.at,
    what,
    requestId,
    step
  });
  switch (record.type) {
    case "turn-admitted":
      return record.entry === null ? undefined : note(`${record.entry}-accepted`);
    case "input-edited":
      return note("edited");
    case "steer-applied":
      return note("applied", record.fromRequestId, record.step);
    case "steer-passed":
      return record.runId === null ? note("given-back") : note("passed", record.runId);
    case "turn-stop-requested":
      return note("stop-requested");
    case "turn-settled":
      if (record.steeredBy !== undefined) return note("taken-over", record.steeredBy);
      return record.reason === "withdrawn" ? note("withdrawn") : undefined;
    default:
      return undefined;
  }
}
