// The text of a workerd configuration for one Worker with its Durable Objects on a local disk. Pure: folders and the
// port are given on the command line, so one configuration serves every start. Secrets are not in it: workerd takes
// them from its environment.
import type { AssetSettings } from "./front/settings.ts";
import type { ModuleKind } from "./module-kind.ts";
import type { BuiltClass } from "./object-classes.ts";
import type { Binding } from "./worker-manifest.ts";

/** workerd refuses dates it does not know yet; this is the one everthink is tested with. */
export const COMPATIBILITY_DATE = "2026-09-18";
export const COMPATIBILITY_FLAGS = ["enable_abortsignal_rpc"];

/** What the front answers by itself, and the supervisor asks. */
export const HEALTH_PATH = "/__think/health";

/** Names of this machine that no other machine can reach: where the front has a plug. */
export const LOOPBACK_HOSTS: readonly string[] = ["127.0.0.1", "localhost", "::1"];
/** The same, as they stand in an address. */
const LOCAL_NAMES = LOOPBACK_HOSTS.map((host) => (host.includes(":") ? `[${host}]` : host));

/** Names used on workerd's command line. */
export const SOCKET_NAME = "http";
export const DATA_SERVICE = "data";
export const ASSETS_SERVICE = "assets";

export interface ConfiguredModule {
  /** The name other modules import it by. */
  name: string;
  kind: ModuleKind;
  /** Relative to the configuration file. */
  file: string;
}

export interface WorkerdConfig {
  /** The entry first. */
  modules: readonly ConfiguredModule[];
  compatibilityDate?: string;
  compatibilityFlags?: readonly string[];
  objects: readonly BuiltClass[];
  bindings: readonly Binding[];
  /** The Worker that answers the port before the user's; without it the user's does. */
  front?: {
    file: string;
    settings: AssetSettings;
    /** How long the body of a request may be silent. */
    bodySilenceMs: number;
    hasAssets: boolean;
    plugSocket?: string;
    /** Given: only requests for this machine's own names and for these are answered. */
    allowedHosts?: readonly string[];
  };
  /** fetch() may reach this machine and its local network too. */
  allowsPrivateNetwork?: boolean;
}

export function workerdConfig(config: WorkerdConfig): string {
  const { front } = config;
  const services = [
    `(name = "main", worker = .main)`,
    `(name = ${quote(DATA_SERVICE)}, disk = (writable = true))`,
    ...(front ? [`(name = "front", worker = .front)`] : []),
    // Which hidden files may be seen is decided in front: /.well-known is hidden too.
    ...(front?.hasAssets ? [`(name = ${quote(ASSETS_SERVICE)}, disk = (allowDotfiles = true))`] : []),
    // Reached by the front only: the user's Worker has no binding to it.
    ...(front?.plugSocket === undefined
      ? []
      : [`(name = "plug", external = (address = ${quote(`unix:${front.plugSocket}`)}, http = ()))`]),
    ...(config.allowsPrivateNetwork
      ? [`(name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true)))`]
      : [])
  ];
  // A proxy in front tells how its clients came, and the Worker builds its own addresses from that.
  const http = front ? `(forwardedProtoHeader = "X-Forwarded-Proto")` : "()";
  const listener = front ? `(name = "front", entrypoint = "front")` : `"main"`;
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = ${lines(services)},
  sockets = [(name = ${quote(SOCKET_NAME)}, address = "127.0.0.1:0", http = ${http}, service = ${listener})]
);

const main :Workerd.Worker = (
  modules = ${lines(config.modules.map(({ name, kind, file }) => `(name = ${quote(name)}, ${kind} = embed ${quote(file)})`))},
  compatibilityDate = ${quote(config.compatibilityDate ?? COMPATIBILITY_DATE)},
  compatibilityFlags = [${(config.compatibilityFlags ?? COMPATIBILITY_FLAGS).map(quote).join(", ")}],
  bindings = ${lines(bindingsOf(config).map((binding) => `(name = ${quote(binding.name)}, ${bindingValue(binding)})`))},
  durableObjectNamespaces = ${lines(config.objects.map(namespaceOf))},
  durableObjectStorage = (localDisk = ${quote(DATA_SERVICE)})
);
${front ? frontWorker(front) : ""}`;
}

/** Read by agents with MCP servers: names of the network around the machine may be asked. */
const NETWORK_VARIABLE = "EVERTHINK_PRIVATE_NETWORK";

function bindingsOf({ bindings, allowsPrivateNetwork = false }: WorkerdConfig): readonly Binding[] {
  if (!allowsPrivateNetwork || bindings.some(({ name }) => name === NETWORK_VARIABLE)) return bindings;
  return [...bindings, { type: "text", name: NETWORK_VARIABLE, value: "1" }];
}

/** Where workerd finds the value of a secret. */
export function secretVariable(name: string): string {
  return `EVERTHINK_SECRET_${name}`;
}

/** The environment workerd needs for the secrets among these bindings. */
export function secretEnvironment(bindings: readonly Binding[]): Record<string, string> {
  return Object.fromEntries(
    bindings.flatMap((binding) => (binding.type === "secret" ? [[secretVariable(binding.name), binding.value]] : []))
  );
}

function bindingValue(binding: Binding): string {
  switch (binding.type) {
    case "object":
      return `durableObjectNamespace = ${quote(binding.className)}`;
    case "loader":
      return `workerLoader = (id = ${quote(binding.name)})`;
    case "assets":
      return `service = (name = "front", entrypoint = "assets")`;
    case "self":
      return binding.entrypoint === undefined
        ? `service = "main"`
        : `service = (name = "main", entrypoint = ${quote(binding.entrypoint)})`;
    case "text":
      return `text = ${quote(binding.value)}`;
    case "json":
      return `json = ${quote(JSON.stringify(binding.value))}`;
    case "secret":
      return `fromEnvironment = ${quote(secretVariable(binding.name))}`;
  }
}

function namespaceOf({ className, key, hasSql }: BuiltClass): string {
  return `(className = ${quote(className)}, uniqueKey = ${quote(key)}, enableSql = ${hasSql})`;
}

function frontWorker({
  file,
  settings,
  bodySilenceMs,
  hasAssets,
  plugSocket,
  allowedHosts
}: NonNullable<WorkerdConfig["front"]>): string {
  const bindings = [
    `(name = "MAIN", service = "main")`,
    `(name = "HEALTH_PATH", text = ${quote(HEALTH_PATH)})`,
    `(name = "BODY_SILENCE_MS", json = ${quote(JSON.stringify(bodySilenceMs))})`,
    `(name = "SETTINGS", json = ${quote(JSON.stringify(settings))})`,
    ...(allowedHosts === undefined
      ? []
      : [`(name = "KNOWN_HOSTS", json = ${quote(JSON.stringify([...LOCAL_NAMES, ...allowedHosts]))})`]),
    ...(hasAssets ? [`(name = "DISK", service = ${quote(ASSETS_SERVICE)})`] : []),
    ...(plugSocket === undefined
      ? []
      : [`(name = "PLUG", service = "plug")`, `(name = "PLUG_HOSTS", json = ${quote(JSON.stringify(LOCAL_NAMES))})`])
  ];
  return `
const front :Workerd.Worker = (
  modules = [(name = "front.js", esModule = embed ${quote(file)})],
  compatibilityDate = ${quote(COMPATIBILITY_DATE)},
  bindings = ${lines(bindings)}
);
`;
}

function lines(items: readonly string[]): string {
  return items.length === 0 ? "[]" : `[\n    ${items.join(",\n    ")}\n  ]`;
}

/** The language of the configuration knows JSON's escapes except \\u. */
function quote(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    /\\(u00([0-9a-f]{2})|.)/g,
    (match, _escape: string, hex: string | undefined) => (hex === undefined ? match : `\\x${hex}`)
  );
}
