// A sentence about the whole page, such as which model answers.
import type { ReactNode } from "react";
import { IconButton } from "./icon-button.tsx";
import { Icon } from "./icons.tsx";

export interface NoticeProps {
  /** `problem` stands out, and is read out at once. */
  readonly kind?: "hint" | "problem";
  readonly children: ReactNode;
  /** Offers to take it away. */
  readonly onDismiss?: () => void;
}

/**
 * A line between header and conversation.
 *
 * @example
 * <Notice kind="problem">No key for a model is set: the offline model answers.</Notice>
 */
export function Notice({ kind = "hint", children, onDismiss }: NoticeProps) {
  return (
    <div className="think-part think-notice" data-kind={kind} role={kind === "problem" ? "alert" : "note"}>
      {kind === "problem" && <Icon name="warning" />}
      <p>{children}</p>
      {onDismiss !== undefined && <IconButton icon="close" size={16} label="Dismiss hint" onClick={onDismiss} />}
    </div>
  );
}
