// The page: which agent, which view, which turn. Asks the agent again when its journal has grown.
import { useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import type {
  AgentView,
  InboxView,
  StateView,
  TurnsView,
  TurnSummary,
  TurnTimeline,
  TurnWhy
} from "../src/features/inspection/index.ts";
import { Agents } from "./agents.tsx";
import { Chat } from "./chat.tsx";
import { CostsPage } from "./costs.tsx";
import { clock, dateTime, duration, printable, turnMarkdown } from "./format.ts";
import { Header } from "./header.tsx";
import { Inbox } from "./inbox.tsx";
import {
  Badge,
  Boundary,
  Empty,
  Loading,
  Scopes,
  Text,
  useView,
  VirtualList,
  type Loaded,
  type Scope
} from "./parts.tsx";
import { focusCard, ProjectInbox, useProjectInbox, type ProjectInboxState } from "./project-inbox.tsx";
import { readRoute, routeHash, VIEWS, type Route, type ViewName } from "./route.ts";
import { agentSource, type StudioConfig, type ViewSource } from "./source.ts";
import { State } from "./state.tsx";
import { Timeline, TurnFacts, TurnTrouble } from "./timeline.tsx";
import { Tools } from "./tools.tsx";
import { TryAgain } from "./try-again.tsx";
import { Why } from "./why.tsx";

const RUNNING_POLL_MS = 700;
const IDLE_POLL_MS = 3000;
/** Part of what turns do. */
const QUIET_CHANGES: ReadonlySet<string> = new Set(["appended", "answer-placed"]);

export function App({ config, start }: { config: StudioConfig; start: string }) {
  const [route, go] = useRoute(start);
  const [file, setFile] = useState<ViewSource>();
  const live = useMemo(() => agentSource(route.at), [route.at]);
  const source = file ?? live;
  const { agent, error, version, refresh } = useAgent(source);
  const project = useProjectInbox(config, route.view === "inbox" && !source.isFile);
  const turns = useTurns(source, version);
  const selected = route.turn ?? turns.list[0]?.turnId;
  useKeys({ route, go, turns: turns.list, selected });
  useEffect(() => {
    document.title = [source.address, "everthink Studio"].filter(Boolean).join(" · ");
  }, [source]);
  return (
    <div className="app">
      <Header {...{ config, route, go, source, agent, onFile: setFile, project: project.view }} />
      {error && agent && (
        <p className="lost" role="status">
          {error} What is shown is from {clock(agent.now)}; Studio keeps asking.
        </p>
      )}
      <main>
        <div className="view" id="view" role="tabpanel" aria-labelledby={`tab-${route.view}`}>
          {error && !agent && !isOfProject(route.view, config) ? (
            <Empty title="Nothing to show">{error}</Empty>
          ) : (
            <Boundary of={`${source.isFile} ${source.address} ${route.view} ${selected}`}>
              {(route.view === "timeline" || route.view === "why") && !turns.isEmpty && (
                <nav className="turns" aria-label="Turns">
                  <TurnList {...{ turns, selected, onSelect: (turn: string) => go({ ...route, turn }) }} />
                </nav>
              )}
              <Content {...{ config, route, go, source, selected, version, agent, refresh, turns, project }} />
            </Boundary>
          )}
        </div>
      </main>
    </div>
  );
}

/** Whether a view has something to show when the agent does not answer. */
function isOfProject(view: ViewName, { hasInbox }: StudioConfig): boolean {
  return view === "agents" || view === "costs" || (view === "inbox" && hasInbox);
}

/** `start`: for an address of the page that names no agent. */
function useRoute(start: string): [Route, (route: Route) => void] {
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
          // The last answer stays: an app that restarts is back in a moment.
          ({ message: error }: Error) =>
            isCurrent && setState((last) => ({ ...(last.of === source ? last : { of: source }), error }))
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
  const error = state.of === source ? state.error : undefined;
  // Views that could not be read while the app was away are read when it is back.
  const version = `${agent?.head} ${agent?.waitingApprovals} ${asked} ${isBusy ? agent.now : ""} ${error ?? ""}`;
  return { agent, error, version, refresh: () => setAsked(asked + 1) };
}

interface Turns {
  readonly isRead: boolean;
  readonly isEmpty: boolean;
  readonly error: string | undefined;
  readonly list: readonly TurnSummary[];
  /** Of the history, between the turn before and this one. */
  readonly changesOf: (turnId: string) => TurnsView["changes"];
  readonly more: () => void;
}

function useTurns(source: ViewSource, version: unknown): Turns {
  const { value: newest, error } = useView<TurnsView>(source, "turns?limit=50", version);
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
  return {
    isRead: newest !== undefined,
    isEmpty: newest !== undefined && list.length === 0,
    error,
    list,
    changesOf,
    more
  };
}

const TYPED_INTO = "textarea, select, input:not([type=checkbox], [type=file])";

/** 1 to 8: views. j and k: next and previous turn. */
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
      const isTyping = event.target instanceof HTMLElement && event.target.matches(TYPED_INTO);
      if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
      // Keys may follow each other faster than the page is drawn: the address is always the latest.
      const latest = readRoute(location.hash, route.at);
      const view = VIEWS[Number(event.key) - 1];
      if (view) go({ ...latest, view });
      if (event.key !== "j" && event.key !== "k") return;
      if (latest.view === "inbox") return focusCard(event.key === "j" ? 1 : -1);
      const from = latest.turn ?? selected;
      const at = turns.findIndex(({ turnId }) => turnId === from) + (event.key === "j" ? 1 : -1);
      const turn = turns[at]?.turnId;
      if (turn !== undefined) go({ ...latest, turn });
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
  if (!turns.isRead && turns.error !== undefined) return <Empty title="No list of turns">{turns.error}</Empty>;
  if (!turns.isRead) return <Loading what="the turns" />;
  return (
    <VirtualList
      items={turns.list}
      rowHeight={74}
      label="Turns, newest first"
      onEnd={turns.more}
      current={{ id: selected, index: turns.list.findIndex(({ turnId }) => turnId === selected) }}
      render={(turn) => (
        <button className="turn" aria-current={turn.turnId === selected} onClick={() => onSelect(turn.turnId)}>
          <span className="turn-question">{printable(turn.question ?? `↪ ${turn.trigger ?? "continued"}`)}</span>
          <span className="turn-answer">{printable(turn.answer ?? turn.reason ?? "")}</span>
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
  readonly project: ProjectInboxState;
}

function Content(props: ContentProps) {
  const { config, route, go, source, selected, version, refresh } = props;
  const inbox = useView<InboxView>(source, route.view === "inbox" ? "inbox" : undefined, version);
  const state = useView<StateView>(source, route.view === "state" ? "state" : undefined, version);
  const openTurn = (turn: string) => go({ ...route, view: "timeline", turn });
  switch (route.view) {
    case "inbox":
      return (
        <InboxScopes isProject={config.hasInbox && !source.isFile} address={source.address}>
          {(scope) =>
            scope === "project" ? (
              <ProjectInbox
                inbox={props.project}
                config={config}
                onOpen={(at) => go({ at, view: "timeline", turn: undefined })}
              />
            ) : (
              <View {...inbox} what="the inbox">
                {(shown) => <Inbox inbox={shown} source={source} canWrite={config.canWrite} onDecided={refresh} />}
              </View>
            )
          }
        </InboxScopes>
      );
    case "state":
      return (
        <View {...state} what="the state">
          {(shown) => (
            <State state={shown} source={source} onTurn={(turn) => go({ ...route, view: "timeline", turn })} />
          )}
        </View>
      );
    case "chat":
      return <Chat key={source.address} {...{ source, canWrite: config.canWrite, version }} onTurn={openTurn} />;
    case "tools":
      return (
        <Tools
          key={source.address}
          {...{ source, canWrite: config.canWrite }}
          onTurn={openTurn}
          onInbox={() => go({ ...route, view: "inbox" })}
        />
      );
    case "costs":
      return <CostsPage config={config} route={route} go={go} source={source} version={version} />;
    case "agents":
      return (
        <div className="content">
          <Agents config={config} route={route} go={go} source={source} version={version} />
        </div>
      );
    default:
      if (selected !== undefined) return <Turn key={selected} {...props} selected={selected} />;
      if (!props.turns.isEmpty) return <div className="content" />;
      return <Empty title="No turns yet">{`The first one of ${source.address} will appear here by itself.`}</Empty>;
  }
}

/** Where what waits is known of all agents, those are shown first. */
function InboxScopes({
  isProject,
  address,
  children
}: {
  isProject: boolean;
  address: string;
  children: (scope: Scope) => ReactNode;
}) {
  const [chosen, setChosen] = useState<Scope>("project");
  const scope = isProject ? chosen : "agent";
  return (
    <div className="content">
      {isProject && <Scopes label="Whose questions" chosen={scope} onChoose={setChosen} address={address} />}
      {children(scope)}
    </div>
  );
}

/** What was read, what went wrong, or that it takes a moment. */
function View<Shown>({
  value,
  error,
  what,
  children
}: Loaded<Shown> & { what: string; children: (value: Shown) => ReactNode }) {
  if (value !== undefined) return <div className="content">{children(value)}</div>;
  return error === undefined ? <Loading what={what} /> : <Empty title="This view cannot be shown">{error}</Empty>;
}

function Turn({ config, route, go, source, selected, version, agent, turns }: ContentProps & { selected: string }) {
  const { value: turn, error } = useView<TurnTimeline>(source, `turns/${selected}`, version);
  const why = useView<TurnWhy>(source, `turns/${selected}/why`, turn?.status);
  const [isTrying, setTrying] = useState(false);
  if (!turn) {
    return error === undefined ? <Loading what="the turn" /> : <Empty title="This turn cannot be shown">{error}</Empty>;
  }
  return (
    <div className="content">
      <header className="turn-head">
        <h2>
          {printable(
            turn.messages.find(({ role }) => role === "user")?.parts[0]?.text.text.slice(0, 200) ??
              `Continued: ${turn.trigger ?? dateTime(turn.admittedAt)}`
          )}
        </h2>
        <p className="actions">
          <Copy text={() => turnMarkdown(turn, source.address)} />
          {config.canWrite && !source.isFile && (
            <button aria-pressed={isTrying} onClick={() => setTrying(!isTrying)}>
              Try again with changes
            </button>
          )}
        </p>
      </header>
      <TurnFacts turn={turn} />
      <TurnTrouble turn={turn} />
      {isTrying && <TryAgain turn={turn} why={why.value} source={source} models={agent?.models ?? []} />}
      {route.view === "why" ? (
        <WhyOf {...why} />
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
                    isProse={part.type === "text" || part.type === "reasoning"}
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

function WhyOf({ value, error }: Loaded<TurnWhy>) {
  if (value !== undefined) return <Why why={value} />;
  return error === undefined ? <Loading what="the prompt" /> : <p className="error">{error}</p>;
}

const COPIED_MS = 2000;

/** Says for a moment that it was done, also for screen readers. */
function Copy({ text }: { text: () => string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    const timer = said === "" ? undefined : setTimeout(() => setSaid(""), COPIED_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = () =>
    navigator.clipboard.writeText(text()).then(
      () => setSaid("Copied"),
      () => setSaid("The browser refused")
    );
  return (
    <>
      <button onClick={() => void copy()}>{said || "Copy as Markdown"}</button>
      <span className="only-heard" role="status">
        {said}
      </span>
    </>
  );
}
