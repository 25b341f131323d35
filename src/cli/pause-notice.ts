// A turn that pauses, for a command that shows its answer: the user sees since when the model is silent and how to stop, or
// when it is asked again after a failure.
import { describeRetry } from "../client/index.ts";
import type { FollowedClient } from "./turn-end.ts";

/** Says each silence and each pause once, also one that began earlier. Returns what ends it. */
export function sayPauses(client: FollowedClient, say: (line: string) => void): () => void {
  let said: number | undefined;
  let toldRetry: number | undefined;
  const look = () => {
    const { silentSince, retry } = client.getSnapshot();
    if (silentSince !== undefined && silentSince !== said) say(silenceLine(silentSince));
    said = silentSince;
    if (retry && retry.at !== toldRetry) say(describeRetry(retry));
    toldRetry = retry?.at;
  };
  look();
  return client.subscribe(look);
}

function silenceLine(sinceMs: number): string {
  const time = new Date(sinceMs).toTimeString().slice(0, "hh:mm:ss".length);
  return `The model has said nothing since ${time}; it may still be thinking. Ctrl-C stops the answer.`;
}
