// Undoes what a run has done, newest first, as far as its tools can; a run that waits ends with it.
import { errorMessage } from "../../util/errors.ts";
import type { ChatServices } from "../../feature/services.ts";
import { openConnectors } from "./connector.ts";
import { RollbackError } from "./errors.ts";
import type { Execution } from "./execution-store.ts";
import { callPath, type Executions } from "./executions.ts";
import { connectorContext } from "./pass.ts";
import { decodeValue } from "./value-codec.ts";

const ROLLED_BACK = "It was rolled back.";

/** Throws RollbackError after all calls were tried. */
export async function rollBack(id: string, executions: Executions, host: ChatServices): Promise<string[]> {
  const { store, runtimes, active } = executions;
  const execution = store.find(id);
  const connectors = await openConnectors(runtimes.get(execution?.runtime ?? "")?.connectors ?? []);
  if (!execution) throw new RollbackError(id, "it does not exist");
  if (execution.status === "running" || active.has(id)) throw new RollbackError(id, "it is still running");
  if (execution.status === "paused") endPause(execution, executions, host);
  const failures: string[] = [];
  const reverted: string[] = [];
  for (const entry of store.log(id).toReversed()) {
    const tool = connectors.find(({ name }) => name === entry.connector)?.tools.get(entry.method);
    if (entry.state !== "applied" || !tool?.revert) continue;
    try {
      const args = decodeValue(entry.editedArgs ?? entry.args);
      const result = entry.result === null ? undefined : decodeValue(entry.result);
      await tool.revert(args, result, connectorContext(execution, entry.seq, new AbortController().signal));
      store.move(id, entry.seq, "reverted");
      reverted.push(callPath(entry));
    } catch (error) {
      failures.push(`${callPath(entry)}: ${errorMessage(error)}`);
    }
  }
  if (reverted.length > 0) store.rolledBack(id);
  if (failures.length > 0) throw new RollbackError(id, failures);
  return reverted;
}

/** A run that waits does not go on when it is undone, and its place in the transcript says so. */
function endPause({ id }: Execution, executions: Executions, { conversation, rearm }: ChatServices): void {
  conversation.atomically(() => {
    if (executions.store.leavePause(id, "rejected", ROLLED_BACK)) executions.placeLate(id);
  });
  rearm();
}
