// `everthink studio`: what was typed to one plain value, then Studio until a signal.
import { resolve } from "node:path";
import { INSPECTION_VARIABLE, type StudioArguments } from "../../framework/studio/studio-arguments.ts";
import { openStudio } from "../../framework/studio/studio-command.ts";
import { STUDIO_PORT } from "../../framework/studio/studio-server.ts";
import { runningDevServer } from "../../framework/project/dev-server-record.ts";
import type { RoutedManifest } from "../../framework/server-entry/agent-path.ts";
import type { CliContext } from "../cli-context.ts";
import { wholeNumber, type ParsedArguments } from "../command-line.ts";
import { localManifest } from "../connect.ts";
import { namedOf } from "../waiting.ts";
import { agentSegment, originOf, queryOf, routePrefixSegments } from "../target.ts";

const HIGHEST_PORT = 65_535;

export async function runStudio(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const root = resolve(context.cwd, parsed.text("root") ?? ".");
  const options = studioArguments(parsed, {
    manifest: localManifest(parsed, context),
    environment: context.environment,
    root,
    running: runningDevServer(root)
  });
  await openStudio(options, { folder: context.place.studioFolder, say: context.print, stop: context.signal });
  return 0;
}

interface Surroundings {
  readonly manifest: RoutedManifest;
  readonly environment: CliContext["environment"];
  /** The project's folder. */
  readonly root: string;
  /** Where its development server is, if one runs. */
  readonly running?: string;
}

/** Pure. Throws CommandUsageError. */
export function studioArguments(
  parsed: ParsedArguments,
  { manifest, environment, root, running }: Surroundings
): StudioArguments {
  const [agent, instance] = parsed.positionals;
  const segment = agent === undefined ? undefined : agentSegment(manifest, agent);
  const origin = originOf(parsed, running);
  const agents = manifest.agents.filter(({ kind }) => kind === "top-level");
  const offered = agents.map(({ id }) => id);
  // Another server than everthink dev keeps its objects elsewhere.
  const isDevelopment = parsed.text("url") === undefined && parsed.text("host") === undefined;
  return {
    project: isDevelopment ? { root, agents: agents.map(({ id, className }) => ({ id, className })) } : undefined,
    named: namedOf(parsed, origin),
    agent: segment,
    agents: segment === undefined || offered.includes(segment) ? offered : [segment, ...offered],
    instance,
    port: wholeNumber(parsed, "port", { fallback: STUDIO_PORT, highest: HIGHEST_PORT }),
    canWrite: parsed.flag("write") ?? false,
    target: {
      origin,
      prefix: routePrefixSegments(parsed, manifest),
      token: parsed.text("token") ?? environment[INSPECTION_VARIABLE],
      query: queryOf(parsed)
    }
  };
}
