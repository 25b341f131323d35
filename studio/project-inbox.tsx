// Everything that waits over all agents of the project, oldest first. What was decided elsewhere while the page is open stays in
// its place, with the decision.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { DecidedApproval, InboxEntry, InboxView } from "../src/features/inspection/index.ts";
import type { ProjectInboxView } from "../src/framework/studio/project-inbox.ts";
import { deciderName, printable, readableAddress } from "./format.ts";
import { DeciderName, questionKey, useDeciderName } from "./inbox.tsx";
import { InboxCard, type Decision } from "./inbox-card.tsx";
import { Empty, Loading } from "./parts.tsx";
import { agentSource, readProjectInbox, type StudioConfig } from "./source.ts";

const POLL_MS = 3_000;
/** In other views, for the number beside the view's name. */
const QUIET_POLL_MS = 60_000;
/** Decided questions that stay in their places. */
const MAX_ENDED = 20;

export interface ProjectInboxState {
  readonly view: ProjectInboxView | undefined;
  readonly error: string | undefined;
  /** Reads it again: something was decided. */
  readonly refresh: () => void;
}

/** A page that is not in sight asks for nothing. */
export function useProjectInbox({ hasInbox }: StudioConfig, isShown: boolean): ProjectInboxState {
  const [state, setState] = useState<{ view?: ProjectInboxView; error?: string }>({});
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (!hasInbox) return;
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (isFresh: boolean) => {
      if (!document.hidden) {
        await readProjectInbox(isFresh).then(
          (view) => isCurrent && setState({ view }),
          // The last list stays: a server that restarts is back in a moment.
          ({ message: error }: Error) => isCurrent && setState((last) => ({ ...last, error }))
        );
      }
      if (isCurrent) timer = setTimeout(() => void ask(false), isShown ? POLL_MS : QUIET_POLL_MS);
    };
    void ask(asked > 0);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [hasInbox, isShown, asked]);
  const refresh = useCallback(() => setAsked((count) => count + 1), []);
  return { view: state.view, error: state.error, refresh };
}

/** How many questions wait. */
export function countWaiting({ agents }: ProjectInboxView): number {
  return agents.reduce((sum, { approvals }) => sum + approvals.length, 0);
}

interface Question {
  readonly key: string;
  readonly at: string;
  readonly entry: InboxEntry;
}

interface EndedQuestion extends Question {
  /** It was decided on this page. */
  readonly isHere: boolean;
  /** Undefined while it is looked up. */
  readonly end?: string;
}

function questionsOf({ agents }: ProjectInboxView): Question[] {
  return agents.flatMap(({ at, approvals }) =>
    approvals.map((entry) => ({ key: `${at} ${questionKey(entry)}`, at, entry }))
  );
}

/** Those of unknown age come last. */
function byAge(first: Question, second: Question): number {
  return (first.entry.askedAt ?? Infinity) - (second.entry.askedAt ?? Infinity) || 0;
}

interface ProjectInboxProps {
  readonly inbox: ProjectInboxState;
  readonly config: StudioConfig;
  readonly onOpen: (at: string) => void;
}

export function ProjectInbox({ inbox: { view, error, refresh }, config, onOpen }: ProjectInboxProps) {
  const [name, setName] = useDeciderName();
  const waiting = useMemo(() => (view ? questionsOf(view) : []), [view]);
  const { ended, decidedHere } = useEnded(view, waiting);
  const shown: readonly (Question | EndedQuestion)[] = [...waiting, ...ended].sort(byAge);
  if (!view) return error === undefined ? <Loading what="the inbox" /> : <Empty title="No inbox">{error}</Empty>;
  return (
    <div className="inbox">
      {error && (
        <p className="error" role="status">
          {error} What is shown was read before.
        </p>
      )}
      {config.canWrite && waiting.length > 0 && (
        <p className="filters">
          <DeciderName name={name} onChange={setName} />
        </p>
      )}
      {shown.length === 0 && <Empty title="Nothing waits">Approvals of all agents of the project appear here.</Empty>}
      {shown.map((question) =>
        "isHere" in question ? (
          <Ended key={question.key} question={question} onOpen={onOpen} />
        ) : (
          <Waiting
            key={question.key}
            {...{ question, onOpen, canWrite: config.canWrite, by: name, onRefused: refresh }}
            onDecided={(decision) => {
              decidedHere(question.key, decision);
              refresh();
            }}
          />
        )
      )}
      <Rest view={view} onOpen={onOpen} />
      <p className="only-heard" role="status">
        {ended.at(-1)?.end === undefined ? "" : `${ended.at(-1)?.entry.name}: ${ended.at(-1)?.end}`}
      </p>
    </div>
  );
}

/** Focuses the card beside the one that has the focus; without one the first. */
export function focusCard(step: 1 | -1): void {
  const cards = [...document.querySelectorAll<HTMLElement>(".inbox .card")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const next = at < 0 ? cards[0] : cards[Math.min(cards.length - 1, Math.max(0, at + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

interface WaitingProps {
  readonly question: Question;
  readonly canWrite: boolean;
  readonly by: string;
  readonly onOpen: (at: string) => void;
  readonly onDecided: (decision: Decision) => void;
  readonly onRefused: () => void;
}

function Waiting({ question: { at, entry }, onOpen, ...props }: WaitingProps) {
  const source = useMemo(() => agentSource(at), [at]);
  return (
    <InboxCard entry={entry} source={source} {...props}>
      <AgentLink at={at} onOpen={onOpen} />
    </InboxCard>
  );
}

function Ended({ question, onOpen }: { question: EndedQuestion; onOpen: (at: string) => void }) {
  const { at, entry, isHere, end } = question;
  const card = useRef<HTMLElement>(null);
  // The button that was pressed is gone: the next key goes on from here.
  useEffect(() => {
    if (isHere && document.activeElement === document.body) card.current?.focus();
  }, [isHere]);
  return (
    <article ref={card} className="card ended" tabIndex={-1}>
      <AgentLink at={at} onOpen={onOpen} />
      <p>
        <code>{printable(entry.name)}</code> {end === undefined ? "…" : end}
      </p>
    </article>
  );
}

function AgentLink({ at, onOpen }: { at: string; onOpen: (at: string) => void }) {
  return (
    <p className="card-agent">
      <button className="link mono" title="Its timeline" onClick={() => onOpen(at)}>
        {printable(readableAddress(at))}
      </button>
    </p>
  );
}

/** What cannot be shown here, and why. */
function Rest({ view: { agents, more, unread }, onOpen }: { view: ProjectInboxView; onOpen: (at: string) => void }) {
  const silent = agents.filter(({ error }) => error !== null);
  return (
    <>
      {silent.map(({ at, error }) => (
        <p key={at} className="error">
          <button className="link mono" onClick={() => onOpen(at)}>
            {printable(readableAddress(at))}
          </button>{" "}
          may wait. {error}
        </p>
      ))}
      {more > 0 && <p className="faint">{`${more} more agents wait. They appear when some of these are decided.`}</p>}
      {unread > 0 && <p className="faint">{`${unread} agents are not looked into yet.`}</p>}
    </>
  );
}

/** Questions that were here and wait no more, with what became of them. */
function useEnded(view: ProjectInboxView | undefined, waiting: readonly Question[]) {
  const [ended, setEnded] = useState<readonly EndedQuestion[]>([]);
  const before = useRef<readonly Question[]>([]);
  const here = useRef(new Map<string, Decision>());
  useEffect(() => {
    if (!view) return;
    const now = new Set(waiting.map(({ key }) => key));
    // An agent that does not answer, or that is not listed any more for lack of space, may still wait.
    const isUnknown = (at: string) => view.agents.some((agent) => agent.at === at && agent.error !== null);
    const gone = before.current.filter(({ key, at }) => !now.has(key) && !isUnknown(at));
    before.current = [...waiting, ...before.current.filter(({ key, at }) => !now.has(key) && isUnknown(at))];
    if (gone.length === 0) return;
    const ends = gone.map((question) => ({ ...question, isHere: here.current.has(question.key) }));
    setEnded((known) =>
      [...known.filter(({ key }) => !ends.some((end) => end.key === key)), ...ends].slice(-MAX_ENDED)
    );
    for (const question of gone) {
      void endOf(question, here.current.get(question.key)).then((end) =>
        setEnded((known) => known.map((one) => (one.key === question.key ? { ...one, end } : one)))
      );
    }
  }, [view, waiting]);
  // Code may ask the same again.
  const stillEnded = ended.filter(({ key }) => !waiting.some((one) => one.key === key));
  const decidedHere = useCallback((key: string, decision: Decision) => void here.current.set(key, decision), []);
  return { ended: stillEnded, decidedHere };
}

async function endOf({ at, entry }: Question, here: Decision | undefined): Promise<string> {
  if (here !== undefined) return here === "approve" ? "was approved here." : "was rejected here.";
  const inbox = await agentSource(at)
    .get<InboxView>("inbox")
    .catch(() => undefined);
  const decision = inbox?.decided.find(({ callId }) => callId === entry.callId);
  return decision === undefined ? "does not wait any more." : endText(decision);
}

function endText({ approved, expired, by, reason }: DecidedApproval): string {
  if (expired) return "was not decided in time.";
  const said = reason === null ? "." : `: ${printable(reason)}`;
  return `was ${approved ? "approved" : "rejected"} elsewhere, by ${deciderName(by)}${said}`;
}
