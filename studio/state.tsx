// What the agent holds beside its turns.
import { useState, type ReactNode } from "react";
import type { FileView, StateView } from "../src/features/inspection/index.ts";
import { bytes, dateTime, printable } from "./format.ts";
import { Badge, Text, useView } from "./parts.tsx";
import type { ViewSource } from "./source.ts";
import { Tables } from "./tables.tsx";

interface StateProps {
  readonly state: StateView;
  readonly source: ViewSource;
  readonly onTurn: (turnId: string) => void;
}

export function State({ state, source, onTurn }: StateProps) {
  const { disk, queue } = state;
  const counts: Readonly<Record<string, number>> = {
    memory: state.memory.length,
    files: state.files.files.length,
    schedules: state.schedules.length,
    submissions: state.submissions.length,
    queue: queue.waiting.length + queue.dead.length,
    fibers: state.fibers.length,
    "MCP servers": state.mcpServers.length
  };
  const empty = Object.keys(counts).filter((name) => counts[name] === 0);
  return (
    <div className="state">
      <Panel title="Not working" count={state.degradations.length}>
        <Table head={["What", "Why"]} rows={state.degradations.map(({ step, error }) => [step, error])} />
      </Panel>
      <Panel title="Memory" count={state.memory.length}>
        {state.memory.map((block) => (
          <details key={block.label} className="section" open>
            <summary>
              <i className="chevron" />
              <b>{block.label}</b>
              <span className="faint">{`${block.tokens}${block.maxTokens === null ? "" : ` of ${block.maxTokens}`} tokens${block.isWritable ? "" : ", fixed"}`}</span>
            </summary>
            <Text value={block.content} {...(block.description && { label: block.description })} />
          </details>
        ))}
      </Panel>
      <Files state={state} source={source} onTurn={onTurn} />
      <Panel title="Schedules" count={state.schedules.length}>
        <Table
          head={["What", "When", "Next run", "Last"]}
          rows={state.schedules.map((one) => [one.what, one.when, dateTime(one.nextRunAt), one.lastOutcome ?? "–"])}
        />
      </Panel>
      <Panel title="Submissions" count={state.submissions.length}>
        <Table
          head={["Id", "Status", "Created"]}
          rows={state.submissions.map((one) => [one.submissionId, one.status, dateTime(one.createdAt)])}
        />
      </Panel>
      <Panel title="Queue" count={queue.waiting.length + queue.dead.length}>
        <Table
          head={["Callback", "Since", "State"]}
          rows={[...queue.waiting, ...queue.dead].map((job) => [
            job.callback,
            dateTime(job.createdAt),
            job.error ?? "waits"
          ])}
        />
      </Panel>
      <Panel title="Fibers" count={state.fibers.length}>
        <Table
          head={["Name", "Status", "Since"]}
          rows={state.fibers.map((one) => [one.name, one.status, dateTime(one.createdAt)])}
        />
      </Panel>
      <Panel title="MCP servers" count={state.mcpServers.length}>
        <Table
          head={["Name", "State", "Tools"]}
          rows={state.mcpServers.map((one) => [one.name, one.state, String(one.tools)])}
        />
      </Panel>
      <Panel title="Settings" count={Number(state.config !== null) + Number(state.agentState !== null)}>
        {state.config && <Text value={state.config} label="configure(), secrets masked" />}
        {state.agentState && <Text value={state.agentState} label="state" />}
      </Panel>
      {empty.length > 0 && (
        <Panel title="Empty" count={empty.length}>
          <p className="faint">{`Nothing in ${empty.join(", ")}.`}</p>
        </Panel>
      )}
      <Tables disk={disk} source={source} />
    </div>
  );
}

function Files({ state, source, onTurn }: StateProps) {
  const [path, setPath] = useState<string>();
  const view = path === undefined || source.isFile ? undefined : `file?path=${encodeURIComponent(path)}`;
  const { value: file, error } = useView<FileView>(source, view, 0);
  return (
    <Panel title="Files" count={state.files.files.length}>
      <ul className="plain">
        {state.files.files.map((one) => (
          <li key={one.path}>
            <button
              className="link mono"
              aria-expanded={one.path === path}
              onClick={() => setPath(one.path === path ? undefined : one.path)}
            >
              {printable(one.path)}
            </button>{" "}
            <span className="faint">{`${bytes(one.sizeBytes)}, ${dateTime(one.updatedAt)}`}</span>
          </li>
        ))}
      </ul>
      {state.files.isCut && <p className="faint">There are more, or they cannot be listed.</p>}
      {path !== undefined && source.isFile && <p className="faint">An export does not hold the content of files.</p>}
      {error && <p className="error">{error}</p>}
      {file && (
        <>
          {file.content ? (
            <Text value={file.content} label={file.path} />
          ) : (
            <p className="faint">Binary, or too large to show.</p>
          )}
          {file.history.map((one) => (
            <p key={one.version} className="faint">
              <Badge kind="version">{`version ${one.version}`}</Badge>{" "}
              {`${bytes(one.sizeBytes)}, ${one.change} ${dateTime(one.replacedAt)}`}{" "}
              <TurnLink turnId={one.replacedByTurnId} onTurn={onTurn} />
            </p>
          ))}
        </>
      )}
    </Panel>
  );
}

/** To the turn that took a version's place, where one did. */
function TurnLink({ turnId, onTurn }: { turnId: string | null } & Pick<StateProps, "onTurn">) {
  if (turnId === null) return null;
  return (
    <button className="link" onClick={() => onTurn(turnId)}>
      by a turn
    </button>
  );
}

function Panel({ title, count, children }: { title: string; count: number; children: ReactNode }) {
  if (count === 0) return null;
  return (
    <section className="panel">
      <h3>
        {title} <small>{count}</small>
      </h3>
      {children}
    </section>
  );
}

function Table({ head, rows }: { head: readonly string[]; rows: readonly (readonly string[])[] }) {
  return (
    <table>
      <thead>
        <tr>
          {head.map((name) => (
            <th key={name}>{name}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {row.map((cell, column) => (
              <td key={column}>{printable(cell)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
