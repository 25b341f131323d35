// What a sub-agent says while it works, in the card of the call that asked it, and the way into its conversation.
import { useRunsOf } from "../conversation/context.ts";
import { Icon } from "../page/icons.tsx";
import type { AgentRun } from "../think.ts";
import { lastWords, runName, runWord } from "./runs.ts";

export function RunCards({ callId }: { callId: string }) {
  const { runs, onOpenRun, openRunId } = useRunsOf(callId);
  return runs.map((run) => <RunCard key={run.runId} run={run} isOpen={openRunId === run.runId} onOpen={onOpenRun} />);
}

interface RunCardProps {
  run: AgentRun;
  isOpen: boolean;
  onOpen: ((run: AgentRun) => void) | undefined;
}

function RunCard({ run, isOpen, onOpen }: RunCardProps) {
  const name = runName(run);
  const isBusy = run.status === "running";
  const words = lastWords(run);
  return (
    <div className="think-run" role="group" aria-label={`${name} at work`} data-status={run.status}>
      <p className="think-run-head">
        <span className="think-run-name">{name}</span>
        <span className={isBusy ? "think-run-word think-shimmer" : "think-run-word"}>{runWord(run)}</span>
        {onOpen !== undefined && (
          <button
            type="button"
            className="think-run-open"
            aria-label={`Open the conversation of ${name}`}
            aria-pressed={isOpen}
            onClick={() => onOpen(run)}
          >
            Open
            <Icon name="right" size={14} />
          </button>
        )}
      </p>
      {run.error !== undefined ? (
        <p className="think-run-words think-run-error">{run.error}</p>
      ) : (
        isBusy && <p className="think-run-words">{words === "" ? "Just asked." : words}</p>
      )}
    </div>
  );
}
