// Where a workflow came from. It travels with the workflow's params under one key, which the user's code never sees on
// the other side. All of it is plain data: the workflow may run in another Worker, days later.
import { isObject } from "../../util/json.ts";
import type { AgentPath } from "../../host/path.ts";

/** The one name in a workflow's params that is not the user's. */
export const ORIGIN_KEY = "__everthink";

export interface WorkflowOrigin {
  agentName: string;
  /** The class of the root; its export or binding is the way back. */
  agentClass: string;
  /** The root's binding, as far as the agent knew one. */
  agentBinding: string | null;
  /** The root's platform id: a name alone does not say in which jurisdiction it lives. */
  agentId: string;
  /** From the root down to the agent that started the workflow. */
  path: AgentPath;
  workflowName: string;
}

/** Params as the platform stores them. What is not a plain object cannot be extended and travels inside the origin. */
export function attachOrigin(params: unknown, origin: WorkflowOrigin): Record<string, unknown> {
  if (isPlain(params)) return { ...params, [ORIGIN_KEY]: origin };
  return { [ORIGIN_KEY]: { ...origin, params } };
}

export interface Detached {
  origin: WorkflowOrigin;
  params: unknown;
}

/** The user's params and the origin, apart again; undefined when there is none. */
export function detachOrigin(payload: unknown): Detached | undefined {
  if (!isObject(payload) || !isObject(payload[ORIGIN_KEY])) return undefined;
  const { [ORIGIN_KEY]: attached, ...rest } = payload;
  // Written by `attachOrigin` only.
  const { params, ...origin } = attached as object as WorkflowOrigin & { params?: unknown };
  return { origin, params: "params" in payload[ORIGIN_KEY] ? params : rest };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
