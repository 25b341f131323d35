// A past turn again with changes, beside the original. What is changed here is sent to the fork and nowhere else.
import { useState } from "react";
import type { CallTimeline, TriedRun, TryRequest, TryView, TurnTimeline, TurnWhy } from "../src/inspect/index.ts";
import { duration, tokens } from "./format.ts";
import { Badge, Text } from "./parts.tsx";
import { tryTurn, type ViewSource } from "./source.ts";

interface TryAgainProps {
  readonly turn: TurnTimeline;
  readonly why: TurnWhy | undefined;
  readonly source: ViewSource;
  readonly models: readonly string[];
}

export function TryAgain({ turn, why, source, models }: TryAgainProps) {
  const question =
    turn.messages.findLast(({ role }) => role === "user")?.parts.find(({ type }) => type === "text")?.text.text ?? "";
  const system =
    why?.prompt.sections
      .filter(({ replacedBy }) => replacedBy === null)
      .map(({ text }) => text.text)
      .join("\n\n") ?? "";
  const calls = turn.attempts
    .flatMap(({ steps }) => steps.flatMap((step) => step.calls))
    .filter(({ output }) => output !== null);
  const [changes, setChanges] = useState<Omit<TryRequest, "turnId">>({});
  const [result, setResult] = useState<TryView>();
  const [status, setStatus] = useState<"idle" | "running" | string>("idle");
  const run = () => {
    setStatus("running");
    tryTurn(source, { turnId: turn.turnId, ...changes }).then(
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
          value={changes.question ?? question}
          onChange={(text) => setChanges({ ...changes, question: text })}
        />
        <Field
          label="System prompt"
          value={changes.system ?? system}
          onChange={(text) => setChanges({ ...changes, system: text })}
        />
        <Results calls={calls} changes={changes} onChange={setChanges} />
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
        <button onClick={() => setChanges({})}>Undo changes</button>
        {status !== "idle" && status !== "running" && <span className="error">{status}</span>}
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

function Field({ label, value, onChange }: { label: string; value: string; onChange: (text: string) => void }) {
  return (
    <label>
      {label}
      <textarea
        rows={Math.min(8, value.split("\n").length + 1)}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

interface ResultsProps {
  readonly calls: readonly CallTimeline[];
  readonly changes: Omit<TryRequest, "turnId">;
  readonly onChange: (changes: Omit<TryRequest, "turnId">) => void;
}

function Results({ calls, changes, onChange }: ResultsProps) {
  return calls.map(({ callId, toolName, output }) => (
    <Field
      key={callId}
      label={`Result of ${toolName}`}
      value={String(changes.toolResults?.[callId] ?? output?.text ?? "")}
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
        <span className="faint">{`${run.modelId ?? ""} · ${tokens(run.usage)} · ${run.steps} steps · ${duration(run.durationMs)}`}</span>
      </header>
      <Text value={run.text} label="Answer" />
      {run.calls.map((call, index) => (
        <details key={index} className="section">
          <summary>
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
