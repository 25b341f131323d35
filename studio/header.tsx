// Which agent is looked at, the views, export and import, light and dark.
import { useEffect, useState } from "react";
import type { AgentView } from "../src/inspect/index.ts";
import { VIEWS, type Route } from "./route.ts";
import { exportConversation, fileSource, parseConversation, type StudioConfig, type ViewSource } from "./source.ts";

interface HeaderProps {
  readonly config: StudioConfig;
  readonly route: Route;
  readonly go: (route: Route) => void;
  readonly source: ViewSource;
  readonly agent: AgentView | undefined;
  readonly onFile: (source: ViewSource | undefined) => void;
}

export function Header({ config, route, go, source, agent, onFile }: HeaderProps) {
  const [error, setError] = useState<string>();
  const open = async (file: File | undefined) => {
    setError(undefined);
    if (!file) return;
    try {
      onFile(fileSource(parseConversation(await file.text())));
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    }
  };
  return (
    <header className="top">
      <b className="brand">everthink Studio</b>
      <Address {...{ config, route, go, isFile: source.isFile }} />
      <div className="tabs" role="tablist">
        {VIEWS.map((view, index) => (
          <button
            key={view}
            role="tab"
            aria-selected={view === route.view}
            title={`Key ${index + 1}`}
            onClick={() => go({ ...route, view })}
          >
            {view[0]?.toUpperCase() + view.slice(1)}
            {view === "inbox" && (agent?.waitingApprovals ?? 0) > 0 && <em>{agent?.waitingApprovals}</em>}
          </button>
        ))}
      </div>
      <span className="tools">
        {agent && agent.openTurns > 0 && <span className="live">live</span>}
        {source.isFile ? (
          <button onClick={() => onFile(undefined)}>Close file</button>
        ) : (
          <button onClick={() => void save(source).catch((failure: Error) => setError(failure.message))}>Export</button>
        )}
        <label className="button">
          Open…
          <input type="file" accept=".json,application/json" onChange={(event) => void open(event.target.files?.[0])} />
        </label>
        <Theme />
      </span>
      {error && <p className="error">{error}</p>}
    </header>
  );
}

function Address({ config, route, go, isFile }: Pick<HeaderProps, "config" | "route" | "go"> & { isFile: boolean }) {
  const [text, setText] = useState(route.at);
  useEffect(() => setText(route.at), [route.at]);
  return (
    <form
      className="address"
      onSubmit={(event) => {
        event.preventDefault();
        go({ at: text.trim().replaceAll(/^\/+|\/+$/g, ""), view: route.view, turn: undefined });
      }}
    >
      <label className="faint" htmlFor="address">
        {isFile ? "file of" : config.target.origin.replace(/^https?:\/\//, "")}
      </label>
      <input
        id="address"
        aria-label="Agent and instance"
        list="agents"
        spellCheck={false}
        value={text}
        disabled={isFile}
        onChange={(event) => setText(event.target.value)}
      />
      <datalist id="agents">
        {config.agents.map(({ id, label }) => (
          <option key={id} value={`${id}/default`} label={label} />
        ))}
      </datalist>
    </form>
  );
}

async function save(source: ViewSource): Promise<void> {
  const file = await exportConversation(source);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(file)], { type: "application/json" }));
  link.download = `${source.address.replaceAll(/[^\w-]+/g, "-")}.everthink.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

const THEMES = ["auto", "light", "dark"] as const;

function Theme() {
  const [theme, setTheme] = useState(
    () => THEMES.find((one) => one === localStorage.getItem("studio-theme")) ?? "auto"
  );
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("studio-theme", theme);
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
  return (
    <button aria-label={`Colours: ${theme}`} onClick={() => setTheme(next)}>
      {theme === "auto" ? "Auto" : theme === "light" ? "Light" : "Dark"}
    </button>
  );
}
