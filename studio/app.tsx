// The page: which agent, which view, which turn. Asks the agent again when its journal has grown.
import { useCallback, useEffect, useMemo, useState } from "react";
import type {
  AgentView,
  InboxView,
  StateView,
  TurnsView,
  TurnSummary,
  TurnTimeline,
  TurnWhy
} from "../src/inspect/index.ts";
import { Agents } from "./agents.tsx";
import { clock, dateTime, duration, turnMarkdown } from "./format.ts";
import { Header } from "./header.tsx";
import { Inbox } from "./inbox.tsx";
import { Badge, Empty, Text, useView, VirtualList } from "./parts.tsx";
import { readRoute, routeHash, VIEWS, type Route } from "./route.ts";
import { agentSource, type StudioConfig, type ViewSource } from "./source.ts";
import { State } from "./state.tsx";
import { Timeline, TurnFacts } from "./timeline.tsx";
import { TryAgain } from "./try-again.tsx";
import { Why } from "./why.tsx";

const RUNNING_POLL_MS = 700;
const IDLE_POLL_MS = 3000;
/** Part of what turns do. */
const QUIET_CHANGES: ReadonlySet<string> = new Set(["appended", "answer-placed"]);

export function App({ config }: { config: StudioConfig }) {
  const [route, go] = useRoute(config);
  const [file, setFile] = useState<ViewSource>();
  const live = useMemo(() => agentSource(route.at), [route.at]);
  const source = file ?? live;
  const { agent, error, version, refresh } = useAgent(source);
  const turns = useTurns(source, version);
  const selected = route.turn ?? turns.list[0]?.turnId;
  useKeys({ route, go, turns: turns.list, selected });
  return (
    <div className="app">
      <Header {...{ config, route, go, source, agent, onFile: setFile }} />
      {error && route.view !== "agents" ? (
        <Empty title="Nothing to show">{error}</Empty>
      ) : (
        <main>
          {(route.view === "timeline" || route.view === "why") && (
            <nav className="turns" aria-label="Turns">
              <TurnList {...{ turns, selected, onSelect: (turn: string) => go({ ...route, turn }) }} />
            </nav>
          )}
          <Content {...{ config, route, go, source, selected, version, agent, refresh, turns }} />
        </main>
      )}
    </div>
  );
}

function useRoute(config: StudioConfig): [Route, (route: Route) => void] {
  const { agent, instance } = config.target;
  const start = `${agent ?? config.agents[0]?.id ?? "assistant"}/${encodeURIComponent(instance)}`;
  const [route, setRoute] = useState(() => readRoute(location.hash, start));
  useEffect(() => {
    const follow = () => setRoute(readRoute(location.hash, start));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [start]);
  return [route, useCallback((next: Route) => void (location.hash = routeHash(next)), [])];
}

/** `version` grows with the agent's journal. A page that is not in sight asks for nothing. */
function useAgent(source: ViewSource) {
  const [state, setState] = useState<{ agent?: AgentView; error?: string; of: ViewSource }>({ of: source });
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isCurrent = true;
    let pauseMs = IDLE_POLL_MS;
    const ask = async () => {
      if (!document.hidden) {
        await source.get<AgentView>("agent").then(
          (agent) => {
            pauseMs = agent.openTurns > 0 ? RUNNING_POLL_MS : IDLE_POLL_MS;
            if (isCurrent) setState({ agent, of: source });
          },
          (error: Error) => isCurrent && setState({ error: error.message, of: source })
        );
      }
      if (isCurrent && !source.isFile) timer = setTimeout(() => void ask(), pauseMs);
    };
    void ask();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [source, asked]);
  const agent = state.of === source ? state.agent : undefined;
  const isBusy = agent !== undefined && agent.openTurns > 0;
  const version = `${agent?.head} ${agent?.waitingApprovals} ${asked} ${isBusy ? agent.now : ""}`;
  return { agent, error: state.of === source ? state.error : undefined, version, refresh: () => setAsked(asked + 1) };
}

interface Turns {
  readonly list: readonly TurnSummary[];
  /** Of the history, between the turn before and this one. */
  readonly changesOf: (turnId: string) => TurnsView["changes"];
  readonly more: () => void;
}

function useTurns(source: ViewSource, version: unknown): Turns {
  const { value: newest } = useView<TurnsView>(source, "turns?limit=50", version);
  const [older, setOlder] = useState<{ of: ViewSource; pages: readonly TurnsView[] }>({ of: source, pages: [] });
  const pages = older.of === source ? older.pages : [];
  const next = pages.length > 0 ? pages.at(-1)?.next : newest?.next;
  const more = useCallback(() => {
    if (next === undefined) return;
    void source.get<TurnsView>(`turns?limit=100&before=${next}`).then((page) =>
      setOlder((known) => {
        const earlier = known.of === source ? known.pages : [];
        return earlier.some((one) => one.next === page.next) ? known : { of: source, pages: [...earlier, page] };
      })
    );
  }, [source, next]);
  const all = newest ? [newest, ...pages] : [];
  const seen = new Set<string>();
  const list = all.flatMap(({ turns }) => turns).filter(({ turnId }) => !seen.has(turnId) && seen.add(turnId));
  const changes = all.flatMap((page) => page.changes).filter(({ kind }) => !QUIET_CHANGES.has(kind));
  const changesOf = (turnId: string) => {
    const at = list.findIndex((turn) => turn.turnId === turnId);
    const [after, upTo] = [list[at + 1]?.position ?? 0, at <= 0 ? Infinity : (list[at]?.position ?? 0)];
    return changes.filter(({ position }) => position > after && position <= upTo);
  };
  return { list, changesOf, more };
}

/** 1 to 5: views. j and k: next and previous turn. */
function useKeys({
  route,
  go,
  turns,
  selected
}: {
  route: Route;
  go: (route: Route) => void;
  turns: readonly TurnSummary[];
  selected: string | undefined;
}) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
      const view = VIEWS[Number(event.key) - 1];
      if (view) go({ ...route, view });
      if (event.key !== "j" && event.key !== "k") return;
      const at = turns.findIndex(({ turnId }) => turnId === selected) + (event.key === "j" ? 1 : -1);
      const turn = turns[at]?.turnId;
      if (turn !== undefined) go({ ...route, turn });
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [route, go, turns, selected]);
}

function TurnList({
  turns,
  selected,
  onSelect
}: {
  turns: Turns;
  selected: string | undefined;
  onSelect: (turnId: string) => void;
}) {
  if (turns.list.length === 0) return <Empty title="No turns yet" />;
  return (
    <VirtualList
      items={turns.list}
      rowHeight={74}
      label="Turns, newest first"
      onEnd={turns.more}
      render={(turn) => (
        <button className="turn" aria-current={turn.turnId === selected} onClick={() => onSelect(turn.turnId)}>
          <span className="turn-question">{turn.question ?? `↪ ${turn.trigger ?? "continued"}`}</span>
          <span className="turn-answer">{turn.answer ?? turn.reason ?? ""}</span>
          <span className="turn-facts">
            <Badge kind={turn.status}>{turn.status}</Badge>
            {turns.changesOf(turn.turnId).map(({ position, kind }) => (
              <Badge key={position} kind="summary">
                {kind}
              </Badge>
            ))}
            {turn.deaths > 0 && <Badge kind="dead">{`${turn.deaths} died`}</Badge>}
            <span>{clock(turn.admittedAt)}</span>
            <span>
              {turn.settledAt !== null && turn.admittedAt !== null ? duration(turn.settledAt - turn.admittedAt) : ""}
            </span>
            {turn.calls > 0 && <span>{turn.calls === 1 ? "1 call" : `${turn.calls} calls`}</span>}
          </span>
        </button>
      )}
    />
  );
}

interface ContentProps {
  readonly config: StudioConfig;
  readonly route: Route;
  readonly go: (route: Route) => void;
  readonly source: ViewSource;
  readonly selected: string | undefined;
  readonly version: unknown;
  readonly agent: AgentView | undefined;
  readonly refresh: () => void;
  readonly turns: Turns;
}

function Content(props: ContentProps) {
  const { config, route, source, version, refresh } = props;
  const inbox = useView<InboxView>(source, route.view === "inbox" ? "inbox" : undefined, version);
  const state = useView<StateView>(source, route.view === "state" ? "state" : undefined, version);
  if (route.view === "inbox") {
    return (
      <div className="content">
        {inbox.value && <Inbox inbox={inbox.value} source={source} canWrite={config.canWrite} onDecided={refresh} />}
      </div>
    );
  }
  if (route.view === "agents") {
    return (
      <div className="content">
        <Agents config={config} route={route} go={props.go} source={source} version={version} />
      </div>
    );
  }
  if (route.view === "state")
    return <div className="content">{state.value && <State state={state.value} source={source} />}</div>;
  return props.selected === undefined ? (
    <div className="content" />
  ) : (
    <Turn key={props.selected} {...props} selected={props.selected} />
  );
}

function Turn({ config, route, go, source, selected, version, agent, turns }: ContentProps & { selected: string }) {
  const { value: turn, error } = useView<TurnTimeline>(source, `turns/${selected}`, version);
  const { value: why } = useView<TurnWhy>(source, `turns/${selected}/why`, turn?.status);
  const [isTrying, setTrying] = useState(false);
  if (error) return <Empty title="This turn cannot be shown">{error}</Empty>;
  if (!turn) return <div className="content" />;
  return (
    <div className="content">
      <header className="turn-head">
        <h2>
          {turn.messages.find(({ role }) => role === "user")?.parts[0]?.text.text.slice(0, 200) ??
            `Continued: ${turn.trigger ?? dateTime(turn.admittedAt)}`}
        </h2>
        <p className="actions">
          <button onClick={() => void navigator.clipboard.writeText(turnMarkdown(turn, source.address))}>
            Copy as Markdown
          </button>
          {config.canWrite && !source.isFile && (
            <button aria-pressed={isTrying} onClick={() => setTrying(!isTrying)}>
              Try again with changes
            </button>
          )}
        </p>
      </header>
      <TurnFacts turn={turn} />
      {isTrying && <TryAgain turn={turn} why={why} source={source} models={agent?.models ?? []} />}
      {route.view === "why" ? (
        why && <Why why={why} />
      ) : (
        <>
          <Timeline
            turn={turn}
            source={source}
            changes={turns.changesOf(turn.turnId)}
            now={agent?.now ?? Date.now()}
            onChild={(run) => go({ at: `${route.at}/${run.path}`, view: "timeline", turn: undefined })}
          />
          <section className="messages">
            {turn.messages.map((message) => (
              <article key={message.id} className={`message message-${message.role}`}>
                <h3>{message.role}</h3>
                {message.parts.map((part, index) => (
                  <Text
                    key={index}
                    value={part.text}
                    {...(part.type !== "text" && { label: part.toolName ?? part.type })}
                  />
                ))}
              </article>
            ))}
          </section>
        </>
      )}
    </div>
  );
}
