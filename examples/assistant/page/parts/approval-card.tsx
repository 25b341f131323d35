// A question to a person, where the call stands. A parked action says that it can wait, and takes a reason with a no.
import { useState } from "react";
import { ExtensionReview } from "./extension-review.tsx";
import { approvalElementId, useDecisions } from "./decisions.ts";
import { approvalWords, isParked, mcpSource, toolName, type ToolPart } from "./tool-part.ts";

type Progress = { readonly step: "open" | "sent" } | { readonly step: "failed"; readonly why: string };

export function ApprovalCard({ part }: { part: ToolPart }) {
  const { pending, approve, reject } = useDecisions();
  const [progress, setProgress] = useState<Progress>({ step: "open" });
  const [reason, setReason] = useState("");
  const asked = pending.find(({ callId }) => callId === part.toolCallId);
  const isOpen = asked !== undefined;
  const parked = isParked(part);
  const source = mcpSource(part);
  const { summary, risk } = approvalWords(part.approvalDescriptor ?? part.approval?.descriptor, toolName(part));
  const decide = async (decision: Promise<unknown>) => {
    setProgress({ step: "sent" });
    try {
      await decision;
      // Code that waits again asks another question on this card.
      setProgress({ step: "open" });
    } catch (error) {
      setProgress({ step: "failed", why: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <div className="approval-card" id={approvalElementId(part.toolCallId)} data-risk={risk} tabIndex={-1}>
      <p className="approval-summary">
        {summary} {risk !== undefined && <span className="risk">{risk} risk</span>}
      </p>
      {source !== undefined && (
        <p className="approval-note">
          A tool of {source.server}
          {source.hint !== undefined && (
            <>
              , which says that it <strong data-hint={source.hint}>{source.hint}</strong>
            </>
          )}
          .
        </p>
      )}
      {asked?.mayHaveRun && (
        <p className="approval-note">A crash was in the middle of this call: approve it only if it did not run.</p>
      )}
      <ExtensionReview part={part} />
      {parked && isOpen && <p className="approval-note">It waits as long as it takes. You may close this page.</p>}
      {progress.step === "failed" && <p className="tool-failure">{progress.why}</p>}
      {!isOpen && progress.step !== "failed" && <p className="approval-note">Decided; the outcome follows.</p>}
      {isOpen && (
        <div className="approval-actions">
          <button
            type="button"
            className="solid-button"
            disabled={progress.step === "sent"}
            onClick={() => void decide(approve(asked))}
          >
            Approve
          </button>
          <button
            type="button"
            className="line-button"
            disabled={progress.step === "sent"}
            onClick={() => void decide(reject(asked, reason.trim() || undefined))}
          >
            Reject
          </button>
          {parked && (
            <input
              className="text-field"
              aria-label="Reason for rejecting"
              placeholder="Reason, if you reject"
              maxLength={500}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </div>
      )}
    </div>
  );
}
