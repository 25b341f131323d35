// A past turn again with changes, beside the original. What is changed here is sent to the fork and nowhere else.
import { useState } from "react";
import type {
  CallTimeline,
  TriedRun,
  TryRequest,
  TryView,
  TurnTimeline,
  TurnWhy,
  WindowEntry
} from "../src/features/inspection/index.ts";
import { duration, printable, spent } from "./format.ts";
import { Badge, Text, VirtualList } from "./parts.tsx";
import { tryTurn, type ViewSource } from "./source.ts";

interface TryAgainProps {
  readonly turn: TurnTimeline;
  readonly why: TurnWhy | undefined;
  readonly source: ViewSource;
  readonly models: readonly string[];
}

export function TryAgain({ turn, why, source, models }: TryAgainProps) {
  const question = turn.messages
    .findLast(({ role }) => role === "user")
    ?.parts.find(({ type }) => type === "text")?.text;
  const sections = why?.prompt.sections.filter(({ replacedBy }) => replacedBy === null) ?? [];
  const calls = turn.attempts
    .flatMap(({ steps }) => steps.flatMap((step) => step.calls))
    .filter(({ output }) => output !== null);
  const [changes, setChanges] = useState<Omit<TryRequest, "turnId">>({});
  const [result, setResult] = useState<TryView>();
  const [status, setStatus] = useState<"idle" | "running" | string>("idle");
  const run = () => {
    setStatus("running");
    tryTurn(source, { turnId: turn.turnId, ...changes, toolResults: resultsOf(calls, changes) }).then(
      (view) => {
        setResult(view);
        setStatus("idle");
      },
      (error: Error) => setStatus(error.message)
    );
  };
  return (
    <section className="try" aria-label="Try again with changes">
      <h3>Try again with changes</h3>
      <p className="faint">
        Runs beside the original and touches nothing: no tool runs, nothing is stored. It calls the model, which costs
        tokens.
      </p>
      <div className="try-form">
        <Field
          label="Question"
          value={changes.question ?? question?.text ?? ""}
          isCut={question?.isCut ?? false}
          onChange={(text) => setChanges({ ...changes, question: text })}
        />
        <Field
          label="System prompt"
          value={changes.system ?? sections.map(({ text }) => text.text).join("\n\n")}
          isCut={sections.some(({ text }) => text.isCut)}
          onChange={(text) => setChanges({ ...changes, system: text })}
        />
        <Results calls={calls} changes={changes} onChange={setChanges} />
        <HistoryChoice entries={why?.history.entries ?? []} changes={changes} onChange={setChanges} />
        {models.length > 0 && (
          <label>
            Model
            <select
              value={changes.model ?? ""}
              onChange={(event) => setChanges({ ...changes, model: event.target.value })}
            >
              <option value="">as before</option>
              {models.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <p className="actions">
        <button className="primary" disabled={status === "running"} onClick={run}>
          {status === "running" ? "Running…" : "Run the fork"}
        </button>
        <button disabled={Object.keys(changes).length === 0} onClick={() => setChanges({})}>
          Undo changes
        </button>
        {status !== "idle" && status !== "running" && (
          <span className="error" role="alert">
            {status}
          </span>
        )}
      </p>
      {result && (
        <div className="side-by-side">
          <Run title="Original" run={result.original} />
          <Run title="With changes" run={result.changed} />
        </div>
      )}
    </section>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  /** The agent showed its beginning only. */
  readonly isCut: boolean;
  readonly onChange: (text: string) => void;
}

function Field({ label, value, isCut, onChange }: FieldProps) {
  return (
    <label>
      {label}
      {isCut && <small> Its beginning: the fork gets the whole if you leave it, and only this if you change it.</small>}
      <textarea
        rows={Math.min(8, value.split("\n").length + 1)}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

interface ChangesProps {
  readonly changes: Omit<TryRequest, "turnId">;
  readonly onChange: (changes: Omit<TryRequest, "turnId">) => void;
}

interface ResultsProps extends ChangesProps {
  readonly calls: readonly CallTimeline[];
}

/** What was written for each call: a value where the original is one and the text still reads as JSON. */
function resultsOf(calls: readonly CallTimeline[], { toolResults = {} }: ChangesProps["changes"]) {
  const isValue = (id: string) => /^[[{]/.test(calls.find(({ callId }) => callId === id)?.output?.text ?? "");
  return Object.fromEntries(
    Object.entries(toolResults).map(([id, text]) => [id, isValue(id) ? parsed(String(text)) : text])
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Then it is a text.
    return text;
  }
}

/** Messages of the history that the fork goes without. */
function HistoryChoice({ entries, changes, onChange }: ChangesProps & { entries: readonly WindowEntry[] }) {
  const without = changes.without ?? [];
  const toggle = (id: string) => {
    const left = without.includes(id) ? without.filter((one) => one !== id) : [...without, id];
    onChange({ ...changes, without: left });
  };
  if (entries.length === 0) return null;
  return (
    <fieldset className="history-choice">
      <legend>
        History <small>{without.length === 0 ? "every message is given" : `${without.length} left out`}</small>
      </legend>
      <VirtualList
        items={entries}
        rowHeight={30}
        label="Messages the fork is given, newest first"
        render={({ messageId, role, preview }) => (
          <label className="choice" data-left-out={without.includes(messageId)}>
            <input type="checkbox" checked={!without.includes(messageId)} onChange={() => toggle(messageId)} />
            <span className="role">{role}</span>
            <span className="preview">{printable(preview)}</span>
          </label>
        )}
      />
    </fieldset>
  );
}

function Results({ calls, changes, onChange }: ResultsProps) {
  return calls.map(({ callId, toolName, output }) => (
    <Field
      key={callId}
      label={`Result of ${toolName}`}
      value={String(changes.toolResults?.[callId] ?? output?.text ?? "")}
      isCut={output?.isCut ?? false}
      onChange={(text) => onChange({ ...changes, toolResults: { ...changes.toolResults, [callId]: text } })}
    />
  ));
}

function Run({ title, run }: { title: string; run: TriedRun }) {
  return (
    <article className="card">
      <header>
        <b>{title}</b>
        <Badge kind={run.status}>{run.status}</Badge>
        <span className="faint">
          {[
            run.modelId,
            spent(run.usage, run.cost),
            run.steps === 1 ? "1 step" : `${run.steps} steps`,
            duration(run.durationMs)
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </header>
      <Text value={run.text} label="Answer" isProse />
      {run.calls.map((call, index) => (
        <details key={index} className="section">
          <summary>
            <i className="chevron" />
            <code>{call.toolName}</code> <Badge kind={call.source}>{call.source}</Badge>
          </summary>
          <Text value={call.input} label="Input" />
          {call.output && <Text value={call.output} label="Output" />}
        </details>
      ))}
      {run.error && <p className="error">{run.error}</p>}
    </article>
  );
}
