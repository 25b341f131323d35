// What stands below the log: questions that are out of sight, what was refused, and the composer with its draft.
import { useCallback, useRef, useState } from "react";
import type { UIMessage } from "ai";
import type { WaitingApproval } from "everthink/client";
import { usePageKeys } from "../conversation/page-keys.ts";
import { IconButton } from "../icon-button.tsx";
import { ApprovalBar } from "./approval-bar.tsx";
import { Composer } from "./composer.tsx";
import type { Attachments } from "./use-attachments.ts";

interface DockProps {
  pending: readonly WaitingApproval[];
  problem: string | undefined;
  attachments: Attachments;
  isBusy: boolean;
  onForgetProblem(): void;
  onSend(parts: UIMessage["parts"]): void;
  /** To be answered in the background. */
  onSubmit(parts: UIMessage["parts"]): void;
  onStop(): void;
}

export function Dock(props: DockProps) {
  const { pending, problem, attachments, isBusy, onForgetProblem, onSend, onSubmit, onStop } = props;
  const [draft, setDraft] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  usePageKeys({
    focusComposer: useCallback(() => field.current?.focus(), []),
    escape: useCallback(() => {
      if (isBusy) onStop();
      return isBusy;
    }, [isBusy, onStop])
  });
  const hand = (to: DockProps["onSend"]) => {
    const text = draft.trim();
    const pictures = attachments.images.map(({ id: _id, ...image }) => ({ type: "file" as const, ...image }));
    to([...pictures, ...(text === "" ? [] : [{ type: "text" as const, text }])]);
    setDraft("");
    attachments.clear();
  };
  return (
    <div className="dock">
      <ApprovalBar pending={pending} />
      {problem !== undefined && (
        <p className="conversation-problem" role="alert">
          {problem}
          <IconButton icon="close" size={14} label="Dismiss" onClick={onForgetProblem} />
        </p>
      )}
      <Composer
        fieldRef={field}
        draft={draft}
        attachments={attachments}
        canStop={isBusy}
        onDraft={setDraft}
        onSend={() => hand(onSend)}
        onSubmit={() => hand(onSubmit)}
        onStop={onStop}
      />
    </div>
  );
}
