// `everthink approve --all`: what waits over all agents of a project, and a decision over one of them. Which agents wait is known
// from their files, or was named; what they wait for they are asked as `approve` asks one.
import { resolve } from "node:path";
import { developedAgents, type WaitingAgents } from "../../framework/local-data/waiting-agents.ts";
import { namedAgents } from "../../framework/studio/named-agents.ts";
import type { RoutedManifest } from "../../framework/server-entry/agent-path.ts";
import { errorMessage } from "../../util/errors.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { usageError, type ParsedArguments } from "../command-line.ts";
import { connectClient, localManifest, usualOrigin } from "../connect.ts";
import { requireProject } from "../load-project.ts";
import { printable } from "../message-text.ts";
import { addressTarget, connectionWords, DEFAULT_ORIGIN, originOf, shellWord, type AgentTarget } from "../target.ts";
import { namedOf } from "../waiting.ts";
import { decide, lineOf, listWaiting, type Waiting } from "./approve.ts";

/** Agents that are asked: those that have waited longest. */
const MAX_ASKED = 100;
/** At one time. */
const MAX_CONCURRENT = 8;

interface Asked {
  /** `<agent>/<instance>`, and for a sub-agent what follows it. */
  readonly at: string;
  readonly target: AgentTarget;
  readonly waiting: readonly Waiting[];
  /** Why it could not be asked. */
  readonly error?: string;
}

export async function approveAll(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const [id, ...more] = parsed.positionals;
  if (more.length > 0 || parsed.text("instance") !== undefined)
    throw usageError(parsed.name, "--all takes the id of a question, and no agent: --at names one.");
  const manifest = localManifest(parsed, context);
  const { agents, unread } = await findWaiting(parsed, context, manifest);
  // Where none waits, no server is needed.
  const usual = agents.length === 0 ? DEFAULT_ORIGIN : usualOrigin(parsed, context);
  const targetOf = (at: string) => addressTarget(parsed, manifest, { at, usual });
  const asked = await askEach(agents.slice(0, MAX_ASKED), targetOf, context);
  noteLeftOut(asked, { more: agents.length - asked.length, unread }, context);
  const found = asked.flatMap(({ waiting, ...of }) => waiting.map((one) => ({ ...of, one })));
  if (id === undefined) {
    print(found, parsed, context);
    return 0;
  }
  const [first, second] = found.filter(({ one }) => one.id === id);
  if (!first) throw new CommandError(`${id} does not wait for an approval.`, `What waits: ${commandOf(parsed)}`);
  if (second) {
    const places = `${first.at} and ${second.at}`;
    throw new CommandError(printable(`${id} waits in ${places}.`), `Which one? ${commandOf(parsed, first.at, id)}`);
  }
  const client = await connectClient(first.target, context);
  try {
    await decide(client, { asked: first.one, parsed, print: context.print });
  } finally {
    client.close();
  }
  return 0;
}

async function findWaiting(
  parsed: ParsedArguments,
  { cwd }: CliContext,
  manifest: RoutedManifest
): Promise<WaitingAgents> {
  const named = namedOf(parsed, originOf(parsed));
  if (named) return namedAgents({ ...named, token: parsed.text("token") });
  // Another server than everthink dev keeps its objects elsewhere.
  if (parsed.text("url") !== undefined || parsed.text("host") !== undefined)
    throw usageError(
      parsed.name,
      "Which agents of that server? --at names one, --waiting-list an address that lists them."
    );
  const root = resolve(cwd, parsed.text("root") ?? ".");
  requireProject(root);
  const agents = manifest.agents.filter(({ kind }) => kind === "top-level");
  return developedAgents(root, agents).waiting();
}

/** In the order of the agents. */
async function askEach(
  agents: WaitingAgents["agents"],
  targetOf: (at: string) => AgentTarget,
  context: CliContext
): Promise<Asked[]> {
  const asked: Asked[] = [];
  const queue = agents.entries();
  const work = async () => {
    for (const [index, { at }] of queue) asked[index] = await askOne(at, targetOf(at), context);
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
  return asked;
}

async function askOne(at: string, target: AgentTarget, context: CliContext): Promise<Asked> {
  try {
    const client = await connectClient(target, context);
    try {
      return { at, target, waiting: await listWaiting(client) };
    } finally {
      client.close();
    }
  } catch (error) {
    return { at, target, waiting: [], error: errorMessage(error) };
  }
}

function noteLeftOut(
  asked: readonly Asked[],
  { more, unread }: { readonly more: number; readonly unread: number },
  { note }: CliContext
): void {
  for (const { at, error } of asked) if (error !== undefined) note(printable(`${at} could not be asked: ${error}`));
  if (more > 0) note(`${more} more agents wait that were not asked.`);
  if (unread > 0) note(`Of ${unread} more it is not known whether they wait.`);
}

function print(
  found: readonly { readonly at: string; readonly one: Waiting }[],
  parsed: ParsedArguments,
  context: CliContext
): void {
  if (parsed.flag("json")) {
    const rows = found.map(({ at, one: { question: _question, ...row } }) => ({ at, ...row }));
    return context.print(JSON.stringify(rows, null, 2));
  }
  const lines = found.map(({ at, one }) => `${at}  ${lineOf(one)}`);
  context.print(lines.length === 0 ? "Nothing waits for an approval." : printable(lines.join("\n")));
}

function commandOf(parsed: ParsedArguments, at?: string, id?: string): string {
  const place = at === undefined ? "" : ` --at ${shellWord(at)}`;
  return `everthink approve --all${id === undefined ? "" : ` ${shellWord(id)}`}${place}${connectionWords(parsed)}`;
}
