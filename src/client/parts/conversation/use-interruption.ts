// Whether the answer that is being written was cut off. The connection tells when it is cut; only new words tell that
// it goes on, since a connection is back sooner than the process that answers. That it goes on is said long enough to
// be read.
import { useEffect, useState } from "react";
import type { ConnectionState } from "../think.ts";

export interface Interruption {
  readonly phase: "cut" | "goes-on";
  readonly cause: "process" | "connection";
}

interface Sight {
  readonly connection: ConnectionState;
  readonly isBusy: boolean;
  readonly answerLength: number;
  /** The agent, or the person who pulled the plug, knows that the process died. */
  readonly hasProcessDied: boolean;
}

const SAID_FOR_MS = 2_500;

export function useInterruption(sight: Sight): Interruption | undefined {
  const { connection, isBusy, answerLength, hasProcessDied } = sight;
  /** How much of the answer is there since it was cut off; what was not yet stored is taken back first. */
  const [cutAt, setCutAt] = useState<number>();
  const [isResumed, setResumed] = useState(false);
  const isAway = connection !== "open" && connection !== "connecting";
  useEffect(() => {
    if (!isBusy) {
      if (cutAt !== undefined) setCutAt(undefined);
      setResumed(false);
    } else if (isAway) {
      setCutAt(answerLength);
    } else if (cutAt !== undefined && answerLength !== cutAt) {
      setCutAt(answerLength > cutAt ? undefined : answerLength);
      setResumed(answerLength > cutAt);
    }
  }, [isBusy, isAway, answerLength, cutAt]);
  useEffect(() => {
    if (!isResumed) return;
    const timer = setTimeout(() => setResumed(false), SAID_FOR_MS);
    return () => clearTimeout(timer);
  }, [isResumed]);
  if (!isBusy || (cutAt === undefined && !isResumed)) return undefined;
  return { phase: cutAt === undefined ? "goes-on" : "cut", cause: hasProcessDied ? "process" : "connection" };
}
