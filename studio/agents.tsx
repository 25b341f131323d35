// The agents of the app, their instances as far as Studio's server can read them, and the conversations of the one shown.
import { useEffect, useState } from "react";
import type { ConversationsView } from "../src/features/inspection/index.ts";
import { bytes, count, dateTime, printable } from "./format.ts";
import { Badge, Empty, useView, VirtualList } from "./parts.tsx";
import type { Route } from "./route.ts";
import { readInstances, type Instances, type StudioConfig, type ViewSource } from "./source.ts";

interface AgentsProps {
  readonly config: StudioConfig;
  readonly route: Route;
  readonly go: (route: Route) => void;
  readonly source: ViewSource;
  readonly version: unknown;
}

const ROW_HEIGHT = 36;
/** Rows of one agent in sight; beyond it the list scrolls. */
const SHOWN_ROWS = 12;

/** How often the lists are read again: an instance may be new. */
const LIST_POLL_MS = 3000;

export function Agents({ config, route, go, source, version: asked }: AgentsProps) {
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && setLooks((count) => count + 1), LIST_POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const version = `${asked} ${looks}`;
  const open = (agent: string, name: string) =>
    go({ at: `${agent}/${encodeURIComponent(name)}`, view: "timeline", turn: undefined });
  return (
    <div className="agents">
      {!source.isFile && source.address !== "" && <Conversations source={source} version={asked} />}
      {config.agents.length === 0 && (
        <Empty title="No list of agents">
          Studio was started for an address without one. Write agent and instance into the field above.
        </Empty>
      )}
      {config.agents.map(({ id, label }) => (
        <Agent key={id} id={id} label={label} at={route.at} config={config} version={version} onOpen={open} />
      ))}
    </div>
  );
}

function Conversations({ source, version }: Pick<AgentsProps, "source" | "version">) {
  const { value, error } = useView<ConversationsView>(source, "conversations", version);
  return (
    <section className="panel">
      <h3>
        Conversations of <span className="mono">{source.address}</span>
      </h3>
      {error && <p className="faint">{error}</p>}
      <ul className="plain">
        {value?.conversations.map(({ id, isActive, messages, sizeBytes, openTurns, generation }) => (
          <li key={id}>
            <b>{id === "" ? "The one without a name" : printable(id)}</b>{" "}
            {isActive && <Badge kind="completed">active</Badge>}{" "}
            {openTurns > 0 && (
              <Badge kind="running">{openTurns === 1 ? "1 open turn" : `${openTurns} open turns`}</Badge>
            )}{" "}
            <span className="faint">
              {[
                messages !== undefined && `${count(messages)} messages`,
                sizeBytes !== undefined && bytes(sizeBytes),
                generation > 0 && `cleared ${generation === 1 ? "once" : `${generation} times`}`
              ]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface AgentProps extends Pick<AgentsProps, "config" | "version"> {
  readonly id: string;
  readonly label: string;
  readonly at: string;
  readonly onOpen: (agent: string, name: string) => void;
}

function Agent({ id, label, at, config, version, onOpen }: AgentProps) {
  const [list, setList] = useState<Instances>();
  const [filter, setFilter] = useState("");
  useEffect(() => {
    let isCurrent = true;
    readInstances(id).then(
      (read) => isCurrent && setList(read),
      // The server is gone; the page says so elsewhere.
      () => isCurrent && setList({})
    );
    return () => void (isCurrent = false);
  }, [id, version]);
  const all = list?.instances ?? [];
  const wanted = filter.trim().toLowerCase();
  const shown = all.filter(({ name, title, words }) =>
    [name, title, words].some((text) => text?.toLowerCase().includes(wanted))
  );
  return (
    <section className="panel">
      <h3>
        {label}{" "}
        {list?.instances && (
          <small>{all.length === 1 ? "1 instance" : `${all.length}${list.isCut ? " or more" : ""} instances`}</small>
        )}
      </h3>
      {list && !list.instances && (
        <p className="faint">
          {`Which instances there are is known where their data is: at ${config.target.origin}. Write a name into the field above.`}
        </p>
      )}
      {list?.instances && all.length === 0 && <p className="faint">No instance has stored anything yet.</p>}
      {all.length > SHOWN_ROWS && (
        <input
          aria-label={`Find an instance of ${label}`}
          placeholder="Find by name or words"
          value={filter}
          onChange={({ target }) => setFilter(target.value)}
        />
      )}
      {all.length > 0 && shown.length === 0 && (
        <p className="faint">No instance has this in its name or in what was said first or last.</p>
      )}
      {shown.length > 0 && (
        <div className="instances" style={{ height: Math.min(shown.length, SHOWN_ROWS) * ROW_HEIGHT }}>
          <VirtualList
            items={shown}
            rowHeight={ROW_HEIGHT}
            label={`Instances of ${label}, the last spoken in first`}
            render={({ name, changedAt, spokenAt, sizeBytes, title, words }) => (
              <button
                className="instance"
                aria-current={at === `${id}/${encodeURIComponent(name)}`}
                onClick={() => onOpen(id, name)}
              >
                <span className="mono">{printable(name)}</span>
                <span className="instance-words" title={words ?? undefined}>
                  {title !== null && <b>{printable(title)}</b>}
                  {words !== null && words !== title && <span className="faint"> {printable(words)}</span>}
                </span>
                <span className="faint">{dateTime(spokenAt ?? changedAt)}</span>
                <span className="faint">{bytes(sizeBytes)}</span>
              </button>
            )}
          />
        </div>
      )}
    </section>
  );
}
