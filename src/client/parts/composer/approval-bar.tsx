// Questions that are out of sight. They are listed here, above the composer, and decided where they stand, next to what
// they are about.
import { useEffect, useState } from "react";
import type { WaitingApproval } from "../think.ts";
import { Icon } from "../page/icons.tsx";
import { approvalElementId } from "../conversation/context.ts";
import { approvalWords } from "../tool/tool-part.ts";

/** The newest ones have a line each: more would push the conversation out of a small screen. */
const LISTED_QUESTIONS = 2;

export function ApprovalBar({ pending }: { pending: readonly WaitingApproval[] }) {
  const hidden = useOutOfSight(pending.map(({ callId }) => callId));
  const away = pending.filter(({ callId }) => hidden.has(callId));
  const [oldest] = away;
  if (!oldest) return null;
  const more = away.length - LISTED_QUESTIONS;
  return (
    <ul className="think-approval-bar" aria-label="Waiting for your decision">
      {more > 0 && (
        <li>
          <button type="button" onClick={() => bringIntoSight(oldest.callId)}>
            <Icon name="hand" size={16} />
            <span>{more === 1 ? "1 more decision waits" : `${more} more decisions wait`}</span>
            <span className="think-approval-bar-way">Show</span>
          </button>
        </li>
      )}
      {away.slice(-LISTED_QUESTIONS).map(({ callId, descriptor, toolName }) => (
        <li key={callId}>
          <button type="button" onClick={() => bringIntoSight(callId)}>
            <Icon name="hand" size={16} />
            <span>{approvalWords(descriptor, toolName).summary}</span>
            <span className="think-approval-bar-way">Show</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function bringIntoSight(callId: string): void {
  const element = document.getElementById(approvalElementId(callId));
  element?.scrollIntoView({ block: "center", behavior: "smooth" });
  element?.focus({ preventScroll: true });
}

function useOutOfSight(callIds: readonly string[]): ReadonlySet<string> {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const key = callIds.join(" ");
  useEffect(() => {
    const byElement = new Map<Element, string>();
    for (const callId of key === "" ? [] : key.split(" ")) {
      const element = document.getElementById(approvalElementId(callId));
      if (element) byElement.set(element, callId);
    }
    const watch = new IntersectionObserver((entries) => {
      setHidden((before) => {
        const next = new Set(before);
        for (const { target, isIntersecting } of entries) {
          const callId = byElement.get(target) ?? "";
          if (isIntersecting) next.delete(callId);
          else next.add(callId);
        }
        return next;
      });
    });
    for (const element of byElement.keys()) watch.observe(element);
    return () => watch.disconnect();
  }, [key]);
  return hidden;
}
