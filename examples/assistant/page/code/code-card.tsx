// A program that the model wrote: what it says, what it has called so far, and what it printed.
import { useEffect, useState } from "react";
import type { CalledFromCode } from "../../shared/demo.ts";
import { Icon, type IconName } from "../icons.tsx";
import { useDecisions } from "../parts/decisions.ts";
import type { ToolPart } from "../parts/tool-part.ts";
import { callWord, programOf, type CallTone } from "./program-part.ts";

const ICONS: Readonly<Record<CallTone, IconName>> = { done: "check", waiting: "hand", failed: "warning" };

export function CodeCard({ part }: { part: ToolPart }) {
  const { code, executionId, status, printed, asked } = programOf(part);
  const calls = useCalls(executionId, status);
  return (
    <div className="code-card">
      <pre className="code-text" tabIndex={0} aria-label="Program">
        {code}
      </pre>
      {calls.length > 0 && (
        <ol className="code-calls" aria-label="Calls of the program">
          {calls.map(({ name, state }, index) => {
            const { tone, word } = callWord(state);
            return (
              <li key={index} data-tone={tone}>
                <Icon name={ICONS[tone]} size={14} />
                <code>{name}</code>
                <span>{word}</span>
              </li>
            );
          })}
        </ol>
      )}
      {asked.map((line, index) => (
        <p key={index} className="code-asked">
          {line}
        </p>
      ))}
      {printed !== "" && (
        <pre className="code-text" tabIndex={0} aria-label="Printed">
          {printed}
        </pre>
      )}
    </div>
  );
}

/** Asked again when the run has another status. */
function useCalls(executionId: string | undefined, status: string): readonly CalledFromCode[] {
  const { calledFromCode } = useDecisions();
  const [calls, setCalls] = useState<readonly CalledFromCode[]>([]);
  useEffect(() => {
    if (executionId === undefined) return;
    let isGone = false;
    // Lost with its connection: the program is shown without them.
    calledFromCode(executionId).then(
      (found) => isGone || setCalls(found),
      () => undefined
    );
    return () => {
      isGone = true;
    };
  }, [executionId, status, calledFromCode]);
  return calls;
}
