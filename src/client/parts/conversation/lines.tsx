// What is happening to the answer that is being written, in one line below it.
import { useEffect, useState } from "react";
import { describeRetry, type AwaitedRetry } from "../think.ts";
import type { Interruption } from "./use-interruption.ts";

const CAUSES: Readonly<Record<Interruption["cause"], string>> = {
  process: "The process died.",
  connection: "The connection broke."
};

export function RecoveringLine({ phase, cause }: Interruption) {
  return (
    <p className="think-recovering-line" data-recovering={phase}>
      <span className="think-lamp" aria-hidden="true" />
      {CAUSES[cause]} {phase === "cut" ? "Picking up where it stopped …" : "The answer goes on from where it stopped."}
    </p>
  );
}

/** The model failed and is asked again: why, when, and how often it may still be. The seconds count down. */
export function RetryLine({ retry, onStop }: { retry: AwaitedRetry; onStop: () => void }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p className="think-silence-line" role="status" data-retry={retry.reason}>
      <span className="think-lamp" aria-hidden="true" />
      {describeRetry(retry, now)}
      <button type="button" className="think-line-button" onClick={onStop}>
        Stop
      </button>
    </p>
  );
}

/** The model has said nothing for a while. It may be thinking: this is no error, and the user decides how long to wait. */
export function SilenceLine({ since, onStop }: { since: number; onStop: () => void }) {
  const time = new Date(since).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return (
    <p className="think-silence-line">
      <span className="think-lamp" aria-hidden="true" />
      The model has said nothing since {time}. It may still be thinking.
      <button type="button" className="think-line-button" onClick={onStop}>
        Stop
      </button>
    </p>
  );
}

export function ThinkingLine({ isOffline }: { isOffline: boolean }) {
  return (
    <p className="think-thinking">
      <span className="think-lamp" aria-hidden="true" />
      {isOffline ? "Kept here; sent as soon as there is a connection" : "Thinking"}
    </p>
  );
}
