// A child without a conversation: its class has the methods of a run itself. A parent reads it as it reads a `Think`; here
// its methods are asked again until there is something new.
import type { Clock } from "../../host/ports.ts";
import type { AgentToolChunk } from "./chunk-feed.ts";
import type { AgentToolRunInspection, RunProgress } from "./run-progress.ts";
import { MAX_WAIT_MS, type AgentToolRunInfo, type RunAgentToolResult } from "./run.ts";

/** Between two questions. */
const ASK_AGAIN_MS = 250;

interface ChildMethods {
  inspectAgentToolRun(
    runId: string
  ): Promise<AgentToolRunInspection | (AgentToolRunInfo & RunAgentToolResult) | null | undefined>;
  getAgentToolChunks?(runId: string, options: { afterSequence: number }): Promise<readonly AgentToolChunk[]>;
}

/** Whether a class can be the child of a run. */
export function takesRuns(childClass: { readonly prototype: object }): boolean {
  return typeof Reflect.get(childClass.prototype, "startAgentToolRun") === "function";
}

export async function readChildMethods(
  child: ChildMethods,
  clock: Clock,
  { runId, afterSequence = -1, waitMs = 0 }: { runId: string; afterSequence?: number; waitMs?: number }
): Promise<RunProgress> {
  const until = clock.now() + Math.min(waitMs, MAX_WAIT_MS);
  for (;;) {
    // First the state: everything that a finished run has streamed is then there.
    const run = inspectionOf(await child.inspectAgentToolRun(runId));
    const chunks = run ? ((await child.getAgentToolChunks?.(runId, { afterSequence })) ?? []) : [];
    const now = clock.now();
    const idleMs = run ? now - run.startedAt : 0;
    if (run?.status !== "running" || chunks.length > 0 || now >= until) return { run, chunks, more: false, idleMs };
    await clock.sleep(Math.min(ASK_AGAIN_MS, until - now));
  }
}

/** Only the fields that are known: what user code answers goes on to another agent. */
function inspectionOf(answer: Awaited<ReturnType<ChildMethods["inspectAgentToolRun"]>>): RunProgress["run"] {
  if (!answer) return null;
  const { runId, status, output, summary, error, startedAt, completedAt } = answer;
  return {
    runId,
    status: status === "completed" || status === "error" || status === "aborted" ? status : "running",
    output,
    summary,
    error,
    startedAt,
    completedAt
  };
}
