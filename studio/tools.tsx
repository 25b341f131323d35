// The tools of the agent, and a form to run one of them by hand: a turn of its own, with every guard of the model's calls.
import { useEffect, useState } from "react";
import type { ShownTool, StartedRun, ToolsView, TurnTimeline } from "../src/features/inspection/index.ts";
import { callState, printable } from "./format.ts";
import { Badge, Empty, Loading, Text, useView } from "./parts.tsx";
import { fieldsOf, parseTyped, valueOf, type FormField } from "./schema-form.ts";
import type { ViewSource } from "./source.ts";

const POLL_MS = 400;

interface ToolsProps {
  readonly source: ViewSource;
  readonly canWrite: boolean;
  readonly onTurn: (turnId: string) => void;
  readonly onInbox: () => void;
}

export function Tools({ source, canWrite, onTurn, onInbox }: ToolsProps) {
  const { value: view, error } = useView<ToolsView>(source, source.isFile ? undefined : "tools", 0);
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState<string>();
  if (source.isFile) return <Empty title="No tools in a file">Open the agent itself.</Empty>;
  if (!view)
    return error === undefined ? <Loading what="the tools" /> : <Empty title="No tools to show">{error}</Empty>;
  const wanted = words.trim().toLowerCase();
  const shown = view.tools.filter(({ name, layer, group, description }) =>
    [name, layer, group, description?.text].some((text) => text?.toLowerCase().includes(wanted))
  );
  const tool = view.tools.find(({ name }) => name === chosen);
  const refusal = canWrite ? view.refusal : "Read-only: start Studio with --write to run tools.";
  return (
    <div className="content tool-runner">
      <section className="panel">
        <h3>
          Tools <small>{view.tools.length}</small>
        </h3>
        {view.tools.length > 8 && (
          <input
            aria-label="Find a tool"
            placeholder="Find by name or words"
            value={words}
            onChange={({ target }) => setWords(target.value)}
          />
        )}
        {view.tools.length === 0 && <p className="faint">The agent has none.</p>}
        <ul className="plain tool-list">
          {shown.map((one) => (
            <li key={one.name}>
              <button className="tool" aria-current={one.name === chosen} onClick={() => setChosen(one.name)}>
                <span className="mono">{printable(one.name)}</span>
                <span className="faint">{printable(one.group ?? one.layer ?? "")}</span>
                <span className="tool-badges">
                  {one.needsApproval !== "never" && <Badge kind="waiting">asks</Badge>}
                  {one.isDeferred && <Badge kind="deferred">deferred</Badge>}
                  {!one.canRun && <Badge kind="client">not here</Badge>}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {view.isCut && <p className="faint">There are more.</p>}
      </section>
      {tool ? (
        <Runner key={tool.name} {...{ tool, source, refusal, onTurn, onInbox }} />
      ) : (
        <Empty title="Choose a tool">Its schema and a form to run it by hand appear here.</Empty>
      )}
    </div>
  );
}

interface RunnerProps extends Pick<ToolsProps, "source" | "onTurn" | "onInbox"> {
  readonly tool: ShownTool;
  readonly refusal: string | null;
}

function Runner({ tool, source, refusal, onTurn, onInbox }: RunnerProps) {
  const fields = fieldsOf(tool.inputSchema);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [json, setJson] = useState(fields ? undefined : "{}");
  const [error, setError] = useState<string>();
  const [started, setStarted] = useState<StartedRun>();
  const run = () => {
    const read = json === undefined ? valueOf(fields ?? [], typed) : parseTyped(json);
    if (!read.ok) return setError(read.error);
    setError(undefined);
    setStarted(undefined);
    source.post<StartedRun>("run", { tool: tool.name, input: read.value }).then(setStarted, (failure: Error) => {
      setError(failure.message);
    });
  };
  const toJson = () => {
    const read = valueOf(fields ?? [], typed);
    setJson(JSON.stringify(read.ok ? read.value : {}, null, 2));
  };
  return (
    <section className="panel">
      <h3 className="mono">{printable(tool.name)}</h3>
      {tool.description && <p className="prose">{printable(tool.description.text)}</p>}
      <form
        className="tool-form"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        {json === undefined ? (
          fields?.map((field) => (
            <Field
              key={field.name}
              field={field}
              value={typed[field.name] ?? ""}
              onChange={(value) => setTyped({ ...typed, [field.name]: value })}
            />
          ))
        ) : (
          <label>
            Input, as JSON
            <textarea rows={6} value={json} spellCheck={false} onChange={({ target }) => setJson(target.value)} />
          </label>
        )}
        {fields?.length === 0 && json === undefined && <p className="faint">It takes no input.</p>}
        {error && (
          <p className="error" role="alert">
            {printable(error)}
          </p>
        )}
        <p className="actions">
          <button className="primary" disabled={refusal !== null || !tool.canRun}>
            Run by hand
          </button>
          {fields && (
            <button type="button" onClick={() => (json === undefined ? toJson() : setJson(undefined))}>
              {json === undefined ? "As JSON" : "As a form"}
            </button>
          )}
        </p>
        <p className="faint">
          {refusal ??
            (tool.canRun
              ? "It really runs, with the agent's own permissions, approvals and keys, and is recorded in the conversation as run by hand."
              : "A client, or the provider of the model, runs this tool.")}
        </p>
      </form>
      {started && <Outcome key={started.turnId} {...{ started, source, onTurn, onInbox }} />}
      <Schema schema={tool.inputSchema} />
    </section>
  );
}

function Schema({ schema }: { schema: ShownTool["inputSchema"] }) {
  return (
    <details className="section">
      <summary>
        <i className="chevron" />
        <b>JSON schema</b>
      </summary>
      <pre className="schema" tabIndex={0}>
        {printable(JSON.stringify(schema, null, 2))}
      </pre>
    </details>
  );
}

function Field({ field, value, onChange }: { field: FormField; value: string; onChange: (value: string) => void }) {
  const { name, kind, choices, isRequired, description } = field;
  const label = `${name}${isRequired ? "" : " (optional)"}`;
  const change = ({ target }: { target: { value: string } }) => onChange(target.value);
  return (
    <label>
      <span className="mono">{printable(label)}</span> <span className="faint">{printable(description)}</span>
      {kind === "boolean" || kind === "choice" ? (
        <select value={value} onChange={change}>
          <option value="">–</option>
          {(kind === "boolean" ? ["true", "false"] : choices).map((choice) => (
            <option key={choice} value={choice}>
              {printable(choice)}
            </option>
          ))}
        </select>
      ) : kind === "json" || kind === "long-text" ? (
        <textarea rows={3} value={value} placeholder={kind === "json" ? "JSON" : ""} onChange={change} />
      ) : (
        <input value={value} inputMode={kind === "text" ? "text" : "decimal"} onChange={change} />
      )}
    </label>
  );
}

const OVER: ReadonlySet<string> = new Set(["completed", "failed", "aborted", "skipped"]);

/** What became of the run, read until it is over. */
function Outcome({
  started,
  source,
  onTurn,
  onInbox
}: Omit<RunnerProps, "tool" | "refusal"> & { started: StartedRun }) {
  const [looks, setLooks] = useState(0);
  const { value: turn } = useView<TurnTimeline>(source, `turns/${started.turnId}`, looks);
  const isOver = turn !== undefined && OVER.has(turn.status);
  useEffect(() => {
    if (isOver) return;
    const timer = setInterval(() => setLooks((count) => count + 1), POLL_MS);
    return () => clearInterval(timer);
  }, [isOver]);
  const parts = turn?.messages.flatMap((message) => message.parts) ?? [];
  const part = parts.find(({ callId }) => callId === started.toolCallId);
  const state = part?.state ?? turn?.status ?? "running";
  const waits = state === "approval-requested" || /"status":\s*"paused"/.test(part?.text.text ?? "");
  return (
    <div className="outcome" role="status">
      <p className="actions">
        <Badge kind={waits ? "waiting" : isOver ? turn.status : "running"}>
          {waits ? "waits for an approval" : callState(state)}
        </Badge>
        <button onClick={() => onTurn(started.turnId)}>Its timeline</button>
        {waits && <button onClick={onInbox}>Decide</button>}
      </p>
      {part && isOver && <Text label={waits ? "Input" : "Result"} value={part.text} />}
      {turn?.error && <p className="error">{printable(turn.error.message ?? turn.error.code)}</p>}
    </div>
  );
}
