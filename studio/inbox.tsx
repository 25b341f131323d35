// Everything in this agent that waits for a person.
import { useState } from "react";
import type { DecidedApproval, InboxEntry, InboxView } from "../src/features/inspection/index.ts";
import { dateTime, deciderName, printable } from "./format.ts";
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
  const [chosen, setChosen] = useState("all");
  const [name, setName] = useState(() => localStorage.getItem("studio-name") ?? "");
  const filters = filtersOf(inbox.approvals);
  // The last one of a filter may have been decided.
  const filter = filters.find(({ name }) => name === chosen) ?? filters[0];
  const shown = filter?.entries ?? [];
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
        {filters.map(({ name, label, entries }) => (
          <button key={name} aria-pressed={name === filter?.name} onClick={() => setChosen(name)}>
            {label} <small>{entries.length}</small>
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
          // Code that waits again asks another question under the same id.
          key={`${entry.id} ${entry.inputHash}`}
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

interface Filter {
  readonly name: string;
  readonly label: string;
  readonly entries: readonly InboxEntry[];
}

/** By kind, and by risk where a class names one. */
function filtersOf(approvals: readonly InboxEntry[]): Filter[] {
  const kinds = [...new Set(approvals.map(({ kind }) => kind))];
  const risks = [...new Set(approvals.flatMap(({ risk }) => risk ?? []))];
  return [
    { name: "all", label: "All", entries: approvals },
    ...kinds.map((kind) => ({
      ...{ name: `kind ${kind}`, label: KINDS[kind] },
      entries: approvals.filter((entry) => entry.kind === kind)
    })),
    ...risks.map((risk) => ({
      ...{ name: `risk ${risk}`, label: `${risk} risk` },
      entries: approvals.filter((entry) => entry.risk === risk)
    }))
  ];
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
          <li key={`${callId} ${at}`}>
            <Badge kind={approved ? "approved" : "denied"}>
              {expired ? "expired" : approved ? "approved" : "rejected"}
            </Badge>{" "}
            <code>{name}</code>
            {!expired && ` by ${deciderName(by)}`}
            {reason !== null && `: ${printable(reason)}`} <span className="faint">{dateTime(at)}</span>
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
  const [isSending, setSending] = useState(false);
  const decide = (decision: "approve" | "reject") => {
    const { id, inputHash } = entry;
    const body = { id, decision, by, ...(reason && { reason }), ...(inputHash && { inputHash }) };
    setSending(true);
    setError(undefined);
    source.post("decide", body).then(onDecided, (failure: Error) => {
      setError(failure.message);
      setSending(false);
    });
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
      <h3>{printable(entry.question)}</h3>
      <Text value={entry.input} label="With this input" />
      {entry.isDecidable && entry.input.isCut && (
        <p className="error">
          It is too long to be shown here to its end. Approve it where all of it can be read, such as{" "}
          <code>everthink approve</code>.
        </p>
      )}
      {entry.isDecidable && canWrite && (
        <p className="actions">
          <input
            aria-label="Reason"
            placeholder="Reason (optional)"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
          <button className="primary" disabled={isSending || entry.input.isCut} onClick={() => decide("approve")}>
            Approve
          </button>
          <button className="danger" disabled={isSending} onClick={() => decide("reject")}>
            Reject
          </button>
        </p>
      )}
      {entry.isDecidable && !canWrite && <p className="faint">Read-only: start Studio with --write to decide here.</p>}
      {error && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
    </article>
  );
}
