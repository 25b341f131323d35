// The id under which the commands list a question and take its decision. Typed again, it never decides another question.
import type { DecidedQuestion } from "../client/index.ts";

/**
 * A run of code asks several questions. Only the first call of a run has the id of the run alone, and that until a crash; each
 * further question has an id that only a look at the list gives.
 */
export function questionId({ executionId, callId, inputHash, seq = 0, mayHaveRun }: DecidedQuestion): string {
  const id = executionId ?? callId ?? "";
  return inputHash !== undefined && (mayHaveRun || seq > 0) ? `${id}#${inputHash.slice(0, 8)}` : id;
}
