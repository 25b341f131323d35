// Everything in this agent that waits for a person.
import { useState } from "react";
import type { DecidedApproval, InboxEntry, InboxView } from "../src/features/inspection/index.ts";
import { dateTime, deciderName, printable } from "./format.ts";
import { InboxCard, KINDS } from "./inbox-card.tsx";
import { Badge, Empty } from "./parts.tsx";
import type { ViewSource } from "./source.ts";

interface InboxProps {
  readonly inbox: InboxView;
  readonly source: ViewSource;
  readonly canWrite: boolean;
  readonly onDecided: () => void;
}

export function Inbox({ inbox, source, canWrite, onDecided }: InboxProps) {
  const [chosen, setChosen] = useState("all");
  const [name, setName] = useDeciderName();
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
        {canDecide && <DeciderName name={name} onChange={setName} />}
      </p>
      {shown.map((entry) => (
        <InboxCard
          // Code that waits again asks another question under the same id.
          key={questionKey(entry)}
          entry={entry}
          source={source}
          canWrite={canDecide}
          by={name}
          onDecided={onDecided}
        />
      ))}
      <Decided decided={inbox.decided ?? []} />
    </div>
  );
}

/** Code that waits again asks another question under the same id. */
export function questionKey({ id, inputHash, seq }: InboxEntry): string {
  return `${id} ${inputHash} ${seq ?? ""}`;
}

/** Kept in the browser. */
export function useDeciderName(): [string, (name: string) => void] {
  const [name, setName] = useState(() => localStorage.getItem("studio-name") ?? "");
  const set = (next: string) => {
    setName(next);
    localStorage.setItem("studio-name", next);
  };
  return [name, set];
}

export function DeciderName({ name, onChange }: { name: string; onChange: (name: string) => void }) {
  return (
    <input
      className="name"
      aria-label="Your name, recorded with your decisions"
      placeholder="Your name, recorded with decisions"
      value={name}
      onChange={({ target }) => onChange(target.value)}
    />
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
export function Decided({ decided }: { decided: readonly DecidedApproval[] }) {
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
