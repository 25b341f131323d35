// What a colleague says while it works, in the card of the call that asked it, and the way into its conversation.
import { Icon } from "../icons.tsx";
import { lastWords, runName, runWord, useRunsOf } from "./team.ts";

export function RunCards({ callId }: { callId: string }) {
  const { runs, open, openRunId } = useRunsOf(callId);
  if (runs.length === 0) return null;
  return runs.map((run) => {
    const name = runName(run);
    const isBusy = run.status === "running";
    const words = lastWords(run);
    return (
      <div key={run.runId} className="run" role="group" aria-label={`${name} at work`} data-status={run.status}>
        <p className="run-head">
          <span className="run-name">{name}</span>
          <span className={isBusy ? "run-word shimmer" : "run-word"}>{runWord(run)}</span>
          <button
            type="button"
            className="run-open"
            aria-label={`Open the conversation of ${name}`}
            aria-pressed={openRunId === run.runId}
            onClick={() => open(run)}
          >
            Open
            <Icon name="right" size={14} />
          </button>
        </p>
        {run.error !== undefined ? (
          <p className="run-words run-error">{run.error}</p>
        ) : (
          isBusy && <p className="run-words">{words === "" ? "Just asked." : words}</p>
        )}
      </div>
    );
  });
}
