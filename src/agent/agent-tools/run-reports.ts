// Tells user code how a run ended: the class's hook, the method that a background run names, and the conversation.
import type { RunConversation, RunsInit } from "./ports.ts";
import type { RunAgentToolResult } from "./run.ts";
import { backgroundOf, displayOf, runInfo, runResult, type RunRow } from "./run-table.ts";

/** A throw is logged; the report counts as made. */
export async function reportRun(
  { hooks, runtime, conversation }: RunsInit & { readonly conversation: RunConversation },
  row: RunRow
): Promise<void> {
  const info = runInfo(row);
  const result = runResult(row);
  // The caller of one that never began was not promised anything.
  const { onFinish, notify = false } = (row.reason === "not-started" ? undefined : backgroundOf(row)) ?? {};
  const calls = [
    () => hooks.onFinish(info, result),
    ...(onFinish === undefined ? [] : [() => runtime.invoke(onFinish, info, result)]),
    ...(notify ? [() => conversation.post(noticeOf(row, result), `agent-tool:${row.run_id}:${row.status}`)] : [])
  ];
  for (const call of calls) {
    try {
      await call();
    } catch (error) {
      await runtime.report(error);
    }
  }
}

/** What a conversation is told of a background run. */
function noticeOf({ display, class_name: className }: RunRow, { status, summary, error }: RunAgentToolResult): string {
  const name = displayOf({ display })?.name ?? className;
  if (status !== "completed") return `${name} did not finish (${status})${error === undefined ? "." : `: ${error}`}`;
  return summary === undefined || summary === "" ? `${name} has finished.` : `${name}: ${summary}`;
}
