// A model that has been silent for a while, for a command that shows its answer: the user sees since when, and how to stop.
import type { FollowedClient } from "./turn-end.ts";

/** Says it once per silence, also of one that began earlier. Returns what ends it. */
export function sayWhenSilent(client: FollowedClient, say: (line: string) => void): () => void {
  let said: number | undefined;
  const look = () => {
    const { silentSince } = client.getSnapshot();
    if (silentSince !== undefined && silentSince !== said) say(silenceLine(silentSince));
    said = silentSince;
  };
  look();
  return client.subscribe(look);
}

function silenceLine(sinceMs: number): string {
  const time = new Date(sinceMs).toTimeString().slice(0, "hh:mm:ss".length);
  return `The model has said nothing since ${time}; it may still be thinking. Ctrl-C stops the answer.`;
}
