// A question to a person, where the call stands. A parked action says that it can wait, and takes a reason with a no.
import { useState } from "react";
import { approvalElementId, useDecisions } from "../conversation/context.ts";
import type { WaitingApproval } from "../think.ts";
import { extensionReview } from "./extension-part.ts";
import { ExtensionReview } from "./extension-review.tsx";
import { InputList } from "./input-list.tsx";
import { isProgram } from "./program-part.ts";
import { getToolApproval, mcpSource, type ToolPart } from "./tool-part.ts";

/**
 * The question of a call that waits for a person: its summary and risk, with the buttons that decide it. Shows nothing
 * for a call that asks nothing. Part of `ToolCard`.
 *
 * @example
 * <ApprovalCard part={part} />
 */
export function ApprovalCard({ part }: { part: ToolPart }) {
  const { pending } = useDecisions();
  const question = getToolApproval(part, pending);
  if (question === undefined) return null;
  const { summary, risk, input, asked, isParked } = question;
  return (
    <div
      className="think-part think-approval-card"
      id={approvalElementId(part.toolCallId)}
      data-risk={risk}
      role="group"
      aria-label={`Decision: ${summary}`}
      tabIndex={-1}
    >
      <p className="think-approval-summary">
        {summary} {risk !== undefined && <span className="think-risk">{risk} risk</span>}
      </p>
      <SourceNote part={part} />
      {asked?.mayHaveRun && (
        <p className="think-approval-note">
          A crash was in the middle of this call: approve it only if it did not run.
        </p>
      )}
      <ExtensionReview part={part} />
      {isParked && asked !== undefined && (
        <p className="think-approval-note">It waits as long as it takes. You may close this page.</p>
      )}
      {!isProgram(part) && extensionReview(part) === undefined && <InputList input={input} />}
      <Decision asked={asked} takesReason={isParked} />
    </div>
  );
}

/** Of a tool of an MCP server: which one, and what the server says about its effects. */
function SourceNote({ part }: { part: ToolPart }) {
  const source = mcpSource(part);
  if (source === undefined) return null;
  return (
    <p className="think-approval-note">
      A tool of {source.server}
      {source.hint !== undefined && (
        <>
          , which says that it <strong data-hint={source.hint}>{source.hint}</strong>
        </>
      )}
      .
    </p>
  );
}

type Progress = { readonly step: "open" | "sent" } | { readonly step: "failed"; readonly why: string };

function Decision({ asked, takesReason }: { asked: WaitingApproval | undefined; takesReason: boolean }) {
  const { approve, reject } = useDecisions();
  const [progress, setProgress] = useState<Progress>({ step: "open" });
  const [reason, setReason] = useState("");
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
  const isSent = progress.step === "sent";
  return (
    <>
      {progress.step === "failed" && <p className="think-tool-failure">{progress.why}</p>}
      {asked === undefined && progress.step !== "failed" && (
        <p className="think-approval-note">Decided; the outcome follows.</p>
      )}
      {asked !== undefined && (
        <div className="think-approval-actions">
          <button
            type="button"
            className="think-solid-button"
            disabled={isSent}
            onClick={() => void decide(approve(asked))}
          >
            Approve
          </button>
          <button
            type="button"
            className="think-line-button"
            disabled={isSent}
            onClick={() => void decide(reject(asked, reason.trim() || undefined))}
          >
            Reject
          </button>
          {takesReason && (
            <input
              className="think-text-field"
              aria-label="Reason for rejecting"
              placeholder="Reason, if you reject"
              maxLength={500}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </div>
      )}
    </>
  );
}
