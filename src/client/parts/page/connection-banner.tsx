// Why there is no connection, in one line, and one way on. It appears after a moment: most connections are back by then.
import { useEffect, useState } from "react";
import { useChatRoot } from "../conversation/context.ts";
import { Icon } from "./icons.tsx";

const PATIENCE_MS = 1_500;

export interface ConnectionBannerProps {
  /** For what else on the page has lost its connection. */
  readonly onRetry?: () => void;
}

/**
 * Says why there is no connection, and offers to try again. Shows nothing while there is one.
 *
 * @example
 * <ConnectionBanner />
 */
export function ConnectionBanner({ onRetry }: ConnectionBannerProps) {
  const { connection, connectionError, client } = useChatRoot();
  const isRefused = connection === "refused";
  const isOverdue = useIsOverdue(connectionError !== undefined);
  if (connectionError === undefined || !(isRefused || isOverdue)) return null;
  const retry = () => {
    // One of the two: it is waiting to try again, or has given up.
    client.retryNow();
    client.connect();
    onRetry?.();
  };
  return (
    <div className="think-part think-connection-line" role="alert">
      <Icon name="warning" size={16} />
      <span>
        {isRefused ? "There is no connection." : "There is no connection; trying again."} {connectionError}
      </span>
      <button type="button" className="think-quiet-button" onClick={retry}>
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
