// The Worker's default export: the app's own handler first, then the agents, then 404. Every handler of the app is kept.
import { createThinkRouter, type ThinkAuthorize, type ThinkRouter, type ThinkRouterOptions } from "./router.ts";
import type { RoutedManifest } from "./agent-path.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

/** What the app's `fetch` is given after `ctx`. */
export interface ThinkAppContext {
  readonly router: ThinkRouter;
}

export type ThinkAppFetch<Env = never> = (
  request: Request,
  env: Env,
  ctx: ExecutionContext,
  think: ThinkAppContext
) => MaybePromise<Response | null | undefined>;

export interface ThinkWorkerEntryOptions extends Partial<Omit<ThinkRouterOptions, "manifest">> {
  /** The app's own handler: a Response ends the request, anything else passes it on. */
  readonly fetch?: ThinkAppFetch;
  /** Asks the agents before the app. */
  readonly thinkFirst?: boolean;
  readonly manifest?: RoutedManifest;
  readonly routePrefix?: string;
  /** The module `src/server.ts`: its default export is an object with handlers, or a class of them. */
  readonly app?: object;
  readonly authorize?: ThinkAuthorize<never>;
}

/** An object with handlers, or a `WorkerEntrypoint` class. */
export type ThinkWorkerEntry = Record<string, unknown> | (abstract new (...args: never[]) => object);

/** Handlers of the platform besides `fetch`. */
const HANDLERS = ["scheduled", "queue", "email", "tail", "trace", "tailStream", "test", "connect"] as const;

type Handler = (...args: unknown[]) => unknown;

/**
 * The default export of a Worker with agents.
 *
 * @example
 * export default createThinkWorkerEntry({
 *   manifest: { agents: thinkAgentRegistry },
 *   fetch: (request) => (new URL(request.url).pathname === "/hello" ? new Response("Hello") : null)
 * });
 */
export function createThinkWorkerEntry(options: ThinkWorkerEntryOptions): ThinkWorkerEntry {
  const { routePrefix = options.manifest?.routePrefix } = options;
  const manifest = { agents: [], ...options.manifest, routePrefix };
  const router = createThinkRouter({ ...options, manifest });
  const given: unknown = options.app === undefined ? undefined : Reflect.get(options.app, "default");
  if (typeof given === "function" && isEntrypointClass(given)) return entrypointClass(given, router);
  const handlers = typeof given === "object" && given !== null ? given : {};
  // What the app's handler takes is its own word about its env.
  const appFetch = (options.fetch as Handler | undefined) ?? handlerOf(handlers, "fetch");
  const think = options.manifest === undefined ? undefined : { router };
  const ask = async (request: Request, env: unknown, ctx: unknown): Promise<Response | null> => {
    const answer = await appFetch?.(request, env, ctx, think);
    return answer instanceof Response ? answer : null;
  };
  const rest = Object.fromEntries(
    HANDLERS.flatMap((name) => {
      const handler = handlerOf(handlers, name);
      return handler === undefined ? [] : [[name, handler]];
    })
  );
  return {
    ...rest,
    async fetch(...args: [request: Request, env: unknown, ctx: unknown]): Promise<Response> {
      const steps = [() => ask(...args), () => router.route(...args)];
      if (options.thinkFirst) steps.reverse();
      for (const step of steps) {
        const answer = await step();
        if (answer !== null) return answer;
      }
      return new Response("Not found", { status: 404 });
    }
  };
}

function handlerOf(handlers: object, name: string): Handler | undefined {
  const handler: unknown = Reflect.get(handlers, name);
  return typeof handler === "function" ? (...args) => handler.apply(handlers, args) as unknown : undefined;
}

/** A plain function is no entry point; a class of them has handlers on its prototype. */
function isEntrypointClass(value: object): value is abstract new (...args: never[]) => object {
  const prototype: unknown = Reflect.get(value, "prototype");
  if (typeof prototype !== "object" || prototype === null) return false;
  return ["fetch", ...HANDLERS].some((name) => typeof Reflect.get(prototype, name) === "function");
}

/** A subclass whose `fetch` goes on where the app's has no answer. */
function entrypointClass(app: abstract new (...args: never[]) => object, router: ThinkRouter): ThinkWorkerEntry {
  const appFetch: unknown = Reflect.get(app.prototype as object, "fetch");
  // The platform gives the class its context and env.
  abstract class Entry extends (app as abstract new (...args: unknown[]) => object) {
    async fetch(request: Request): Promise<Response> {
      const answer: unknown =
        typeof appFetch === "function" ? await Promise.resolve(appFetch.call(this, request, { router })) : undefined;
      if (answer instanceof Response) return answer;
      const routed = await router.route(request, Reflect.get(this, "env"), Reflect.get(this, "ctx"));
      return routed ?? new Response("Not found", { status: 404 });
    }
  }
  return Entry;
}
