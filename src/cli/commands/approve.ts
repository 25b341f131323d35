// `everthink approve`: decides over what an agent waits for.
import { CommandError, type CliContext } from "../cli-context.ts";
import type { ParsedArguments } from "../command-line.ts";
import { connectClient, targetOf } from "../connect.ts";
import { printable, shortJson } from "../message-text.ts";
import type { ThinkClient } from "../../client/index.ts";
import { errorMessage } from "../../util/errors.ts";

export async function runApprove(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const [agent, id] = parsed.positionals;
  const instance = parsed.text("instance");
  const positionals = [...(agent === undefined ? [] : [agent]), ...(instance === undefined ? [] : [instance])];
  const client = await connectClient(targetOf({ ...parsed, positionals }, context), context);
  try {
    const waiting = await whatWaits(client);
    if (id === undefined) {
      context.print(parsed.flag("json") ? JSON.stringify(waiting, null, 2) : listed(waiting));
      return 0;
    }
    if (!waiting.some((one) => one.id === id)) {
      const place = instance === undefined ? "" : ` --instance ${instance}`;
      throw new CommandError(`${id} does not wait for an approval.`, `What waits: everthink approve ${agent}${place}`);
    }
    const isApproved = !parsed.flag("reject");
    const output = await (isApproved ? client.approve(id) : client.reject(id, parsed.text("reason"))).catch(
      (error: unknown) => {
        throw new CommandError(printable(`${id} was not decided: ${errorMessage(error)}`));
      }
    );
    if (parsed.flag("json")) context.print(JSON.stringify({ id, approved: isApproved, output: output ?? null }));
    else {
      const result = output === undefined ? "" : `: ${shortJson(output)}`;
      context.print(`${id} ${isApproved ? "approved" : "rejected"}${result}`);
    }
    return 0;
  } finally {
    client.close();
  }
}

interface Waiting {
  readonly id: string;
  readonly action: string;
  readonly input: unknown;
}

/** Calls of the conversation, and parked actions that are not in sight any more. */
async function whatWaits(client: ThinkClient): Promise<Waiting[]> {
  const shown = client.getSnapshot().pendingApprovals.map(({ callId, executionId, toolName, input }) => ({
    id: executionId ?? callId,
    action: toolName,
    input
  }));
  // A class of its own may have no such method.
  const parked: unknown = await client.call("pendingApprovals" as never, [] as never).catch(() => []);
  const rows = (Array.isArray(parked) ? parked : []).map((row: object) => ({
    id: String(Reflect.get(row, "executionId")),
    action: String(Reflect.get(row, "action")),
    input: Reflect.get(row, "input") as unknown
  }));
  return [...shown, ...rows.filter(({ id }) => !shown.some((one) => one.id === id))];
}

function listed(waiting: readonly Waiting[]): string {
  if (waiting.length === 0) return "Nothing waits for an approval.";
  return printable(waiting.map(({ id, action, input }) => `${id}  ${action} ${shortJson(input)}`).join("\n"));
}
