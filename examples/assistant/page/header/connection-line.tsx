// Why there is no connection, in one line, and one way on. It appears after a moment: most connections are back by then.
import { useEffect, useState } from "react";
import type { ConnectionState } from "everthink/client";
import { Icon } from "../icons.tsx";

const PATIENCE_MS = 1_500;

interface ConnectionLineProps {
  connection: ConnectionState;
  problem: string | undefined;
  onRetry(): void;
}

export function ConnectionLine({ connection, problem, onRetry }: ConnectionLineProps) {
  const isRefused = connection === "refused";
  const isOverdue = useIsOverdue(problem !== undefined);
  if (problem === undefined || !(isRefused || isOverdue)) return null;
  return (
    <div className="connection-line" role="alert">
      <Icon name="warning" size={16} />
      <span>
        {isRefused ? "There is no connection." : "There is no connection; trying again."} {problem}
      </span>
      <button type="button" className="quiet-button" onClick={onRetry}>
        Try now
      </button>
    </div>
  );
}

/** It has been so for longer than a short interruption takes. */
function useIsOverdue(isSo: boolean): boolean {
  const [isOverdue, setOverdue] = useState(false);
  useEffect(() => {
    if (!isSo) return;
    const timer = setTimeout(() => setOverdue(true), PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      setOverdue(false);
    };
  }, [isSo]);
  return isOverdue;
}
