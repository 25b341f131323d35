// The text of a workerd configuration for one worker with its Durable Objects on a local disk. Pure: paths and ports
// are given on the command line, so one configuration serves every start.

/** workerd refuses dates it does not know yet; this one belongs to the version in package-lock.json. */
export const COMPATIBILITY_DATE = "2026-09-18";
export const COMPATIBILITY_FLAGS = ["enable_abortsignal_rpc"];

/** Names used on workerd's command line. */
export const SOCKET_NAME = "http";
export const DATA_SERVICE = "data";

export interface WorkerdConfig {
  /** The bundled module, relative to the configuration file. */
  moduleFile: string;
  /** Durable Object classes; each is bound under its own name. Classes used only as facets are not listed. */
  objects: readonly string[];
  /** Binds a loader for dynamic workers under this name. */
  loaderBinding?: string;
}

export function workerdConfig(config: WorkerdConfig): string {
  const bindings = config.objects.map((name) => `(name = ${quote(name)}, durableObjectNamespace = ${quote(name)})`);
  if (config.loaderBinding !== undefined) {
    bindings.push(`(name = ${quote(config.loaderBinding)}, workerLoader = (id = "loader"))`);
  }
  // The unique key names the storage directory and goes into every object id: it must never change.
  const namespaces = config.objects.map(
    (name) => `(className = ${quote(name)}, uniqueKey = ${quote(`everthink-${name}`)}, enableSql = true)`
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = ${quote(DATA_SERVICE)}, disk = (writable = true))
  ],
  sockets = [(name = ${quote(SOCKET_NAME)}, address = "127.0.0.1:0", http = (), service = "main")]
);

const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed ${quote(config.moduleFile)})],
  compatibilityDate = ${quote(COMPATIBILITY_DATE)},
  compatibilityFlags = ${list(COMPATIBILITY_FLAGS.map(quote))},
  bindings = ${list(bindings)},
  durableObjectNamespaces = ${list(namespaces)},
  durableObjectStorage = (localDisk = ${quote(DATA_SERVICE)})
);
`;
}

function list(items: readonly string[]): string {
  return `[${items.join(", ")}]`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
