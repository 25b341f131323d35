// One question that waits for a person: what is asked, the whole input, since when, and the decision.
import { useState, type ReactNode } from "react";
import type { InboxEntry, ShownText } from "../src/features/inspection/index.ts";
import { ago, dateTime, printable } from "./format.ts";
import { Badge, Text } from "./parts.tsx";
import type { ViewSource } from "./source.ts";

export const KINDS: Readonly<Record<InboxEntry["kind"], string>> = {
  action: "parked action",
  workflow: "workflow",
  tool: "call of a turn",
  client: "client's result"
};

export type Decision = "approve" | "reject";

interface InboxCardProps {
  readonly entry: InboxEntry;
  readonly source: ViewSource;
  readonly canWrite: boolean;
  /** Who decides; empty: Studio. */
  readonly by: string;
  readonly onDecided: (decision: Decision) => void;
  /** It was refused: the question may be decided already. */
  readonly onRefused?: () => void;
  /** In front of the question. */
  readonly children?: ReactNode;
}

export function InboxCard({ entry, source, canWrite, by, onDecided, onRefused, children }: InboxCardProps) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState<string>();
  const [isSending, setSending] = useState(false);
  // What is approved is what was read: to its end.
  const [isWhole, setWhole] = useState(!entry.input.isCut);
  const decide = (decision: Decision) => {
    const { id, inputHash, seq } = entry;
    const body = {
      ...{ id, decision, by: by.trim() || "Studio" },
      ...(reason && { reason }),
      ...(inputHash && { inputHash }),
      ...(typeof seq === "number" && { seq })
    };
    setSending(true);
    setError(undefined);
    source.post("decide", body).then(
      () => onDecided(decision),
      (failure: Error) => {
        setError(failure.message);
        setSending(false);
        onRefused?.();
      }
    );
  };
  const more = (from: number) =>
    source.get<ShownText>(`inbox/${encodeURIComponent(entry.id)}?from=${from}`).then((page) => {
      if (!page.isCut) setWhole(true);
      return page;
    });
  return (
    <article className="card" tabIndex={-1} aria-label={printable(`${entry.name}: ${entry.question}`)}>
      {children}
      <header>
        <Badge kind={entry.kind}>{KINDS[entry.kind]}</Badge>
        <code>{printable(entry.name)}</code>
        {entry.risk && <Badge kind={`risk-${entry.risk}`}>{entry.risk} risk</Badge>}
        {entry.permissions.map((permission) => (
          <Badge key={permission} kind="permission">
            {permission}
          </Badge>
        ))}
        <Age entry={entry} />
      </header>
      <h3>{printable(entry.question)}</h3>
      <Deciders entry={entry} />
      {entry.mayHaveRun && (
        <p className="error">It was begun before and may have run: look whether it did, before you decide.</p>
      )}
      <Text value={entry.input} label="With this input" {...(!source.isFile && { more })} />
      {entry.isDecidable && !isWhole && (
        <p className="error">
          It is too long to be shown here at once. Show more of it, to its end, before you approve it.
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
          <button className="primary" disabled={isSending || !isWhole} onClick={() => decide("approve")}>
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

/** Who has approved so far, and who may decide beside those who may anyway. */
function Deciders({ entry: { votes, escalation } }: { entry: InboxEntry }) {
  const counted =
    votes &&
    `Approved by ${votes.by.length} of ${votes.required}${votes.by.length > 0 ? ": " : ""}${votes.by.join(", ")}`;
  const others = escalation?.to?.join(", ") || "others";
  const escalated =
    escalation &&
    (escalation.isReached
      ? `Escalated ${dateTime(escalation.at)}: ${others} may decide, too`
      : `From ${dateTime(escalation.at)} on ${others} may decide, too`);
  const lines = [counted, escalated].flatMap((line) => line ?? []);
  return lines.length === 0 ? null : <p className="faint">{printable(lines.join(" · "))}</p>;
}

/** Files of an earlier Studio have no times. */
function Age({ entry: { askedAt, expiresAt } }: { entry: Partial<Pick<InboxEntry, "askedAt" | "expiresAt">> }) {
  if (askedAt === null || askedAt === undefined) return null;
  const until = typeof expiresAt === "number" ? ` · until ${dateTime(expiresAt)}` : "";
  return (
    <span className="faint age" title={dateTime(askedAt)}>
      {`${ago(Date.now() - askedAt)}${until}`}
    </span>
  );
}
