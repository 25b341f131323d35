// One word on what is going on, and whether there is a connection at all.
import { useChatRoot } from "../conversation/context.ts";
import type { ConnectionState, Status } from "../think.ts";

const WORDS: Readonly<Record<Status, string>> = {
  idle: "Ready",
  queued: "Waiting",
  running: "Answering",
  parked: "Needs you",
  recovering: "Picking up",
  settled: "Ready"
};

/**
 * One word on what is going on: "Ready", "Answering", "Needs you", "Reconnecting".
 *
 * @example
 * <StatusPill />
 */
export function StatusPill() {
  const { status, connection } = useChatRoot();
  return (
    <span className="think-part think-status-pill" role="status" data-status={status} data-connection={connection}>
      <span className="think-status-dot" aria-hidden="true" />
      {connectionWord(connection) ?? WORDS[status]}
    </span>
  );
}

function connectionWord(connection: ConnectionState): string | undefined {
  switch (connection) {
    case "open":
      return undefined;
    case "reconnecting":
      return "Reconnecting";
    case "refused":
      return "Refused";
    case "connecting":
    case "closed":
      return "Connecting";
  }
}
