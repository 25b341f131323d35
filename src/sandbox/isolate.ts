// Isolates for code that is not trusted: without the agent's bindings and, unless a gate is given, without network. What
// runs inside can change everything in its own isolate; what must hold is checked by the functions it is given.
import { sha256 } from "../host/blobs.ts";

/** The last before isolates have Node's globals by default: code inside needs none of them. */
const COMPATIBILITY_DATE = "2026-08-03";

/** What is used of a `worker_loaders` binding. */
export interface IsolateLoader {
  // The platform types what is loaded as any worker.
  load?(code: never): LoadedIsolate;
  get(id: string, code: () => never): LoadedIsolate;
}

interface LoadedIsolate {
  getEntrypoint(): unknown;
}

export interface IsolateInit {
  readonly loader: IsolateLoader;
  /** JavaScript by module name; "main.js" has the entrypoint as its default export. */
  readonly modules: Readonly<Record<string, string>>;
  readonly cpuMs: number;
  /** Where its requests go; null: nowhere. */
  readonly outbound?: object | null;
  /** True: the same modules share one isolate as long as the platform keeps it. */
  readonly isKept?: boolean;
}

/** The entrypoint of a loaded isolate. The caller names its methods: the modules are of this package. */
export function openIsolate<Entrypoint>(init: IsolateInit): Entrypoint {
  const { loader, modules, cpuMs, outbound = null, isKept = false } = init;
  const code = {
    compatibilityDate: COMPATIBILITY_DATE,
    mainModule: "main.js",
    modules: Object.fromEntries(Object.entries(modules).map(([name, js]) => [name, { js }])),
    env: {},
    globalOutbound: outbound,
    limits: { cpuMs, subRequests: MAX_SUB_REQUESTS }
  };
  // The binding takes what is described here.
  const given = code as never;
  const loaded =
    !isKept && loader.load
      ? loader.load(given)
      : loader.get(isKept ? contentId(modules) : crypto.randomUUID(), () => given);
  return loaded.getEntrypoint() as Entrypoint;
}

const MAX_SUB_REQUESTS = 50;

function contentId(modules: IsolateInit["modules"]): string {
  return sha256(JSON.stringify(Object.entries(modules).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** Ends a call to the other side, if the platform can. */
export function disposeCall(call: object): void {
  const dispose: unknown = Reflect.get(call, Symbol.dispose);
  if (typeof dispose === "function") dispose.call(call);
}
