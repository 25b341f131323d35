// `everthink serve`: what was typed to one plain value, then serving until a signal.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Log } from "../../framework/serve/log.ts";
import { serve, type ServeArguments } from "../../framework/serve/serve.ts";
import { LOOPBACK_HOSTS } from "../../framework/serve/workerd-config.ts";
import { isLoopback } from "../../util/loopback.ts";
import type { CliContext } from "../cli-context.ts";
import { levelOf, LogFile, SERVE_LOG } from "../logs/log-file.ts";
import { filledText, usageError, wholeNumber, type ParsedArguments } from "../command-line.ts";

const BUILDS_FOLDER = "dist";
const DEFAULT_PORT = 8787;
const HIGHEST_PORT = 65_535;
const LONGEST_SECONDS = 3_600;

export async function runServe(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const { cwd, environment, place, signal, hurry } = context;
  // A build may be served without its project.
  if (parsed.positionals.length === 0 && !existsSync(join(cwd, BUILDS_FOLDER))) {
    const { requireProject } = await import("../load-project.ts");
    requireProject(cwd);
  }
  const given = serveArguments(parsed);
  let file: LogFile | undefined;
  const keep = (text: string, stream: "stdout" | "stderr") => {
    // The folder is made by the server, once it knows that it may have it.
    if (existsSync(resolve(cwd, given.data))) file ??= new LogFile(resolve(cwd, given.data, SERVE_LOG), context.note);
    file?.write(text.replace(/\n$/, "").replace(/^\S+Z /, ""), levelOf(text, stream));
  };
  await serve(given, {
    workingFolder: cwd,
    variables: environment,
    frontWorker: place.frontWorker,
    studioFolder: place.studioFolder,
    log: new Log({
      output: {
        write: (text) => {
          keep(text, "stdout");
          context.stream(text);
        }
      },
      errors: {
        write: (text) => {
          keep(text, "stderr");
          context.note(text.replace(/\n$/, ""));
        }
      },
      now: () => new Date(),
      withTime: environment["JOURNAL_STREAM"] === undefined
    }),
    signals: { stop: signal, hurry }
  });
  return 0;
}

/** Pure. Throws CommandUsageError. */
export function serveArguments(parsed: ParsedArguments): ServeArguments {
  const [build] = parsed.positionals;
  const host = filledText(parsed, "host") ?? LOOPBACK_HOSTS[0] ?? "";
  const hasPlug = parsed.flag("plug") ?? false;
  if (hasPlug && !LOOPBACK_HOSTS.includes(host)) {
    throw usageError("serve", `--plug is for this machine only, so --host must be ${LOOPBACK_HOSTS.join(" or ")}.`);
  }
  const studio = parsed.flag("studio-write") ? "write" : parsed.flag("studio") ? "read" : undefined;
  const allowedHosts = allowedHostsOf(parsed, host);
  const loader = parsed.text("loader");
  return {
    host,
    port: wholeNumber(parsed, "port", { fallback: DEFAULT_PORT, highest: HIGHEST_PORT }),
    data: filledText(parsed, "data") ?? ".data",
    variables: parsed.list("var").map((name) => requireName("var", name)),
    allowsPrivateNetwork: parsed.flag("allow-private-network") ?? false,
    allowedHosts,
    hasPlug,
    studio,
    healthTimeoutMs: milliseconds(parsed, "health-timeout", { fallback: 30, least: 0.1 }),
    bodySilenceMs: milliseconds(parsed, "body-timeout", { fallback: 30, least: 0.1 }),
    graceMs: milliseconds(parsed, "grace", { fallback: 5, least: 0 }),
    objects: parsed
      .list("objects")
      .flatMap((list) => list.split(","))
      .map((name) => requireName("objects", name.trim())),
    ...optional("build", build),
    ...optional("variableFile", filledText(parsed, "var-file")),
    ...optional("loader", loader === undefined ? undefined : requireName("loader", loader)),
    ...optional("assets", filledText(parsed, "assets")),
    ...optional("compatibilityDate", compatibilityDateOf(parsed))
  };
}

/** Undefined on an address that others reach, which answers to every name. */
function allowedHostsOf(parsed: ParsedArguments, host: string): readonly string[] | undefined {
  const given = parsed.list("allow-host").map(requireHostName);
  if (isLocalAddress(host)) return LOOPBACK_HOSTS.includes(host) ? given : [host, ...given];
  if (given.length === 0) return undefined;
  const message = `--allow-host is for a server on this machine's own address; ${host} answers to every name.`;
  throw usageError("serve", message);
}

function compatibilityDateOf(parsed: ParsedArguments): string | undefined {
  const date = parsed.text("compatibility-date");
  if (date === undefined || /^\d{4}-\d{2}-\d{2}$/.test(date)) return date;
  throw usageError("serve", `--compatibility-date must look like 2026-09-18, not "${date}".`);
}

function optional<Name extends string>(name: Name, value: string | undefined): { [key in Name]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [key in Name]: string });
}

function milliseconds(
  parsed: ParsedArguments,
  option: string,
  { fallback, least }: { readonly fallback: number; readonly least: number }
): number {
  const text = parsed.text(option) ?? String(fallback);
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value >= least && value <= LONGEST_SECONDS) return value * 1000;
  const message = `--${option} must be a number of seconds from ${least} to ${LONGEST_SECONDS}, not "${text}".`;
  throw usageError("serve", message);
}

/** Whether an address to listen on is reachable from this machine only. */
function isLocalAddress(host: string): boolean {
  return isLoopback(host.includes(":") ? `[${host}]` : host);
}

/** Without a port: what a browser asks for is compared as a name. */
function requireHostName(name: string): string {
  if (name === "*" || /^[\w.-]+$/.test(name) || /^\[[\da-f:.]+\]$/i.test(name)) return name.toLowerCase();
  throw usageError("serve", `--allow-host takes host names like app.example.com, not "${name}".`);
}

function requireName(option: string, name: string): string {
  if (/^[A-Za-z_$][\w$]*$/.test(name)) return name;
  throw usageError("serve", `--${option} takes names like Assistant or API_KEY, not "${name}".`);
}
