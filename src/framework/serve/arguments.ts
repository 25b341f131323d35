// The command line of `everthink`, to one plain value or a UsageError that says which part is wrong. Pure.
import { parseArgs } from "node:util";
import { errorMessage } from "../../util/errors.ts";
import { isLoopback } from "../../util/loopback.ts";
import type { BuildOptions } from "./build.ts";
import { UsageError } from "./errors.ts";
import { LOOPBACK_HOSTS } from "./workerd-config.ts";

const HIGHEST_PORT = 65_535;
const LONGEST_SECONDS = 3_600;

export interface ServeArguments extends BuildOptions {
  host: string;
  port: number;
  data: string;
  /** Variables of the environment the Worker gets. */
  variables: readonly string[];
  variableFile?: string;
  allowsPrivateNetwork: boolean;
  /**
   * Present when the address is this machine's own: the host names it answers to beside this machine's own, in lower
   * case.
   */
  allowedHosts?: readonly string[];
  /** Pages on this machine may kill workerd, to see what happens. */
  hasPlug: boolean;
  healthTimeoutMs: number;
  graceMs: number;
}

export type CliCommand = { command: "help" } | { command: "version" } | ({ command: "serve" } & ServeArguments);

export const HELP = `everthink serve [build] [options]

Runs a built Worker on this machine, with its data in a folder, and keeps it running.

  build                    a folder with a wrangler.json, that file, a folder with an index.js, or one bundled
                           module. Without it: the build that vite build wrote here

  --port <number>          8787; 0 takes any free one
  --host <address>         127.0.0.1, reachable from this machine only; 0.0.0.0 or * for all of its addresses
  --allow-host <name>      on such an address: answers to this host name too, as a proxy passes it on; may be repeated,
                           * for all. Others than localhost, 127.0.0.1 and [::1] are refused without it
  --data <folder>          .data; made when it does not exist. One folder belongs to one instance
  --var <NAME>             gives the Worker this variable of the environment; may be repeated
  --var-file <file>        NAME=value lines for the Worker; without it .dev.vars beside the build, if there is one
  --allow-private-network  lets the Worker's fetch() reach this machine and its local network
  --health-timeout <s>     30; without an answer for so long, the Worker is killed and started again
  --grace <s>              5; what running requests get when the server is asked to stop
  --plug                   for development: POST /__think/plug of a page kills workerd, which is started again at once

For a build without a wrangler.json:

  --objects <A,B>          Durable Object classes, each bound under its own name
  --loader <NAME>          binds a loader for dynamic Workers
  --assets <folder>        serves these files; bound as ASSETS
  --compatibility-date <yyyy-mm-dd>

  everthink migrate --help
  everthink --help, everthink --version

GET /__think/health answers 200 as long as the Worker answers. SIGTERM and Ctrl-C stop; twice, at once.
`;

const OPTIONS = {
  port: { type: "string" },
  host: { type: "string" },
  data: { type: "string" },
  // Not "env-file": Node takes that for its own, wherever it stands.
  var: { type: "string", multiple: true },
  "var-file": { type: "string" },
  "allow-private-network": { type: "boolean" },
  "allow-host": { type: "string", multiple: true },
  "health-timeout": { type: "string" },
  grace: { type: "string" },
  plug: { type: "boolean" },
  objects: { type: "string", multiple: true },
  loader: { type: "string" },
  assets: { type: "string" },
  "compatibility-date": { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" }
} as const;

export function parseArguments(args: readonly string[]): CliCommand {
  const { values, positionals } = split(args);
  const [command, build, ...more] = positionals;
  if (values.help || command === "help") return { command: "help" };
  if (values.version) return { command: "version" };
  if (command === undefined) throw new UsageError("Which command? There is one: everthink serve");
  if (command !== "serve") throw new UsageError(`There is no command "${command}".`);
  if (more.length > 0) throw new UsageError(`One build at a time: "${more[0]}" is one too many.`);
  const date = values["compatibility-date"];
  if (date !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(date)) {
    throw new UsageError(`--compatibility-date must look like 2026-09-18, not "${date}".`);
  }
  const host = filled("host", values.host) ?? "127.0.0.1";
  const hasPlug = values.plug ?? false;
  if (hasPlug && !LOOPBACK_HOSTS.includes(host)) {
    throw new UsageError(`--plug is for this machine only, so --host must be ${LOOPBACK_HOSTS.join(" or ")}.`);
  }
  const allowedHosts = (values["allow-host"] ?? []).map(requireHostName);
  if (allowedHosts.length > 0 && !isLocalAddress(host)) {
    throw new UsageError(`--allow-host is for a server on this machine's own address; ${host} answers to every name.`);
  }
  return {
    command: "serve",
    host,
    port: wholeNumber("port", values.port ?? "8787", HIGHEST_PORT),
    data: filled("data", values.data) ?? ".data",
    variables: (values.var ?? []).map((name) => requireName("var", name)),
    allowsPrivateNetwork: values["allow-private-network"] ?? false,
    ...(isLocalAddress(host) && {
      allowedHosts: LOOPBACK_HOSTS.includes(host) ? allowedHosts : [host, ...allowedHosts]
    }),
    hasPlug,
    healthTimeoutMs: seconds("health-timeout", values["health-timeout"] ?? "30", 0.1),
    graceMs: seconds("grace", values.grace ?? "5", 0),
    objects: (values.objects ?? [])
      .flatMap((list) => list.split(","))
      .map((name) => requireName("objects", name.trim())),
    ...optional("build", build),
    ...optional("variableFile", filled("var-file", values["var-file"])),
    ...optional("loader", values.loader === undefined ? undefined : requireName("loader", values.loader)),
    ...optional("assets", filled("assets", values.assets)),
    ...optional("compatibilityDate", date)
  };
}

function split(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    // The first sentence names the option; the rest is advice for other programs.
    throw new UsageError(`${errorMessage(error).split(/[.\n]/)[0]}.`);
  }
}

function optional<Name extends string>(name: Name, value: string | undefined): { [key in Name]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [key in Name]: string });
}

function filled(option: string, value: string | undefined): string | undefined {
  if (value?.trim() === "") throw new UsageError(`--${option} is empty.`);
  return value;
}

function wholeNumber(option: string, text: string, highest: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= highest) return value;
  throw new UsageError(`--${option} must be a number from 0 to ${highest}, not "${text}".`);
}

function seconds(option: string, text: string, least: number): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value >= least && value <= LONGEST_SECONDS) return value * 1000;
  throw new UsageError(`--${option} must be a number of seconds from ${least} to ${LONGEST_SECONDS}, not "${text}".`);
}

/** Whether an address to listen on is reachable from this machine only. */
function isLocalAddress(host: string): boolean {
  return isLoopback(host.includes(":") ? `[${host}]` : host);
}

/** Without a port: what a browser asks for is compared as a name. */
function requireHostName(name: string): string {
  if (name === "*" || /^[\w.-]+$/.test(name) || /^\[[\da-f:.]+\]$/i.test(name)) return name.toLowerCase();
  throw new UsageError(`--allow-host takes host names like app.example.com, not "${name}".`);
}

function requireName(option: string, name: string): string {
  if (/^[A-Za-z_$][\w$]*$/.test(name)) return name;
  throw new UsageError(`--${option} takes names like Assistant or API_KEY, not "${name}".`);
}
