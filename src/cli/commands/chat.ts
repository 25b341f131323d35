// `everthink chat`: a conversation in the terminal. The agent keeps the turn: leaving, a lost connection or a crash of the
// server interrupt the view only, and the next `chat` shows the rest.
import type { ThinkClient } from "../../client/index.ts";
import { questionId } from "../question-id.ts";
import { AnswerPrinter } from "../answer-printer.ts";
import { converse } from "../chat/converse.ts";
import { question } from "../chat/question.ts";
import { modelLabel } from "../chat/model-label.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { wholeNumber, type ParsedArguments } from "../command-line.ts";
import { connectClient, targetOf } from "../connect.ts";
import { printable } from "../message-text.ts";
import { withProgress } from "../progress.ts";
import { sayPauses } from "../pause-notice.ts";
import { connectionWords, shellWord, targetUrl } from "../target.ts";
import { settled } from "../turn-end.ts";

const DEFAULT_HISTORY = 4;
const PARKED = 2;

export async function runChat(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const isJson = parsed.flag("json") ?? false;
  const given = parsed.text("message");
  const terminal = given === undefined && !isJson ? context.terminal : undefined;
  const history = wholeNumber(parsed, "history", { fallback: DEFAULT_HISTORY });
  const target = targetOf(parsed, context);
  // A pipe that stays open is waited for: a line says what for.
  const read = () =>
    withProgress("Reading the message from standard input (or give --message)", context, readAll(process.stdin));
  const message = terminal ? "" : (given ?? (await read())).trim();
  if (!terminal && message === "") throw new CommandError("There is no message.", 'Give one: --message "Hello"');
  const client = await connectClient(target, context);
  try {
    await settled(client);
    const [agent = "", instance = "default"] = parsed.positionals;
    if (terminal)
      return await converse(client, terminal, {
        title: `${agent} ${instance}`,
        history,
        signal: context.signal,
        model: () => modelLabel(targetUrl(target), target.query)
      });
    const decideWith = (id: string) =>
      `everthink approve ${shellWord(agent)} ${shellWord(id)} --instance ${shellWord(instance)}${connectionWords(parsed)}`;
    return await sendOnce(client, message, { context, isJson, decideWith });
  } finally {
    client.close();
  }
}

async function sendOnce(
  client: ThinkClient,
  message: string,
  { context, isJson, decideWith }: { context: CliContext; isJson: boolean; decideWith: (id: string) => string }
): Promise<number> {
  const printer = new AnswerPrinter(context.stream);
  printer.skip(client.getSnapshot().messages);
  const leave = isJson ? () => {} : client.subscribe(() => printer.show(client.getSnapshot().messages));
  const leaveSilence = sayPauses(client, (line) => context.note(line));
  const stop = () => void client.stop();
  context.signal.addEventListener("abort", stop, { once: true });
  const { outcome, error } = await client.send(message);
  await settled(client);
  context.signal.removeEventListener("abort", stop);
  leave();
  leaveSilence();
  const { pendingApprovals, messages } = client.getSnapshot();
  if (isJson) {
    const text =
      messages
        .at(-1)
        ?.parts.map((part) => (part.type === "text" ? part.text : ""))
        .join("") ?? "";
    context.print(JSON.stringify({ outcome, error: error ?? null, text, pendingApprovals, messages }, null, 2));
  } else {
    printer.show(messages);
    printer.endLine();
    if (error !== undefined) context.note(printable(`The turn failed: ${error}`));
    for (const waiting of pendingApprovals) {
      context.note(printable(`${question(waiting)}\nDecide: ${decideWith(questionId(waiting))}`));
    }
  }
  if (pendingApprovals.length > 0) return PARKED;
  return outcome === "completed" ? 0 : 1;
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  if (stream.isTTY) return "";
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}
