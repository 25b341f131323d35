// Everything in this agent that waits for a person.
import { useState } from "react";
import type { DecidedApproval, InboxEntry, InboxView } from "../src/inspect/index.ts";
import { dateTime } from "./format.ts";
import { Badge, Empty, Text } from "./parts.tsx";
import type { ViewSource } from "./source.ts";

interface InboxProps {
  readonly inbox: InboxView;
  readonly source: ViewSource;
  readonly canWrite: boolean;
  readonly onDecided: () => void;
}

const KINDS: Readonly<Record<InboxEntry["kind"], string>> = {
  action: "parked action",
  workflow: "workflow",
  tool: "call of a turn",
  client: "client's result"
};

export function Inbox({ inbox, source, canWrite, onDecided }: InboxProps) {
  const [kind, setKind] = useState("all");
  const [name, setName] = useState(() => localStorage.getItem("studio-name") ?? "");
  const shown = inbox.approvals.filter((entry) => kind === "all" || entry.kind === kind);
  const canDecide = canWrite && !source.isFile;
  if (inbox.approvals.length === 0) {
    return (
      <div className="inbox">
        <Empty title="Nothing waits">Approvals of every kind appear here.</Empty>
        <Decided decided={inbox.decided ?? []} />
      </div>
    );
  }
  return (
    <div className="inbox">
      <p className="filters" role="group" aria-label="Filter">
        {["all", ...new Set(inbox.approvals.map((entry) => entry.kind))].map((one) => (
          <button key={one} aria-pressed={one === kind} onClick={() => setKind(one)}>
            {one === "all" ? "All" : KINDS[one as InboxEntry["kind"]]}
          </button>
        ))}
        {canDecide && (
          <input
            className="name"
            aria-label="Your name, recorded with your decisions"
            placeholder="Your name, recorded with decisions"
            value={name}
            onChange={({ target }) => {
              setName(target.value);
              localStorage.setItem("studio-name", target.value);
            }}
          />
        )}
      </p>
      {shown.map((entry) => (
        <Entry
          key={entry.id}
          entry={entry}
          source={source}
          canWrite={canDecide}
          by={name.trim() || "Studio"}
          onDecided={onDecided}
        />
      ))}
      <Decided decided={inbox.decided ?? []} />
    </div>
  );
}

/** Files of an earlier Studio have none. */
function Decided({ decided }: { decided: readonly DecidedApproval[] }) {
  if (decided.length === 0) return null;
  return (
    <section className="decided">
      <h3>
        Decided <small>{decided.length}</small>
      </h3>
      <ul className="plain">
        {decided.map(({ callId, approved, expired, name, by, reason, at }) => (
          <li key={callId}>
            <Badge kind={approved ? "approved" : "denied"}>
              {expired ? "expired" : approved ? "approved" : "rejected"}
            </Badge>{" "}
            <code>{name}</code>
            {!expired && ` by ${by ?? "a client"}`}
            {reason !== null && `: ${reason}`} <span className="faint">{dateTime(at)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface EntryProps extends Omit<InboxProps, "inbox"> {
  readonly entry: InboxEntry;
  readonly by: string;
}

function Entry({ entry, source, canWrite, by, onDecided }: EntryProps) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState<string>();
  const decide = (decision: "approve" | "reject") => {
    const { id, inputHash } = entry;
    const body = { id, decision, by, ...(reason && { reason }), ...(inputHash && { inputHash }) };
    source.post("decide", body).then(onDecided, (failure: Error) => setError(failure.message));
  };
  return (
    <article className="card">
      <header>
        <Badge kind={entry.kind}>{KINDS[entry.kind]}</Badge>
        <code>{entry.name}</code>
        {entry.risk && <Badge kind={`risk-${entry.risk}`}>{entry.risk} risk</Badge>}
        {entry.permissions.map((permission) => (
          <Badge key={permission} kind="permission">
            {permission}
          </Badge>
        ))}
      </header>
      <h3>{entry.question}</h3>
      <Text value={entry.input} label="With this input" />
      {entry.isDecidable && canWrite && (
        <p className="actions">
          <input
            aria-label="Reason"
            placeholder="Reason (optional)"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
          <button className="primary" onClick={() => decide("approve")}>
            Approve
          </button>
          <button className="danger" onClick={() => decide("reject")}>
            Reject
          </button>
        </p>
      )}
      {entry.isDecidable && !canWrite && <p className="faint">Read-only: start Studio with --write to decide here.</p>}
      {error && <p className="error">{error}</p>}
    </article>
  );
}
