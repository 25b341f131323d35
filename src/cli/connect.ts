// A client for a command: connected, or a failure that says where it tried.
import { resolve } from "node:path";
import { createThinkClient, type ThinkClient } from "../client/index.ts";
import { discoverThinkApp } from "../framework/manifest/discover.ts";
import { createThinkProject } from "../framework/project/project.ts";
import type { RoutedManifest } from "../framework/server-entry/agent-path.ts";
import { CommandError, type CliContext } from "./cli-context.ts";
import type { ParsedArguments } from "./command-line.ts";
import { runningDevServer } from "../framework/project/dev-server-record.ts";
import { isProject, routePrefixOf, usesPlugin } from "./load-project.ts";
import { printable } from "./message-text.ts";
import { withProgress } from "./progress.ts";
import { agentTarget, DEFAULT_ORIGIN, namesServer, targetUrl, type AgentTarget } from "./target.ts";

const CONNECT_LIMIT_MS = 15_000;

/** Agents of the folder a command runs in; without a project there are none, and names are used as given. */
export function localManifest(parsed: ParsedArguments, { cwd }: CliContext): RoutedManifest {
  try {
    const root = resolve(cwd, parsed.text("root") ?? ".");
    const routePrefix = routePrefixOf(parsed, root);
    return createThinkProject({ root, routePrefix }).manifest;
  } catch {
    // No project here: the command may still name an agent of a server.
    return discoverThinkApp({ files: [] });
  }
}

export function targetOf(parsed: ParsedArguments, context: CliContext): AgentTarget {
  const target = agentTarget(parsed, localManifest(parsed, context), usualOrigin(parsed, context));
  const root = resolve(context.cwd, parsed.text("root") ?? ".");
  if (namesServer(parsed) || isProject(root)) return target;
  return {
    hint: `${root} is no everthink project. Go to its folder, or name the server with --url or --host.`,
    ...target
  };
}

/**
 * The project's development server, on whatever port. Without one nothing is tried: at the usual address another project's
 * may answer. Outside of a project it is the usual address. Throws CommandError.
 */
export function usualOrigin(parsed: ParsedArguments, { cwd }: CliContext): string {
  const root = resolve(cwd, parsed.text("root") ?? ".");
  const running = runningDevServer(root);
  if (running === undefined && !namesServer(parsed) && usesPlugin(root)) {
    throw new CommandError(
      "No development server of this project is running.",
      "Start it: everthink dev. Another server is named with --url or --host."
    );
  }
  return running ?? DEFAULT_ORIGIN;
}

export async function connectClient(target: AgentTarget, context: CliContext): Promise<ThinkClient> {
  const { signal } = context;
  const client = createThinkClient({ url: targetUrl(target), query: target.query });
  let timer: NodeJS.Timeout | undefined;
  const connected = new Promise<boolean>((settle) => {
    timer = setTimeout(() => settle(false), CONNECT_LIMIT_MS);
    const look = () => {
      const { connection, identity } = client.getSnapshot();
      if (identity !== undefined) settle(true);
      else if (connection === "refused") settle(false);
    };
    client.subscribe(look);
    signal.addEventListener("abort", () => settle(false), { once: true });
    if (signal.aborted) settle(false);
    look();
  });
  const isConnected = await withProgress(`Connecting to ${targetUrl(target)}`, context, connected);
  // Also after Ctrl-C: a timer that is left would keep the process for the rest of its time.
  clearTimeout(timer);
  if (isConnected) return client;
  const { connectionError } = client.getSnapshot();
  client.close();
  throw connectionFailure(target, connectionError);
}

export function connectionFailure(target: AgentTarget, reason: string | undefined): CommandError {
  const said = reason === undefined ? "" : ` ${printable(reason)}`;
  return new CommandError(
    `No connection to ${targetUrl(target)}.${said}`,
    target.hint ??
      "Is the server running (everthink dev)? Name it with --url or --host; a server that wants a login takes --token."
  );
}
