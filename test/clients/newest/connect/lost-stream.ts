import { useEffect } from "react";

/** Goes on reading an answer whose connection broke: the agent has been writing it all the time. */
export function useLostStream({ error, resumeStream }: { error?: Error | undefined; resumeStream(): unknown }) {
  useEffect(() => {
    if (!(error instanceof TypeError)) return;
    const timer = setTimeout(() => void resumeStream(), 1_000);
    return () => clearTimeout(timer);
  }, [error, resumeStream]);
}
