// A program that the model wrote: what it says, what it has called so far, and what it printed.
import { useEffect, useState } from "react";
import { Icon, type IconName } from "../page/icons.tsx";
import { useDecisions, type ProgramCall } from "../conversation/context.ts";
import type { ToolPart } from "../tool/tool-part.ts";
import { callWord, programOf, type CallTone } from "./program-part.ts";

const ICONS: Readonly<Record<CallTone, IconName>> = { done: "check", waiting: "hand", failed: "warning" };

export function CodeCard({ part }: { part: ToolPart }) {
  const { code, executionId, status, printed, asked } = programOf(part);
  const calls = useCalls(executionId, status);
  return (
    <div className="think-code-card">
      <pre className="think-code-text" tabIndex={0} aria-label="Program">
        {code}
      </pre>
      {calls.length > 0 && (
        <ol className="think-code-calls" aria-label="Calls of the program">
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
        <p key={index} className="think-code-asked">
          {line}
        </p>
      ))}
      {printed !== "" && (
        <pre className="think-code-text" tabIndex={0} aria-label="Printed">
          {printed}
        </pre>
      )}
    </div>
  );
}

/** Asked again when the run has another status. */
function useCalls(executionId: string | undefined, status: string): readonly ProgramCall[] {
  const { callsOfProgram } = useDecisions();
  const [calls, setCalls] = useState<readonly ProgramCall[]>([]);
  useEffect(() => {
    if (executionId === undefined) return;
    let isGone = false;
    // Lost with its connection: the program is shown without them.
    callsOfProgram(executionId).then(
      (found) => isGone || setCalls(found),
      () => undefined
    );
    return () => {
      isGone = true;
    };
  }, [executionId, status, callsOfProgram]);
  return calls;
}
