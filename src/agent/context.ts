// What is running: the current agent and, when a client caused this, its connection or request. Carried by the async
// context, so concurrent calls never see each other's, and never carried into another agent.
import { AsyncLocalStorage } from "node:async_hooks";
import type { AgentBase } from "./agent-base.ts";
import type { Connection } from "../host/connection.ts";
import type { DurableScope } from "./durable-work.ts";

export interface CurrentContext<T = AgentBase> {
  agent: T | undefined;
  connection: Connection | undefined;
  request: Request | undefined;
  /** Reserved for e-mail handlers. */
  email: undefined;
}

const NO_AGENT: CurrentContext = { agent: undefined, connection: undefined, request: undefined, email: undefined };

/** Carried together: each storage costs every asynchronous step of the process something. */
interface Ambient {
  readonly context: CurrentContext;
  /** Of the same agent; entering an agent, or one of its turns, leaves it. */
  readonly durable?: DurableScope;
}

const storage = new AsyncLocalStorage<Ambient>();

/** The agent whose code is running, with what caused it. `everthink/agent` exports it with the class of users as its type. */
export function currentContext<T = AgentBase>(): CurrentContext<T> {
  // The caller names the class; the context holds whichever agent is running.
  return (storage.getStore()?.context ?? NO_AGENT) as CurrentContext<T>;
}

export function runAs<T>(context: Partial<Omit<CurrentContext, "agent">> & { agent: AgentBase }, work: () => T): T {
  return storage.run({ context: { ...NO_AGENT, ...context } }, work);
}

/** Leaves every agent: what runs inside must not inherit the caller's connection or request. */
export function outsideAgents<T>(work: () => T): T {
  return storage.run({ context: NO_AGENT }, work);
}

/** Stays in the current context, as part of durable work. */
export function runDurably<T>(durable: DurableScope, work: () => T): T {
  return storage.run({ context: storage.getStore()?.context ?? NO_AGENT, durable }, work);
}

/** The durable work that the current code is part of. */
export function currentDurable(): DurableScope | undefined {
  return storage.getStore()?.durable;
}
