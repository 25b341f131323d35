// One turn to scale: its wait, its attempts and how they ended, steps, calls, children. A row opens what it stands for.
import { Fragment, useState, type ReactNode } from "react";
import type {
  ShownChange,
  AttemptTimeline,
  CallTimeline,
  ChildRun,
  ShownText,
  StepTimeline,
  TurnTimeline
} from "../src/features/inspection/index.ts";
import { bytes, clock, dateTime, deciderName, duration, money, printable, spent, tokens } from "./format.ts";
import { Badge, Fact, Text } from "./parts.tsx";
import type { ViewSource } from "./source.ts";

interface Scale {
  readonly from: number;
  readonly to: number;
}

interface TimelineProps {
  readonly turn: TurnTimeline;
  readonly source: ViewSource;
  readonly now: number;
  /** Changes of the history between the turn before and this one. */
  readonly changes: readonly ShownChange[];
  readonly onChild: (run: ChildRun) => void;
}

export function Timeline({ turn, source, now, changes, onChild }: TimelineProps) {
  const scale = scaleOf(turn, now);
  return (
    <section className="timeline" aria-label="Timeline">
      {changes.map(({ position, kind, count, by, at }) => (
        <p key={position} className="decision">
          {`≡ Before this turn the history was ${kind}: ${count} messages, by ${by}, ${dateTime(at)}.`}
        </p>
      ))}
      {turn.steering.map((note) => (
        <p key={`${note.what} ${note.at}`} className="decision">
          {printable(`↪ ${noteText(note)} at ${clock(note.at)}.`)}
        </p>
      ))}
      <Axis scale={scale} />
      {turn.queueMs !== null && turn.queueMs > 0 && (
        <Row label="Waited in the queue" kind="queue" scale={scale} from={turn.admittedAt} to={turn.startedAt} />
      )}
      {turn.attempts.map((attempt, index) => (
        <Attempt key={attempt.attempt} {...{ attempt, turn, source, scale, onChild, next: turn.attempts[index + 1] }} />
      ))}
      {turn.changes.map((change) => (
        <Row
          key={change.position}
          kind="change"
          label={`History ${change.kind}`}
          scale={scale}
          from={change.at}
          to={change.at}
        >
          <p>
            {change.count} messages, by {change.by}
            {change.why && `, because of ${change.why}`}.
          </p>
        </Row>
      ))}
    </section>
  );
}

function scaleOf(turn: TurnTimeline, now: number): Scale {
  const from = turn.admittedAt ?? turn.startedAt ?? now;
  const ends = turn.childRuns.map(({ completedAt }) => completedAt ?? 0);
  return { from, to: Math.max(from + 1, turn.settledAt ?? now, ...ends) };
}

function Axis({ scale }: { scale: Scale }) {
  const marks = [0, 0.25, 0.5, 0.75, 1];
  return (
    <div className="axis" aria-hidden="true">
      <span className="row-label faint">{clock(scale.from)}</span>
      <span className="track">
        {marks.map((mark) => (
          <i key={mark} style={{ left: `${mark * 100}%` }}>
            {duration((scale.to - scale.from) * mark)}
          </i>
        ))}
      </span>
    </div>
  );
}

const ENDS: Readonly<Record<string, string>> = {
  interrupted: "process died",
  failed: "failed",
  stalled: "model went silent",
  overflow: "context window full",
  restarted: "begun anew",
  settled: "ended"
};

interface AttemptProps extends Omit<TimelineProps, "now" | "changes"> {
  readonly attempt: AttemptTimeline;
  readonly next: AttemptTimeline | undefined;
  readonly scale: Scale;
}

function Attempt({ attempt, next, turn, source, scale, onChild }: AttemptProps) {
  const { attempt: number, kind, startedAt, endedAt, end, decision, modelId, model, steps } = attempt;
  const isDead = end === "interrupted";
  return (
    <>
      {decision && <p className="decision">↻ {decision}</p>}
      <Row
        label={`Attempt ${number} · ${kind}`}
        kind={isDead ? "dead" : end === "failed" || end === "stalled" ? "failed" : "attempt"}
        scale={scale}
        from={startedAt}
        to={endedAt ?? next?.startedAt ?? null}
        note={attemptNote(attempt, turn)}
      >
        <dl className="pairs">
          <dt>Model</dt>
          <dd>{model ?? modelId ?? "–"}</dd>
          <dt>Started</dt>
          <dd>{dateTime(startedAt)}</dd>
          {attempt.retryAt !== null && (
            <>
              <dt>Next attempt planned</dt>
              <dd>{dateTime(attempt.retryAt)}</dd>
            </>
          )}
          <dt>Prompt</dt>
          <dd className="mono">{attempt.prompt ?? "–"}</dd>
        </dl>
      </Row>
      {steps.map((step) => (
        <Step key={step.step} {...{ step, turn, source, scale, onChild }} attemptEnd={endedAt} />
      ))}
    </>
  );
}

function attemptNote({ end, errorCode }: AttemptTimeline, { settledAt }: TurnTimeline): string {
  if (end === null) return settledAt === null ? "running" : "";
  return `${ENDS[end] ?? end}${errorCode ? ` (${errorCode})` : ""}`;
}

interface StepProps extends Omit<TimelineProps, "now" | "changes"> {
  readonly step: StepTimeline;
  readonly scale: Scale;
  readonly attemptEnd: number | null;
}

function Step({ step, turn, source, scale, onChild, attemptEnd }: StepProps) {
  const { startedAt, firstContentAt, finishedAt, finishReason, calls } = step;
  const first = firstContentAt === null ? null : firstContentAt - startedAt;
  return (
    <>
      <Row
        label={`Step ${step.step + 1} · model`}
        kind={finishedAt === null && attemptEnd !== null ? "cut" : "step"}
        level={1}
        scale={scale}
        from={startedAt}
        to={finishedAt ?? attemptEnd}
        mark={firstContentAt}
        markTitle={`first content after ${duration(first)}`}
        note={stepNote(step, attemptEnd)}
      >
        <dl className="pairs">
          {step.model !== null && (
            <>
              <dt>Model</dt>
              <dd>{step.model}</dd>
            </>
          )}
          {step.cancelled.map(({ model }) => (
            <Fragment key={model}>
              <dt>Cancelled</dt>
              <dd>{model}</dd>
            </Fragment>
          ))}
          <dt>First content</dt>
          <dd>{duration(first)}</dd>
          <dt>Finished</dt>
          <dd>{finishReason ?? "no"}</dd>
          <dt>Chunks</dt>
          <dd>{step.chunks}</dd>
        </dl>
      </Row>
      {calls.map((call) => (
        <Call key={call.callId} {...{ call, turn, source, scale, onChild }} />
      ))}
    </>
  );
}

function stepNote({ usage, cost, finishedAt }: StepTimeline, attemptEnd: number | null): string {
  if (usage) return spent(usage, cost);
  if (finishedAt !== null) return "tokens not known";
  return attemptEnd === null ? "running" : "cut off";
}

interface CallProps extends Omit<TimelineProps, "now" | "changes"> {
  readonly call: CallTimeline;
  readonly scale: Scale;
}

function Call({ call, turn, source, scale, onChild }: CallProps) {
  const { callId, toolName, status, startedAt, settledAt, input, output, approval } = call;
  const more = (part: "input" | "output") => (from: number) =>
    source.get<ShownText>(`turns/${turn.turnId}/calls/${encodeURIComponent(callId)}?part=${part}&from=${from}`);
  const runs = turn.childRuns.filter((run) => run.callId === callId);
  return (
    <>
      <Row
        label={toolName}
        kind={`call-${status}`}
        level={2}
        scale={scale}
        from={startedAt}
        to={settledAt}
        isEndUnknown={status !== "running" && status !== "waiting"}
        note={status}
      >
        <Text label="Input" value={input} more={more("input")} />
        {output && <Text label="Output" value={output} more={more("output")} />}
      </Row>
      {approval && (
        <Row
          label="Approval"
          kind="approval"
          level={3}
          scale={scale}
          from={approval.askedAt}
          to={approval.answeredAt}
          isEndUnknown={approval.approved === null && turn.settledAt !== null}
          note={
            approval.approved === null
              ? "waits"
              : `${approval.approved ? "approved" : "rejected"} by ${deciderName(approval.by)}`
          }
        >
          <p>
            Asked {dateTime(approval.askedAt)},{" "}
            {approval.approved === null ? "not decided yet" : `decided ${dateTime(approval.answeredAt)}`}
            {approval.reason && `: ${printable(approval.reason)}`}
          </p>
        </Row>
      )}
      {runs.map((run) => (
        <Row
          key={run.runId}
          label={`${run.agentType} (child)`}
          kind="child"
          level={3}
          scale={scale}
          from={run.startedAt}
          to={run.completedAt}
          note={run.status}
        >
          {run.input !== null && <p>{printable(run.input)}</p>}
          {!source.isFile && <button onClick={() => onChild(run)}>Open its own timeline</button>}
        </Row>
      ))}
    </>
  );
}

interface RowProps {
  readonly label: string;
  readonly kind: string;
  readonly scale: Scale;
  readonly from: number | null;
  readonly to: number | null;
  readonly mark?: number | null;
  readonly markTitle?: string;
  readonly level?: number;
  readonly note?: string;
  /** It has ended, and when is not kept; otherwise one without an end is still going on. */
  readonly isEndUnknown?: boolean;
  readonly children?: ReactNode;
}

function Row(props: RowProps) {
  const { label, kind, scale, from, to, mark, markTitle, level = 0, note, isEndUnknown = false, children } = props;
  const [isOpen, setOpen] = useState(false);
  const at = (time: number) => `${Math.min(100, Math.max(0, ((time - scale.from) / (scale.to - scale.from)) * 100))}%`;
  const end = to ?? scale.to;
  const goesOn = end > scale.to || (to === null && isEndUnknown);
  const length = from === null || (to === null && isEndUnknown) ? null : end - from;
  return (
    <div className={`row row-${kind}`}>
      <button className="row-head" aria-expanded={isOpen} disabled={!children} onClick={() => setOpen(!isOpen)}>
        <span className="row-label" style={{ paddingInlineStart: `${level * 14}px` }} title={label}>
          {children ? <i className="chevron" /> : null}
          {label}
        </span>
        <span className="track">
          {from !== null && (
            <span
              className="bar"
              data-goes-on={goesOn}
              style={{ left: at(from), width: `max(3px, calc(${at(end)} - ${at(from)}))` }}
            />
          )}
          {mark !== undefined && mark !== null && (
            <span className="mark" title={markTitle} style={{ left: at(mark) }} />
          )}
        </span>
        <span className="row-time">{length === null ? "" : duration(length)}</span>
        <span className="row-note" title={note}>
          {note}
        </span>
      </button>
      {isOpen && <div className="row-body">{children}</div>}
    </div>
  );
}

/** A step of the receipt of a message that was given to a busy conversation. */
function noteText({ what, requestId, step }: TurnTimeline["steering"][number]): string {
  switch (what) {
    case "steer-accepted":
      return "Accepted as a steer";
    case "follow-up-accepted":
      return "Accepted as a follow-up";
    case "edited":
      return "Edited while it waited";
    case "applied":
      return `Took over from ${requestId ?? "a turn"} after step ${step ?? "?"}`;
    case "passed":
      return `Given to the sub-agent ${requestId ?? ""}`.trimEnd();
    case "given-back":
      return "The sub-agent ended without reading it";
    case "withdrawn":
      return "Withdrawn";
    case "taken-over":
      return `${requestId ?? "Another turn"} took over`;
    case "stop-requested":
      return "Asked to stop after its step";
  }
}

/** How it went wrong or was stopped, for turns that did not just end. */
export function TurnTrouble({ turn: { error, cancel, grant } }: { turn: TurnTimeline }) {
  const lines = [
    error && `${error.message ?? "It failed."} (${error.code})`,
    cancel && `Cancelled at ${clock(cancel.at)}${cancel.reason === null ? "" : `: ${cancel.reason}`}.`,
    grant?.allowed === false && `authorizeTurn refused it${grant.reason === null ? "" : `: ${grant.reason}`}.`
  ].filter((line) => typeof line === "string");
  return lines.map((line) => (
    <p key={line} className="trouble">
      {printable(line)}
    </p>
  ));
}

export function TurnFacts({ turn }: { turn: TurnTimeline }) {
  const total = turn.settledAt === null || turn.admittedAt === null ? null : turn.settledAt - turn.admittedAt;
  const deaths = turn.attempts.filter(({ end }) => end === "interrupted").length;
  const written = turn.written && `${turn.written.rows} journal rows, ${bytes(turn.written.bytes)}`;
  return (
    <div className="facts">
      <span className="fact">
        <small>status</small>
        <Badge kind={turn.status}>{turn.status}</Badge>
      </span>
      <Fact name="total" value={duration(total)} />
      <Fact name="queue" value={duration(turn.queueMs)} />
      <Fact
        name="attempts"
        value={deaths > 0 ? `${turn.attempts.length}, ${deaths} died` : String(turn.attempts.length)}
      />
      <Fact name="tokens" value={tokens(turn.usage)} />
      {turn.cost && <Fact name="cost" value={money(turn.cost)} />}
      <Fact name="written" value={written ?? "records are gone"} />
      <Fact name="from" value={turn.trigger ?? "–"} />
    </div>
  );
}
