// `everthink studio [agent] [instance]`: the command line to one plain value, or a UsageError. Pure.
import { parseArgs } from "node:util";
import { errorMessage } from "../../util/errors.ts";
import { kebabCase } from "../../util/kebab.ts";
import { UsageError } from "../serve/errors.ts";
import { STUDIO_PORT, type StudioTarget } from "./studio-server.ts";

/** The variable by which a class without an authorizeInspection() of its own lets Studio in; see think/inspection.ts. */
export const INSPECTION_VARIABLE = "EVERTHINK_INSPECTION_KEY";

export const STUDIO_HELP = `everthink studio [agent] [instance] [options]

Opens a page on this machine that looks inside a running agent. The app must let it: see docs/inspection.md.

  agent                    class, binding or path segment of the agent, such as Assistant
  instance                 its name; "default" without one

  --url <origin>           where the app runs, such as https://app.example.com
  --host <host:port>       the same without a scheme; localhost:5173
  --protocol <ws|wss>      wss for a --host that has TLS
  --token <key>            sent as a bearer token; without it ${INSPECTION_VARIABLE} of the environment
  --query <name=value>     added to every request; may be repeated
  --route-prefix <path>    agents
  --port <number>          ${STUDIO_PORT}, or the next free one of 20; 0 takes any
  --write                  lets the page decide over approvals and try turns again; otherwise it only reads
`;

const OPTIONS = {
  url: { type: "string" },
  host: { type: "string" },
  protocol: { type: "string" },
  token: { type: "string" },
  query: { type: "string", multiple: true },
  "route-prefix": { type: "string" },
  port: { type: "string" },
  write: { type: "boolean" },
  help: { type: "boolean", short: "h" }
} as const;

export interface StudioArguments {
  readonly target: StudioTarget;
  readonly agent: string | undefined;
  readonly instance: string;
  readonly port: number;
  readonly canWrite: boolean;
}

export function parseStudioArguments(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>
): StudioArguments | "help" {
  const { values, positionals } = split(args);
  if (values.help) return "help";
  const [agent, instance = "default", ...more] = positionals;
  if (more.length > 0) throw new UsageError(`One agent at a time: "${more[0]}" is one too many.`);
  return {
    agent: agent === undefined ? undefined : kebabCase(agent),
    instance,
    port: portOf(values.port),
    canWrite: values.write ?? false,
    target: {
      origin: originOf(values),
      prefix: (values["route-prefix"] ?? "agents").replaceAll(/^\/+|\/+$/g, ""),
      token: values.token ?? environment[INSPECTION_VARIABLE],
      query: Object.fromEntries((values.query ?? []).map(pairOf))
    }
  };
}

function split(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${errorMessage(error).split(/[.\n]/)[0]}.`);
  }
}

function originOf({
  url,
  host = "localhost:5173",
  protocol = "ws"
}: {
  url?: string;
  host?: string;
  protocol?: string;
}) {
  if (protocol !== "ws" && protocol !== "wss") throw new UsageError(`--protocol is ws or wss, not "${protocol}".`);
  const given = url?.replace(/^ws(s?):/i, "http$1:") ?? `${protocol === "wss" ? "https" : "http"}://${host}`;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new UsageError(
      `"${url ?? host}" is not an address like ${url === undefined ? "localhost:5173" : "https://app.example.com"}.`
    );
  }
  return new URL(given).origin;
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`--query takes name=value, not "${text}".`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function portOf(text = String(STUDIO_PORT)): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port must be a number from 0 to 65535, not "${text}".`);
}
