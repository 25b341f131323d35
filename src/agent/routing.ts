// From a request or a name to an agent. These run in the Worker, outside any agent; hooks here decide who gets in
// before an object is woken.
import { isRetryable } from "../host/platform-errors.ts";
import { backoffMs } from "../util/backoff.ts";
import { decodePercent } from "../util/decode-percent.ts";
import { kebabCase } from "../util/kebab.ts";
import { type AgentStub, callAgent, isNamespace } from "./tree/agent-call.ts";
import { isUpgrade } from "./connections/upgrade.ts";
import {
  checkAllowedOrigins,
  refuseCrossSite,
  vouchForOrigin,
  withoutVouching,
  type AllowedOrigins
} from "./cross-site.ts";
import { agentErrors, isTooLongName } from "./errors.ts";

/** Which agent a request is for. */
export interface RouteTarget {
  /** The name of the binding in `env`. */
  className: string;
  name: string;
}

type BeforeHook = (
  request: Request,
  target: RouteTarget
) => Response | Request | void | Promise<Response | Request | void>;

export interface RoutingRetry {
  /** Default 3. */
  maxAttempts?: number;
  /** Default 100. */
  baseDelayMs?: number;
  /** Default 800. */
  maxDelayMs?: number;
  onRetry?: (error: unknown, attempt: number) => void;
}

export interface AgentLookupOptions {
  /** Given to `onStart` if this call starts the agent. */
  props?: Record<string, unknown>;
  locationHint?: DurableObjectLocationHint;
  jurisdiction?: DurableObjectJurisdiction;
  /** Retries of errors that the platform calls retryable; false: none. */
  routingRetry?: false | RoutingRetry;
}

export interface AgentRoutingOptions extends AgentLookupOptions {
  /** First segments of the path. Default "agents". */
  prefix?: string;
  /** Headers for cross-origin pages; `true`: any origin. */
  cors?: boolean | HeadersInit;
  /**
   * Origins of other sites whose pages may connect and send requests that change something; everything else of other
   * sites is answered with 403 before the agent is woken. Default: what the class says in its `static options`.
   */
  allowedOrigins?: AllowedOrigins;
  /** Before a WebSocket is opened: a Response refuses, a Request replaces, nothing lets it through. */
  onBeforeConnect?: BeforeHook;
  /** The same for every other request. */
  onBeforeRequest?: BeforeHook;
}

const CORS_ANY: HeadersInit = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, POST, HEAD, OPTIONS",
  "Access-Control-Allow-Headers": "*",
  "Access-Control-Max-Age": "86400"
};

const RETRY_DEFAULTS = { maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 800 };

/**
 * Routes `/agents/{binding}/{name}/…` to its agent; null when the path is not an agent's.
 *
 * @example
 * export default {
 *   async fetch(request: Request, env: Env) {
 *     return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
 *   }
 * };
 */
export async function routeAgentRequest<Env>(
  request: Request,
  env: Env,
  options: AgentRoutingOptions = {}
): Promise<Response | null> {
  const segments = segmentsAfterPrefix(request.url, options.prefix ?? "agents");
  const [binding, instance] = segments ?? [];
  if (!binding || !instance) return null;
  const found = findNamespace(env, binding);
  if (!found) {
    console.error(
      `No Durable Object binding for "${binding}" (agent "${instance}", ${new URL(request.url).pathname}).`
    );
    return new Response("Invalid request", { status: 400 });
  }
  const cors = corsHeaders(options.cors);
  if (request.method === "OPTIONS" && cors) return new Response(null, { headers: cors });
  const target: RouteTarget = { className: found.binding, name: decodePercent(instance) ?? instance };
  if (isTooLongName(target.name)) {
    return withCors(new Response(agentErrors.AgentNameError(target.name).message, { status: 400 }), cors);
  }
  const incoming = withoutVouching(request);
  const allowed = options.allowedOrigins && checkAllowedOrigins(options.allowedOrigins);
  const refusal = allowed && refuseCrossSite(incoming, allowed);
  if (refusal) return withCors(refusal, cors);
  const hook = isUpgrade(incoming) ? options.onBeforeConnect : options.onBeforeRequest;
  const verdict = await hook?.(incoming, target);
  if (verdict instanceof Response) return withCors(verdict, cors);
  const forwarded = allowed ? vouchForOrigin(verdict ?? incoming) : (verdict ?? incoming);
  const response = await withRoutingRetry(options.routingRetry, isReplayable(forwarded), async () => {
    const stub = lookUp(found.namespace, target.name, options);
    if (options.props) await start(stub, options.props);
    return stub.fetch(forwarded);
  });
  return withCors(response, cors);
}

/**
 * The stub of a started agent. Every public method of the class can be called on it, and `fetch`.
 *
 * @example
 * const counter = await getAgentByName(env.Counter, "main");
 * await counter.increment();
 */
export async function getAgentByName<T extends Rpc.DurableObjectBranded | undefined>(
  namespace: DurableObjectNamespace<T>,
  name: string,
  options: AgentLookupOptions = {}
): Promise<DurableObjectStub<T>> {
  if (isTooLongName(name)) throw agentErrors.AgentNameError(name);
  const stub = lookUp(namespace, name, options);
  await withRoutingRetry(options.routingRetry, true, () => start(stub, options.props));
  return stub;
}

function lookUp<T extends Rpc.DurableObjectBranded | undefined>(
  namespace: DurableObjectNamespace<T>,
  name: string,
  { jurisdiction, locationHint }: AgentLookupOptions
): DurableObjectStub<T> {
  const scoped = jurisdiction ? namespace.jurisdiction(jurisdiction) : namespace;
  return scoped.get(scoped.idFromName(name), locationHint && { locationHint });
}

async function start(stub: object, props: Record<string, unknown> | undefined): Promise<void> {
  // Every agent class answers it; the stub's type is the caller's.
  await callAgent(stub as AgentStub, { to: [], call: { op: "start", props } });
}

function segmentsAfterPrefix(url: string, prefix: string): string[] | undefined {
  const segments = new URL(url).pathname.split("/").slice(1);
  const expected = prefix.split("/").filter(Boolean);
  if (expected.some((segment, index) => segments[index] !== segment)) return undefined;
  return segments.slice(expected.length);
}

function findNamespace(
  env: unknown,
  segment: string
): { binding: string; namespace: DurableObjectNamespace } | undefined {
  for (const [binding, value] of Object.entries(env as Record<string, unknown>)) {
    if (isNamespace(value) && kebabCase(binding) === segment)
      return { binding, namespace: value as DurableObjectNamespace };
  }
  return undefined;
}

function corsHeaders(cors: AgentRoutingOptions["cors"]): Headers | undefined {
  if (!cors) return undefined;
  return new Headers(cors === true ? CORS_ANY : cors);
}

function withCors(response: Response, cors: Headers | undefined): Response {
  if (!cors || response.status === 101) return response;
  const copy = new Response(response.body, response);
  for (const [name, value] of cors) copy.headers.set(name, value);
  return copy;
}

/** A body can be read once: a request that carries one is sent once. */
function isReplayable(request: Request): boolean {
  return request.body === null;
}

async function withRoutingRetry<T>(
  options: AgentLookupOptions["routingRetry"],
  isRepeatable: boolean,
  work: () => Promise<T>
): Promise<T> {
  if (options === false) return work();
  const { maxAttempts, baseDelayMs, maxDelayMs } = validRetry({ ...RETRY_DEFAULTS, ...options });
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isRepeatable || attempt >= maxAttempts || !isRetryable(error)) throw error;
      notify(options?.onRetry, error, attempt);
      const pauseMs = backoffMs(attempt - 1, { baseMs: baseDelayMs, maxMs: maxDelayMs, jitter: 1 }, Math.random());
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

function validRetry(options: Required<Omit<RoutingRetry, "onRetry">>): typeof options {
  for (const field of ["maxAttempts", "baseDelayMs", "maxDelayMs"] as const) {
    if (!(Number.isFinite(options[field]) && options[field] > 0)) throw agentErrors.RoutingRetryError(field);
  }
  return options;
}

function notify(onRetry: RoutingRetry["onRetry"], error: unknown, attempt: number): void {
  try {
    onRetry?.(error, attempt);
  } catch (failure) {
    console.error("routingRetry.onRetry failed:", failure);
  }
}
