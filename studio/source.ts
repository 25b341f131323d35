// Where the page gets its views: from an agent through Studio's server, or from a file that another Studio exported.
import type {
  AgentView,
  InboxView,
  StateView,
  TryRequest,
  TryView,
  TurnsView,
  TurnTimeline,
  TurnWhy
} from "../src/features/inspection/index.ts";

import type { ProjectInboxView } from "../src/framework/studio/project-inbox.ts";

export interface StudioConfig {
  readonly target: {
    readonly origin: string;
    readonly prefix: string;
    readonly agent: string | null;
    /** Null: the command named none. */
    readonly instance: string | null;
  };
  readonly agents: readonly { readonly id: string; readonly label: string }[];
  readonly canWrite: boolean;
  /** What waits over all agents of the project is known. */
  readonly hasInbox: boolean;
}

/** One conversation as a file. */
export interface ConversationFile {
  readonly format: "everthink-conversation";
  readonly version: 1;
  readonly exportedAt: number;
  readonly address: string;
  readonly agent: AgentView;
  readonly turns: TurnsView;
  readonly timelines: Readonly<Record<string, TurnTimeline>>;
  readonly whys: Readonly<Record<string, TurnWhy>>;
  readonly inbox: InboxView;
  readonly state: StateView;
}

export interface ViewSource {
  readonly address: string;
  readonly isFile: boolean;
  get<View>(view: string): Promise<View>;
  post<View>(view: string, body: object): Promise<View>;
}

/** Turns whose details an export has. */
const EXPORTED_TURNS = 200;

export async function readConfig(): Promise<StudioConfig> {
  return (await (await fetch("/__studio/config.json")).json()) as StudioConfig;
}

export interface Instance {
  readonly name: string;
  readonly changedAt: number;
  readonly sizeBytes: number;
  /** When something was said in it; null: never. */
  readonly spokenAt: number | null;
  /** How its first question begins. */
  readonly title: string | null;
  /** How its newest message begins. */
  readonly words: string | null;
}

/** The one that was spoken in last comes first. */
export interface Instances {
  /** Undefined: Studio's server does not have the data. */
  readonly instances?: readonly Instance[];
  readonly isCut?: boolean;
}

export async function readInstances(agent: string): Promise<Instances> {
  return (await (await fetch(`/__studio/instances.json?agent=${encodeURIComponent(agent)}`)).json()) as Instances;
}

/** Throws with what keeps the agents that wait from being listed. */
export async function readProjectInbox(isFresh: boolean): Promise<ProjectInboxView> {
  const init = { headers: { "X-Everthink-Studio": "1" } };
  const response = await fetch(`/__studio/waiting.json${isFresh ? "?fresh" : ""}`, init).catch(() => {
    throw new Error("Studio's server does not answer.");
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer as ProjectInboxView;
  throw new Error(messageOf(answer) ?? `Studio's server answered ${response.status}.`);
}

/** Agents that are looked through for an instance. */
const SEARCHED_AGENTS = 20;

/** Asked for where it is not known which instances there are; the other commands begin with it, too. */
const USUAL_INSTANCE = "default";

/**
 * Where the page begins: at the instance that the command named, otherwise at the one on this machine that was active last,
 * of the agent that the command named or of any. Empty: none has stored anything yet, and asking for one would make it.
 */
export async function startAddress({ target, agents }: StudioConfig): Promise<string> {
  const { agent, instance } = target;
  const first = `${agent ?? agents[0]?.id ?? "assistant"}/${encodeURIComponent(instance ?? USUAL_INSTANCE)}`;
  if (instance !== null) return first;
  const searched = agent === null ? agents.slice(0, SEARCHED_AGENTS).map(({ id }) => id) : [agent];
  const lists = await Promise.all(searched.map(async (id) => ({ id, ...(await readInstances(id)) })));
  if (lists.every(({ instances }) => instances === undefined)) return first;
  // Each list begins with the one that was active last. Where nothing was said, the newest file decides.
  const newest = lists
    .flatMap(({ id, instances }) => instances?.slice(0, 1).map((instance) => ({ id, ...instance })) ?? [])
    .sort((one, other) => (other.spokenAt ?? 0) - (one.spokenAt ?? 0) || other.changedAt - one.changedAt)[0];
  return newest === undefined ? "" : `${newest.id}/${encodeURIComponent(newest.name)}`;
}

/** `address` is `<agent>/<instance>`, and for a sub-agent what follows it; empty: there is none to ask. */
export function agentSource(address: string): ViewSource {
  const ask = async <View>(view: string, init?: RequestInit): Promise<View> => {
    if (address === "") throw new Error("No instance has stored anything yet. The view Agents lists them.");
    const response = await fetch(`/__studio/agents/${address}/inspect/v1/${view}`, init).catch(() => {
      throw new Error("Studio's server does not answer.");
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (response.ok) return answer as View;
    throw new Error(messageOf(answer) ?? failureOf(response.status), { cause: response.status });
  };
  return {
    address,
    isFile: false,
    get: (view) => ask(view),
    post: (view, body) =>
      ask(view, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Everthink-Studio": "1" },
        body: JSON.stringify(body)
      })
  };
}

/** Of an answer that is not the API's. */
function failureOf(status: number): string {
  return status === 400 || status === 404
    ? "There is no such agent, or one that is not a Think. The view Agents lists those that Studio knows."
    : `The app answered ${status}.`;
}

function messageOf(answer: unknown): string | undefined {
  const error: unknown = typeof answer === "object" && answer !== null && "error" in answer ? answer.error : undefined;
  if (error === "Forbidden")
    return "This agent does not let Studio look: see authorizeInspection and EVERTHINK_INSPECTION_KEY.";
  return typeof error === "string" ? error : undefined;
}

export function fileSource(file: ConversationFile): ViewSource {
  const views = new Map<string, unknown>([
    ["agent", file.agent],
    ["inbox", file.inbox],
    ["state", file.state],
    ...Object.entries(file.timelines).map(([id, view]): [string, unknown] => [`turns/${id}`, view]),
    ...Object.entries(file.whys).map(([id, view]): [string, unknown] => [`turns/${id}/why`, view])
  ]);
  return {
    address: file.address,
    isFile: true,
    get: async <View>(view: string) => {
      const known = view.startsWith("turns?") ? file.turns : views.get(view);
      if (known === undefined) throw new Error("The file does not hold this view.");
      return known as View;
    },
    post: () => Promise.reject(new Error("A file cannot be changed."))
  };
}

export async function exportConversation(source: ViewSource): Promise<ConversationFile> {
  const [agent, inbox, state] = await Promise.all([
    source.get<AgentView>("agent"),
    source.get<InboxView>("inbox"),
    source.get<StateView>("state")
  ]);
  let turns: TurnsView = await source.get("turns?limit=100");
  while (turns.next !== undefined && turns.turns.length < EXPORTED_TURNS) {
    const older: TurnsView = await source.get(`turns?limit=100&before=${turns.next}`);
    turns = { ...older, turns: [...turns.turns, ...older.turns], changes: [...older.changes, ...turns.changes] };
  }
  const timelines: Record<string, TurnTimeline> = {};
  const whys: Record<string, TurnWhy> = {};
  for (const { turnId } of turns.turns) {
    timelines[turnId] = await source.get(`turns/${turnId}`);
    whys[turnId] = await source.get(`turns/${turnId}/why`);
  }
  const { next: _next, ...whole } = turns;
  const head = {
    format: "everthink-conversation",
    version: 1,
    exportedAt: Date.now(),
    address: source.address
  } as const;
  return { ...head, agent, turns: whole, timelines, whys, inbox, state };
}

/** Throws for a file that is none, and for one of a later Studio. What is inside is shown as text, whatever it says. */
export function parseConversation(text: string): ConversationFile {
  const value = objectOf(text);
  if (value?.["format"] !== "everthink-conversation") {
    throw new Error("This is not a conversation that Studio exported.");
  }
  if (value["version"] !== 1) throw new Error("A later Studio exported this conversation: open it with that one.");
  const isWhole = ["agent", "turns", "timelines", "whys", "inbox", "state"].every((view) => isObject(value[view]));
  const { turns, changes } = isObject(value["turns"]) ? value["turns"] : {};
  if (!isWhole || !isList(turns) || !isList(changes) || typeof value["address"] !== "string")
    throw new Error("The file is not whole: export it again.");
  // Written by `exportConversation`. One that was changed by hand can break a view, and nothing else.
  return value as object as ConversationFile;
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // Then it is no export.
    return undefined;
  }
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function tryTurn(source: ViewSource, request: TryRequest): Promise<TryView> {
  return source.post<TryView>("try", request);
}
