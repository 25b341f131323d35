// `everthink approve`: decides over what an agent waits for.
import { questionId } from "../question-id.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { usageError, type ParsedArguments } from "../command-line.ts";
import { connectClient, targetOf } from "../connect.ts";
import { printable, shortJson, wholeJson } from "../message-text.ts";
import { connectionWords, shellWord } from "../target.ts";
import type { DecidedQuestion, ThinkClient } from "../../client/index.ts";
import type { ApprovalVotes, Escalation, PendingApproval } from "../../feature/approval-contract.ts";
import { errorMessage } from "../../util/errors.ts";

export async function runApprove(parsed: ParsedArguments, context: CliContext): Promise<number> {
  if (parsed.flag("all")) return (await import("./approve-all.ts")).approveAll(parsed, context);
  if (parsed.list("at").length > 0 || parsed.text("waiting-list") !== undefined)
    throw usageError(parsed.name, "--at and --waiting-list are for --all.");
  const [agent] = parsed.positionals;
  const instance = parsed.text("instance");
  const positionals = [...(agent === undefined ? [] : [agent]), ...(instance === undefined ? [] : [instance])];
  const client = await connectClient(targetOf({ ...parsed, positionals }, context), context);
  try {
    await listOrDecide(client, parsed, context);
    return 0;
  } finally {
    client.close();
  }
}

/** Throws CommandError if nothing was decided. */
export async function listOrDecide(
  client: ThinkClient,
  parsed: Pick<ParsedArguments, "positionals" | "flag" | "text" | "list">,
  { print }: Pick<CliContext, "print">
): Promise<void> {
  const [agent, id] = parsed.positionals;
  const waiting = await listWaiting(client);
  if (id === undefined) {
    const rows = waiting.map(({ question: _question, ...row }) => row);
    return print(parsed.flag("json") ? JSON.stringify(rows, null, 2) : listed(waiting));
  }
  const asked = waiting.find((one) => one.id === id);
  if (!asked) {
    const instance = parsed.text("instance");
    const place = instance === undefined ? "" : ` --instance ${shellWord(instance)}`;
    const list = `everthink approve ${shellWord(agent ?? "")}${place}${connectionWords(parsed)}`;
    throw new CommandError(`${id} does not wait for an approval.`, `What waits: ${list}`);
  }
  await decide(client, { asked, parsed, print });
}

interface Deciding {
  readonly asked: Waiting;
  readonly parsed: Pick<ParsedArguments, "flag" | "text">;
  readonly print: CliContext["print"];
}

/** Throws CommandError if nothing was decided. */
export async function decide(client: ThinkClient, { asked, parsed, print }: Deciding): Promise<void> {
  const isApproved = !parsed.flag("reject");
  const { id, question } = asked;
  const output = await (isApproved ? client.approve(question) : client.reject(question, parsed.text("reason"))).catch(
    (error: unknown) => notDecided(id, errorMessage(error))
  );
  if (isRefused(output, question.executionId)) notDecided(id, output.error);
  if (parsed.flag("json")) return print(JSON.stringify({ id, approved: isApproved, output: output ?? null }));
  if (isCounted(output))
    return print(`${id} waits for more approvals: ${output.votes.by.length} of ${output.votes.required}`);
  const result = output === undefined ? "" : `: ${shortJson(output)}`;
  print(`${id} ${isApproved ? "approved" : "rejected"}${result}`);
}

export interface Waiting {
  readonly id: string;
  readonly action: string;
  readonly input: unknown;
  readonly mayHaveRun?: true;
  readonly escalation?: Escalation;
  /** Given back with the decision. */
  readonly question: DecidedQuestion;
}

function notDecided(id: string, why: string): never {
  throw new CommandError(printable(`${id} was not decided: ${why}`));
}

function isRefused(output: unknown, id: string | undefined): output is { error: string } {
  if (typeof output !== "object" || output === null) return false;
  return Reflect.get(output, "status") === "error" && Reflect.get(output, "executionId") === id;
}

/** Several people must approve it. */
function isCounted(output: unknown): output is { readonly votes: ApprovalVotes } {
  return (
    typeof output === "object" && output !== null && Reflect.get(output, "status") === "waiting" && "votes" in output
  );
}

/** Calls of the conversation, and parked actions that are not in sight any more. */
export async function listWaiting(client: ThinkClient): Promise<Waiting[]> {
  const shown = client
    .getSnapshot()
    .pendingApprovals.map(({ toolName, input, descriptor, ...question }) =>
      waitingOf({ descriptor, question, otherwise: { action: toolName, input } })
    );
  // A class of its own may have no such method.
  const parked: unknown = await client.call("pendingApprovals" as never, [] as never).catch(() => []);
  const rows = (Array.isArray(parked) ? parked : []).map(
    ({ descriptor, escalation, ...question }: PendingApproval) => ({
      ...waitingOf({ descriptor, question, otherwise: { action: "", input: undefined } }),
      ...(escalation && { escalation })
    })
  );
  const listed = new Map(rows.map((row) => [row.id, row]));
  return [
    // Messages do not have what the agent knows of the time.
    ...shown.map((one) => ({ ...one, ...pick(listed.get(one.id)) })),
    ...rows.filter(({ id }) => !shown.some((one) => one.id === id))
  ];
}

function pick(row: Waiting | undefined): Pick<Waiting, "escalation"> {
  return row?.escalation ? { escalation: row.escalation } : {};
}

/** Of code that waits, the call inside of it. */
function waitingOf({ descriptor, question, otherwise }: Described): Waiting {
  const { mayHaveRun } = question;
  const action = fieldOf(descriptor, "action");
  return {
    id: questionId(question),
    action: typeof action === "string" ? action : otherwise.action,
    input: fieldOf(descriptor, "input") ?? otherwise.input,
    ...(mayHaveRun && { mayHaveRun }),
    question
  };
}

interface Described {
  readonly descriptor: unknown;
  readonly question: DecidedQuestion;
  readonly otherwise: Pick<Waiting, "action" | "input">;
}

function fieldOf(descriptor: unknown, name: string): unknown {
  return typeof descriptor === "object" && descriptor !== null ? Reflect.get(descriptor, name) : undefined;
}

function listed(waiting: readonly Waiting[]): string {
  if (waiting.length === 0) return "Nothing waits for an approval.";
  return printable(waiting.map(lineOf).join("\n"));
}

export function lineOf({ id, action, input, mayHaveRun, escalation }: Waiting): string {
  return `${id}  ${action} ${wholeJson(input)}${mayHaveRun ? "  (was begun before, and may have run)" : ""}${escalated(escalation)}`;
}

function escalated({ isReached, to }: Partial<Escalation> = {}): string {
  return isReached ? `  (escalated: ${to?.join(", ") || "others"} may decide, too)` : "";
}
