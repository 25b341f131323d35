// `everthink chat`: a conversation in the terminal. The agent keeps the turn: leaving, a lost connection or a crash of the
// server interrupt the view only, and the next `chat` shows the rest.
import { createInterface, type Interface } from "node:readline/promises";
import { styleText } from "node:util";
import type { ThinkClient, WaitingApproval } from "../../client/index.ts";
import { showTitle } from "../../features/messengers/approval-input.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { questionId } from "../question-id.ts";
import { AnswerPrinter, type Paint } from "../answer-printer.ts";
import { CommandError, type CliContext, type CliTerminal } from "../cli-context.ts";
import { wholeNumber, type ParsedArguments } from "../command-line.ts";
import { connectClient, targetOf } from "../connect.ts";
import { messageText, printable, wholeJson } from "../message-text.ts";
import { withProgress } from "../progress.ts";
import { sayPauses } from "../pause-notice.ts";
import { connectionWords, shellWord, targetUrl } from "../target.ts";
import { decided, isBusy, settled } from "../turn-end.ts";
import { helpText, lastQuestion, modelLabel, readSlashCommand, unknownText } from "./chat-commands.ts";

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

type ChatClient = Pick<
  ThinkClient,
  "getSnapshot" | "subscribe" | "send" | "stop" | "approve" | "reject" | "clear" | "edit"
>;

export interface Talk {
  readonly title: string;
  readonly history: number;
  /** Which model answers, as far as the server says. */
  model?(): Promise<string | undefined>;
}

/** Until the user leaves. */
export async function converse(
  client: ChatClient,
  { input, output, hasColors }: CliTerminal,
  talk: Talk
): Promise<number> {
  const { title, history } = talk;
  const paint: Paint = (format, text) => (hasColors ? styleText(format, text, { validateStream: false }) : text);
  // Through readline: Ctrl-C is then a key, which stops the answer and not the command.
  const lines = createInterface({ input, output, terminal: true });
  const write = (text: string) => void output.write(text);
  const printer = new AnswerPrinter(write, paint);
  const terminal: Conversation = { write, lines, printer, paint };
  const { messages } = client.getSnapshot();
  write(`${paint("dim", printable(`${title} (Ctrl-C leaves, /help lists commands)`))}\n`);
  for (const message of messages.slice(messages.length - Math.min(history, messages.length))) {
    write(`${messageText(message)}\n`);
  }
  printer.skip(messages);
  const leave = client.subscribe(() => printer.show(client.getSnapshot().messages));
  const leaveSilence = sayPauses(client, (line) => {
    printer.endLine();
    write(`${paint("dim", line)}\n`);
  });
  const stopOrLeave = () => (isBusy(client) ? void client.stop() : lines.close());
  lines.on("SIGINT", stopOrLeave);
  try {
    if (isBusy(client)) await follow(client, terminal);
    else await decide(client, terminal);
    await talkOn(client, terminal, talk);
    return 0;
  } finally {
    leave();
    leaveSilence();
    lines.close();
  }
}

/** What is typed, until the user leaves. */
async function talkOn(client: ChatClient, terminal: Conversation, talk: Talk): Promise<void> {
  /** The question that the next message takes the place of. */
  let undone: string | undefined;
  for (;;) {
    const text = await ask(terminal.lines, terminal.paint("green", "> "));
    if (text === undefined) return;
    if (text.trim() === "") continue;
    const command = readSlashCommand(text);
    if (command === "/exit") return;
    if (command === "/undo") undone = takeBack(client, terminal);
    else if (command !== undefined) await runSlashCommand(command, { client, terminal, talk });
    else {
      await (undone === undefined ? client.send(text) : client.edit(undone, text));
      undone = undefined;
      await follow(client, terminal);
    }
  }
}

interface Talking {
  readonly client: ChatClient;
  readonly terminal: Conversation;
  readonly talk: Talk;
}

function takeBack(client: ChatClient, { write, paint }: Conversation): string | undefined {
  const last = lastQuestion(client.getSnapshot().messages);
  const said =
    last === undefined ? "There is no question yet." : `Taken back: ${last.text}\nType what you want instead.`;
  write(`${paint("dim", printable(said))}\n`);
  return last?.id;
}

async function runSlashCommand(
  command: Exclude<ReturnType<typeof readSlashCommand>, undefined | "/undo" | "/exit">,
  { client, terminal, talk }: Talking
): Promise<void> {
  const say = (text: string) => terminal.write(`${terminal.paint("dim", text)}\n`);
  if (typeof command === "object") return say(unknownText(command.unknown));
  if (command === "/help") return say(helpText());
  if (command === "/model") return say((await talk.model?.()) ?? "The server does not say which model answers.");
  if (command === "/approve") {
    if (client.getSnapshot().pendingApprovals.length === 0) say("Nothing waits for your approval.");
    return decide(client, terminal);
  }
  const answer = await ask(terminal.lines, terminal.paint("yellow", "Delete what was said? [y/N] "));
  if (!/^y(es)?$/i.test(answer?.trim() ?? "")) return;
  await client.clear();
  say("A new conversation.");
}

interface Conversation {
  write(text: string): void;
  readonly lines: Interface;
  readonly printer: AnswerPrinter;
  readonly paint: Paint;
}

/** To the end of the answer, with the questions it has. */
async function follow(client: ChatClient, terminal: Conversation): Promise<void> {
  await settled(client);
  terminal.printer.show(client.getSnapshot().messages);
  terminal.printer.endLine();
  const { error } = client.getSnapshot();
  if (error !== undefined) terminal.write(printable(`The turn failed: ${error}\n`));
  await decide(client, terminal);
}

async function decide(client: ChatClient, terminal: Conversation): Promise<void> {
  for (const waiting of client.getSnapshot().pendingApprovals) {
    terminal.write(`${question(waiting)}\n`);
    const answer = await ask(terminal.lines, terminal.paint("yellow", "Approve? [y/N] "));
    if (answer === undefined) return;
    const isApproved = /^y(es)?$/i.test(answer.trim());
    const decision = () => (isApproved ? client.approve(waiting) : client.reject(waiting));
    await decided(client, decision).catch((error: unknown) => {
      terminal.write(printable(`It was not decided: ${errorMessage(error)}\n`));
    });
    await follow(client, terminal);
    return;
  }
}

/** Of code that waits, the call inside of it. */
function question({ toolName, input, descriptor, mayHaveRun }: WaitingApproval): string {
  const said: Record<string, unknown> = isObject(descriptor) ? descriptor : {};
  const { action = toolName, summary = "" } = said;
  const given = typeof summary === "string" && summary !== "" ? `│ ${showTitle(summary)}\n` : "";
  const end = mayHaveRun
    ? "was begun before, and may have run: approve it only if it did not"
    : "waits for your approval";
  return printable(`┌ ${String(action)} ${wholeJson(said["input"] ?? input)}\n${given}└ ${end}`);
}

/** Undefined when the terminal is gone. */
async function ask(lines: Interface, prompt: string): Promise<string | undefined> {
  const closed = new Promise<undefined>((end) => lines.once("close", () => end(undefined)));
  return Promise.race([lines.question(prompt).catch(() => undefined), closed]);
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  if (stream.isTTY) return "";
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}
