// Isolates for code that is not trusted: without the agent's bindings and, unless a gate is given, without network. What
// runs inside can change everything in its own isolate; what must hold is checked by the functions it is given.

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

/** JavaScript as text, a value that is imported as JSON, or Python. */
export type IsolateModule = string | { readonly json: unknown } | { readonly py: string };

const PYTHON_MAIN = "main.py";

export interface IsolateInit {
  readonly loader: IsolateLoader;
  /** By name; "main.js" has the entrypoint as its default export, "main.py" as its class `Default`. */
  readonly modules: Readonly<Record<string, IsolateModule>>;
  readonly cpuMs: number;
  /** Where its requests go; null: nowhere. */
  readonly outbound?: object | null;
}

/** The entrypoint of a loaded isolate. The caller names its methods: the modules are of this package. */
export function openIsolate<Entrypoint>(init: IsolateInit): Entrypoint {
  const { loader, modules, cpuMs, outbound = null } = init;
  const isPython = PYTHON_MAIN in modules;
  const code = {
    compatibilityDate: COMPATIBILITY_DATE,
    ...(isPython && { compatibilityFlags: ["python_workers"] }),
    mainModule: isPython ? PYTHON_MAIN : "main.js",
    modules: Object.fromEntries(
      Object.entries(modules).map(([name, one]) => [name, typeof one === "string" ? { js: one } : one])
    ),
    env: {},
    globalOutbound: outbound,
    limits: { cpuMs, ...(outbound && { subRequests: MAX_SUB_REQUESTS }) }
  };
  // The binding takes what is described here.
  const given = code as never;
  const loaded = loader.load ? loader.load(given) : loader.get(crypto.randomUUID(), () => given);
  return loaded.getEntrypoint() as Entrypoint;
}

/** Of an isolate whose requests go somewhere. Calls of the functions it is given are counted by those. */
const MAX_SUB_REQUESTS = 50;

/** Ends a call to the other side, if the platform can. */
export function disposeCall(call: object): void {
  const dispose: unknown = Reflect.get(call, Symbol.dispose);
  if (typeof dispose === "function") dispose.call(call);
}
