// Everything that waits for a person over all agents of a project: which agents wait is known from their files, or was named;
// what they wait for they are asked, through the inspection API and with its key. An agent that has not written since it was
// asked is not asked again, so that a list that is open does not keep agents in memory.
import type { InboxEntry, InboxView } from "../../features/inspection/index.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import type { WaitingAgent, WaitingAgents } from "../local-data/waiting-agents.ts";
import { isAgentAddress } from "./named-agents.ts";

/** Agents whose questions are shown: those that have waited longest. */
const MAX_ASKED = 100;
/** At one time. */
const MAX_CONCURRENT = 8;
const ANSWER_LIMIT_MS = 10_000;
/** How long the answer of an agent serves of which it is not known when it writes, and one that failed. */
const UNKNOWN_KEPT_MS = 15_000;
/** Questions of one agent that are shown. */
const MAX_QUESTIONS = 200;

export interface ProjectInboxView {
  readonly agents: readonly AgentInbox[];
  /** Agents that wait beside those. */
  readonly more: number;
  /** Objects of which it is not known yet whether they wait. */
  readonly unread: number;
}

export interface AgentInbox {
  /** `<agent>/<instance>`, and for a sub-agent what follows it. */
  readonly at: string;
  /** Those that can be decided. */
  readonly approvals: readonly InboxEntry[];
  /** Why it could not be asked. */
  readonly error: string | null;
}

export interface InboxTarget {
  readonly origin: string;
  readonly prefix: string;
  readonly token: string | undefined;
  readonly query: Readonly<Record<string, string>>;
}

interface Known {
  readonly inbox: AgentInbox;
  readonly stamp: string | null;
  readonly askedAt: number;
}

export class ProjectInbox {
  readonly #list: () => Promise<WaitingAgents>;
  readonly #target: () => InboxTarget;
  #known: ReadonlyMap<string, Known> = new Map();

  constructor(list: () => Promise<WaitingAgents>, target: () => InboxTarget) {
    this.#list = list;
    this.#target = target;
  }

  /** `isFresh`: something was just decided, and agents of which it is not known when they write are asked again. */
  async read(isFresh: boolean): Promise<ProjectInboxView> {
    const { agents, unread } = await this.#list();
    const asked = agents.slice(0, MAX_ASKED);
    const known = new Map<string, Known>();
    const queue = asked.values();
    const work = async () => {
      for (const agent of queue) known.set(agent.at, this.#kept(agent, isFresh) ?? (await this.#ask(agent)));
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
    this.#known = known;
    const shown = asked.flatMap(({ at }) => known.get(at)?.inbox ?? []);
    return {
      agents: shown.filter(({ approvals, error }) => approvals.length > 0 || error !== null),
      more: agents.length - asked.length,
      unread
    };
  }

  #kept({ at, stamp }: WaitingAgent, isFresh: boolean): Known | undefined {
    const known = this.#known.get(at);
    if (known === undefined) return undefined;
    const isKnownSame = stamp !== null && stamp === known.stamp && known.inbox.error === null;
    const isRecent = !isFresh && Date.now() - known.askedAt < UNKNOWN_KEPT_MS;
    return isKnownSame || (isRecent && stamp === known.stamp) ? known : undefined;
  }

  async #ask({ at, stamp }: WaitingAgent): Promise<Known> {
    const inbox = await askInbox(at, this.#target()).catch((error: unknown) => failed(at, errorMessage(error)));
    return { inbox, stamp, askedAt: Date.now() };
  }
}

async function askInbox(at: string, { origin, prefix, token, query }: InboxTarget): Promise<AgentInbox> {
  if (!isAgentAddress(at)) return failed(at, "No address leads to an agent of this name.");
  const url = new URL(`${origin}/${prefix}/${at}/inspect/v1/inbox`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const response = await fetch(url, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    // The key goes to this address and to no other.
    redirect: "error",
    signal: AbortSignal.timeout(ANSWER_LIMIT_MS)
  }).catch(() => undefined);
  if (response === undefined) return failed(at, "It does not answer.");
  if (response.status === 403) return failed(at, "It does not let Studio look.");
  const view: unknown = response.ok ? await response.json() : undefined;
  if (!isObject(view) || !Array.isArray(view["approvals"])) return failed(at, `The app answered ${response.status}.`);
  // Of the inspection API, whose versions only gain fields.
  const { approvals } = view as object as InboxView;
  return { at, approvals: approvals.filter(({ isDecidable }) => isDecidable).slice(0, MAX_QUESTIONS), error: null };
}

function failed(at: string, error: string): AgentInbox {
  return { at, approvals: [], error };
}
