// The model failed and is asked again: why, when, and how often it may still be. The seconds count down.
import { describeRetry, type AwaitedRetry } from "everthink/client";
import { useEffect, useState } from "react";

interface RetryLineProps {
  retry: AwaitedRetry;
  onStop(): void;
}

export function RetryLine({ retry, onStop }: RetryLineProps) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p className="silence-line" role="status" data-retry={retry.reason}>
      <span className="lamp" aria-hidden="true" />
      {describeRetry(retry, now)}
      <button type="button" className="line-button" onClick={onStop}>
        Stop
      </button>
    </p>
  );
}
