// Rows of runs that have not ended and that say what cannot be: a disk that failed, or a hand in the file. Such a run ends
// with an error, in the transcript too, and what could not be read is set aside: what it had done is not known any more.
import type { ChatServices } from "../../feature/services.ts";
import { parseJson } from "../../util/json.ts";
import type {
  ExecutionPlace,
  ExecutionRow,
  ExecutionStatus,
  ExecutionStore,
  LogRow,
  LogState
} from "./execution-store.ts";

export const UNREADABLE = "What this run had done can no longer be read. It is not run again.";

const STATUSES: ReadonlySet<string> = new Set<ExecutionStatus>([
  "running",
  "paused",
  "completed",
  "error",
  "rejected",
  "aborted",
  "rolled_back"
]);
const STATES: ReadonlySet<string> = new Set<LogState>([
  "executing",
  "applied",
  "pending",
  "approved",
  "failed",
  "reverted",
  "error"
]);
/** Names that code can write for a call; what is recorded has one. */
const NAME = /^[^"{}\\\p{Cc}]{1,200}$/u;

export function isCallName(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name);
}

/** Undefined: it can be read. */
export function executionProblem(
  row: Pick<ExecutionRow, "status" | "runtime" | "connectors" | "result" | keyof ExecutionPlace>
): string | undefined {
  if (!STATUSES.has(row.status)) return "its status is none";
  if (!isCallName(row.runtime)) return "its runtime is no name";
  // By which its place in the transcript is found. A provider's id is no JSON.
  const ids = [row.toolCallId, row.turnId, row.messageId];
  if (ids.some((id) => /["{}\\\p{Cc}]/u.test(id))) return "its call has no id";
  if (!isJson(row.connectors)) return "its connectors are no JSON";
  return row.result === null || isJson(row.result) ? undefined : "its result is no JSON";
}

export function entryProblem(
  row: Pick<LogRow, "state" | "connector" | "method" | "args" | "result" | "editedArgs">
): string | undefined {
  if (!STATES.has(row.state)) return "its state is none";
  if (!isCallName(row.connector) || !isCallName(row.method)) return "its call has no name";
  const texts = [row.args, row.result ?? "null", row.editedArgs ?? "null"];
  return texts.every(isJson) ? undefined : "its arguments or its result are no JSON";
}

function isJson(text: string): boolean {
  return parseJson(text).ok;
}

/** Ends the runs that cannot be read. `placeLate` puts an outcome into the transcript. */
export function endUnreadableRuns(
  { conversation, quarantine }: ChatServices,
  store: ExecutionStore,
  placeLate: (id: string) => void
): void {
  for (const { row, entries } of store.openRows()) {
    const { id } = row;
    const problem = executionProblem(row);
    const bad = entries.flatMap((entry) => {
      const why = entryProblem(entry);
      return why === undefined ? [] : [{ entry, why }];
    });
    if (problem === undefined && bad.length === 0) continue;
    conversation.atomically(() => {
      if (problem !== undefined)
        quarantine({ table: "cm_executions", key: id, body: JSON.stringify(row), error: problem });
      for (const { entry, why } of bad)
        quarantine({ table: "cm_log", key: `${id} ${entry.seq}`, body: JSON.stringify(entry), error: why });
      const execution = store.find(id);
      // Only what waits after its turn has a place to be changed; a turn that is open asks for the outcome itself.
      const isWaiting = execution !== undefined && conversation.outputState(execution) === "paused";
      store.giveUp(id, { error: UNREADABLE, isLate: isWaiting, badCalls: bad.map(({ entry }) => entry.seq) });
      if (isWaiting) placeLate(id);
    });
  }
}
