// Which agent is looked at, the views, export and import, light and dark.
import { useEffect, useState, type KeyboardEvent } from "react";
import type { AgentView } from "../src/features/inspection/index.ts";
import type { ProjectInboxView } from "../src/framework/studio/project-inbox.ts";
import { countWaiting } from "./project-inbox.tsx";
import { VIEWS, type Route, type ViewName } from "./route.ts";
import { exportConversation, fileSource, parseConversation, type StudioConfig, type ViewSource } from "./source.ts";

interface HeaderProps {
  readonly config: StudioConfig;
  readonly route: Route;
  readonly go: (route: Route) => void;
  readonly source: ViewSource;
  readonly agent: AgentView | undefined;
  readonly onFile: (source: ViewSource | undefined) => void;
  /** Undefined: not known, or not yet. */
  readonly project: ProjectInboxView | undefined;
}

export function Header({ config, route, go, source, agent, onFile, project }: HeaderProps) {
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
      <Tabs
        {...{ route, go, waiting: project && !source.isFile ? countWaiting(project) : (agent?.waitingApprovals ?? 0) }}
      />
      <span className="tools">
        {agent && agent.openTurns > 0 && <span className="live">live</span>}
        {!config.canWrite && (
          <span className="faint read-only" title="Start it with --write to decide and to try again">
            read-only
          </span>
        )}
        {source.isFile ? (
          <button onClick={() => onFile(undefined)}>Close file</button>
        ) : (
          <Export source={source} onError={setError} />
        )}
        <label className="button">
          Open…
          <input
            type="file"
            accept=".json,application/json"
            onChange={({ target }) => {
              void open(target.files?.[0]);
              // The same file may be opened again.
              target.value = "";
            }}
          />
        </label>
        <Theme />
      </span>
      {error && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
    </header>
  );
}

/** Arrow keys go from one to the next, as in every list of tabs; only the selected one is a stop of the Tab key. */
function Tabs({ route, go, waiting }: Pick<HeaderProps, "route" | "go"> & { waiting: number }) {
  const select = (view: ViewName | undefined) => {
    if (view === undefined) return;
    go({ ...route, view });
    document.getElementById(`tab-${view}`)?.focus();
  };
  const press = ({ key }: KeyboardEvent) => {
    const at = VIEWS.indexOf(route.view);
    if (key === "ArrowRight") select(VIEWS[(at + 1) % VIEWS.length]);
    if (key === "ArrowLeft") select(VIEWS.at(at - 1));
    if (key === "Home") select(VIEWS[0]);
    if (key === "End") select(VIEWS.at(-1));
  };
  return (
    <div className="tabs" role="tablist" aria-label="Views" onKeyDown={press}>
      {VIEWS.map((view, index) => (
        <button
          key={view}
          id={`tab-${view}`}
          role="tab"
          aria-selected={view === route.view}
          aria-controls="view"
          tabIndex={view === route.view ? 0 : -1}
          title={`Key ${index + 1}`}
          onClick={() => go({ ...route, view })}
        >
          {view[0]?.toUpperCase() + view.slice(1)}
          {view === "inbox" && waiting > 0 && <em aria-label={`${waiting} wait`}>{waiting}</em>}
        </button>
      ))}
    </div>
  );
}

/** Reads up to 200 turns one after the other: it says that it is at work. */
function Export({ source, onError }: { source: ViewSource; onError: (error: string | undefined) => void }) {
  const [isBusy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    onError(undefined);
    await save(source).catch((failure: Error) => onError(failure.message));
    setBusy(false);
  };
  return (
    <button disabled={isBusy} onClick={() => void start()}>
      {isBusy ? "Exporting…" : "Export"}
    </button>
  );
}

function Address({ config, route, go, isFile }: Pick<HeaderProps, "config" | "route" | "go"> & { isFile: boolean }) {
  const [text, setText] = useState(route.at);
  useEffect(() => {
    setText(route.at);
  }, [route.at]);
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
        placeholder="agent/instance"
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
const THEME_SIGNS = { auto: "◐", light: "○", dark: "●" } as const;

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
    <button
      className="theme"
      title={`Colours: ${theme}`}
      aria-label={`Colours: ${theme}`}
      onClick={() => setTheme(next)}
    >
      {THEME_SIGNS[theme]}
    </button>
  );
}
