// A question to a person, where the call stands. A parked action says that it can wait, and takes a reason with a no. What a
// call runs with may be changed before it is approved.
import { useState } from "react";
import { approvalElementId, useDecisions } from "../conversation/context.ts";
import type { WaitingApproval } from "../think.ts";
import { extensionReview } from "./extension-part.ts";
import { ExtensionReview } from "./extension-review.tsx";
import { InputForm } from "./input-form.tsx";
import { InputList } from "./input-list.tsx";
import { isProgram } from "./program-part.ts";
import { getToolApproval, mcpSource, type ToolPart } from "./tool-part.ts";
import { useDecision } from "./use-decision.ts";

/**
 * The question of a call that waits for a person: its summary and risk, with the buttons that decide it, also with
 * a changed input. Shows nothing for a call that asks nothing. Part of `ToolCard`.
 *
 * @example
 * <ApprovalCard part={part} />
 */
export function ApprovalCard({ part }: { part: ToolPart }) {
  const { pending, approve, reject } = useDecisions();
  const { progress, decide } = useDecision();
  const [isChanging, setChanging] = useState(false);
  const [texts, setTexts] = useState<ReadonlyMap<string, string>>(new Map());
  const question = getToolApproval(part, pending);
  if (question === undefined) return null;
  const { summary, risk, input, asked, isParked } = question;
  const isShown = !isProgram(part) && extensionReview(part) === undefined;
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
      {isShown && !isChanging && <InputList input={input} />}
      {progress.step === "failed" && (
        <p className="think-tool-failure" role="alert">
          {progress.why}
        </p>
      )}
      {asked === undefined && progress.step !== "failed" && (
        <p className="think-approval-note">Decided; the outcome follows.</p>
      )}
      {asked !== undefined && isChanging && (
        <InputForm
          input={input}
          texts={texts}
          onTexts={setTexts}
          isDisabled={progress.step === "sent"}
          onApprove={(changed) => void decide(approve(asked, changed))}
          onCancel={() => {
            setChanging(false);
            setTexts(new Map());
          }}
        />
      )}
      {asked !== undefined && !isChanging && (
        <Decision
          isSent={progress.step === "sent"}
          takesReason={isParked}
          onApprove={() => void decide(approve(asked))}
          onReject={(reason) => void decide(reject(asked, reason))}
          {...(isChangeable(part, asked, input) && { onChange: () => setChanging(true) })}
        />
      )}
    </div>
  );
}

/** An extension is approved as it is, and so is a call that may have run: what it did is not changed any more. */
function isChangeable(part: ToolPart, asked: WaitingApproval, input: unknown): boolean {
  if (asked.mayHaveRun || extensionReview(part) !== undefined) return false;
  return typeof input === "object" && input !== null && Object.keys(input).length > 0;
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

interface DecisionProps {
  readonly isSent: boolean;
  readonly takesReason: boolean;
  onApprove(): void;
  onReject(reason: string | undefined): void;
  /** Absent: it is approved as it is, or not at all. */
  onChange?(): void;
}

function Decision({ isSent, takesReason, onApprove, onReject, onChange }: DecisionProps) {
  const [reason, setReason] = useState("");
  return (
    <div className="think-approval-actions">
      <button type="button" className="think-solid-button" disabled={isSent} onClick={onApprove}>
        Approve
      </button>
      {onChange !== undefined && (
        <button type="button" className="think-line-button" disabled={isSent} onClick={onChange}>
          Change input
        </button>
      )}
      <button
        type="button"
        className="think-line-button"
        disabled={isSent}
        onClick={() => onReject(reason.trim() || undefined)}
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
  );
}
