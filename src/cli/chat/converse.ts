// A conversation at a terminal. The prompt is there all the time: what is typed while an answer runs steers it. What is asked
// of the user takes the prompt, and what was half typed comes back afterwards.
import type { ClientReceipt, ThinkClient } from "../../client/index.ts";
import { errorMessage } from "../../util/errors.ts";
import type { CliTerminal } from "../cli-context.ts";
import { messageText, printable } from "../message-text.ts";
import { sayPauses } from "../pause-notice.ts";
import { AnswerView } from "../terminal/answer-view.ts";
import { TerminalScreen } from "../terminal/screen.ts";
import { wrapSpans } from "../terminal/styled-text.ts";
import { decided, isBusy } from "../turn-end.ts";
import { question } from "./question.ts";
import { leftQueue, oneLine, queueLines, receiptText } from "./receipt-text.ts";
import {
  helpLines,
  lastQuestion,
  readPlace,
  readSlashCommand,
  unknownText,
  wordsOf,
  type SlashCommand
} from "./slash-commands.ts";

export type ChatClient = Pick<
  ThinkClient,
  | "getSnapshot"
  | "subscribe"
  | "send"
  | "stop"
  | "approve"
  | "reject"
  | "clear"
  | "edit"
  | "steer"
  | "followUp"
  | "editQueued"
  | "withdraw"
>;

export interface Talk {
  readonly title: string;
  readonly history: number;
  /** Ends it. */
  readonly signal?: AbortSignal;
  /** Which model answers, as far as the server says. */
  model?(): Promise<string | undefined>;
}

const PROMPT = "> ";
const STEER_HINT = "Enter steers, Alt+Enter is for later, Ctrl-C stops";

/** Until the user leaves. */
export async function converse(client: ChatClient, terminal: CliTerminal, talk: Talk): Promise<number> {
  const conversation = new Conversation(client, terminal, talk);
  await conversation.run();
  return 0;
}

interface Question {
  readonly prompt: string;
  /** Of an approval: the call that waits. */
  readonly callId?: string;
  answer(text: string): void;
}

class Conversation {
  readonly #client: ChatClient;
  readonly #talk: Talk;
  readonly #screen: TerminalScreen;
  readonly #view: AnswerView;
  readonly #left = Promise.withResolvers<void>();
  #question: Question | undefined;
  /** Half typed when a question took the prompt. */
  #draft = "";
  /** The question that the next message takes the place of. */
  #undone: string | undefined;
  #queued: readonly ClientReceipt[] = [];
  /** Taken back here; the user knows. */
  readonly #withdrawn = new Set<string>();
  #wasBusy = false;
  /** A decision or a message is on its way: what it leads to has not begun. */
  #isSending = false;

  constructor(client: ChatClient, terminal: CliTerminal, talk: Talk) {
    this.#client = client;
    this.#talk = talk;
    this.#screen = new TerminalScreen(terminal, {
      onLine: (text, isLater) => this.#entered(text, isLater),
      onInterrupt: (isEnd) => (isBusy(client) && !isEnd ? void client.stop() : this.#left.resolve())
    });
    const { hasColors } = terminal;
    const { paint } = this.#screen;
    this.#view = new AnswerView(() => ({ width: this.#screen.width, paint, isMarkdown: hasColors }));
  }

  async run(): Promise<void> {
    const { history, title, signal } = this.#talk;
    const { messages, queued } = this.#client.getSnapshot();
    this.#say(`${title} (Ctrl-C leaves, /help lists commands)`);
    const shown = messages.slice(messages.length - Math.min(history, messages.length));
    this.#screen.print(shown.flatMap((message) => messageText(message).split("\n")));
    this.#view.skip(messages);
    this.#queued = queued;
    const leave = this.#client.subscribe(() => this.#look());
    const leavePauses = sayPauses(this.#client, (line) => this.#say(line));
    const abort = () => this.#left.resolve();
    signal?.addEventListener("abort", abort, { once: true });
    this.#ask(undefined);
    this.#look();
    await this.#left.promise;
    signal?.removeEventListener("abort", abort);
    leave();
    leavePauses();
    this.#screen.close();
  }

  // ── What the agent says ──

  #look(): void {
    const { messages, queued } = this.#client.getSnapshot();
    const isRunning = isBusy(this.#client);
    const left = leftQueue(this.#queued, { queued, messages });
    this.#queued = queued;
    // What was said before a message that is read now comes before it.
    const { done, open } = this.#view.show(messages, isRunning && left.length === 0);
    this.#screen.show(done, isRunning ? [...open, this.#screen.paint("dim", this.#hint())] : open);
    for (const { receipt, isRead } of left) this.#sayLeft(receipt, isRead);
    if (this.#wasBusy && !isRunning) this.#ended();
    this.#wasBusy = isRunning;
    this.#askForApproval();
  }

  #hint(): string {
    const { length } = this.#queued;
    return length === 0 ? STEER_HINT : `${STEER_HINT}. ${length} ${length === 1 ? "waits" : "wait"}: /queue`;
  }

  #sayLeft({ id, kind, messages = [] }: ClientReceipt, isRead: boolean): void {
    if (this.#withdrawn.delete(id)) return;
    const state = !isRead ? "dropped" : kind === "steer" ? "applied" : "started";
    this.#say(`“${oneLine(wordsOf(messages))}” ${receiptText({ state })}`);
  }

  #ended(): void {
    const { error, messages } = this.#client.getSnapshot();
    this.#screen.show(this.#view.show(messages, false).done, []);
    if (error !== undefined) this.#print(`The turn failed: ${error}`);
  }

  /** The first call that waits; once it is decided, the next one. */
  #askForApproval(): void {
    const { pendingApprovals } = this.#client.getSnapshot();
    const asked = this.#question?.callId;
    // Decided elsewhere.
    if (asked !== undefined && !pendingApprovals.some(({ callId }) => callId === asked)) this.#ask(undefined);
    const [waiting] = pendingApprovals;
    if (waiting === undefined || this.#question !== undefined || isBusy(this.#client) || this.#isSending) return;
    this.#print(question(waiting));
    this.#ask({
      prompt: "Approve? [y/N] ",
      callId: waiting.callId,
      answer: (text) => {
        const decision = () => (isYes(text) ? this.#client.approve(waiting) : this.#client.reject(waiting));
        const failed = (error: unknown) => this.#print(`It was not decided: ${errorMessage(error)}`);
        this.#during(decided(this.#client, decision).catch(failed));
      }
    });
  }

  // ── What the user types ──

  #entered(text: string, isLater: boolean): void {
    const asked = this.#question;
    if (asked !== undefined) {
      this.#ask(undefined);
      return asked.answer(text);
    }
    if (text.trim() === "") return;
    const command = readSlashCommand(text);
    if (command === undefined) this.#message(text, isLater ? "follow-up" : "steer");
    else if ("unknown" in command) this.#say(unknownText(command.unknown));
    else void this.#command(command).catch((error: unknown) => this.#print(errorMessage(error)));
  }

  /** `kind` counts while an answer runs. */
  #message(text: string, kind: ClientReceipt["kind"]): void {
    if (isBusy(this.#client)) {
      const given = kind === "steer" ? this.#client.steer(text) : this.#client.followUp(text);
      given.then(
        (receipt) => this.#say(receiptText(receipt)),
        (error: unknown) => this.#print(`It was not taken: ${errorMessage(error)}`)
      );
      return;
    }
    const undone = this.#undone;
    this.#undone = undefined;
    this.#during(undone === undefined ? this.#client.send(text) : this.#client.edit(undone, text));
  }

  async #command({ name, rest }: SlashCommand): Promise<void> {
    switch (name) {
      case "/exit":
        return this.#left.resolve();
      case "/help":
        return helpLines().forEach((line) => this.#say(line));
      case "/model":
        return this.#say((await this.#talk.model?.()) ?? "The server does not say which model answers.");
      case "/undo":
        return this.#takeBack();
      case "/queue":
        return queueLines(this.#queued).forEach((line) => this.#say(line));
      case "/steer":
      case "/later":
        if (rest === "") return this.#say(`Say what: ${name} only the last three years`);
        return this.#message(rest, name === "/steer" ? "steer" : "follow-up");
      case "/edit":
      case "/withdraw":
        return this.#change(name, rest);
      case "/approve":
        if (this.#client.getSnapshot().pendingApprovals.length === 0) this.#say("Nothing waits for your approval.");
        return this.#askForApproval();
      case "/new":
        return this.#ask({ prompt: "Delete what was said? [y/N] ", answer: (text) => void this.#clear(text) });
    }
  }

  async #clear(answer: string): Promise<void> {
    if (!isYes(answer)) return;
    await this.#client.clear();
    this.#say("A new conversation.");
  }

  #takeBack(): void {
    const last = lastQuestion(this.#client.getSnapshot().messages);
    if (last === undefined) return this.#say("There is no question yet.");
    this.#undone = last.id;
    this.#say(`Taken back: ${last.text}\nType what you want instead.`);
  }

  async #change(name: "/edit" | "/withdraw", rest: string): Promise<void> {
    const given = readPlace(rest);
    const receipt = given === undefined ? undefined : this.#queued[given.place - 1];
    if (given === undefined || receipt === undefined) return this.#say(`Which one? /queue lists them: ${name} 1`);
    if (name === "/withdraw") {
      this.#withdrawn.add(receipt.id);
      return this.#say(receiptText(await this.#client.withdraw(receipt.id)));
    }
    const edit = async (text: string) => this.#say(receiptText(await this.#client.editQueued(receipt.id, text)));
    if (given.text !== "") return edit(given.text);
    const failed = (error: unknown) => this.#print(errorMessage(error));
    const answer = (text: string) => void (text.trim() === "" ? this.#say("Not changed.") : edit(text).catch(failed));
    this.#ask({ prompt: `Edit ${given.place}: `, answer });
    this.#screen.setLine(wordsOf(receipt.messages ?? []));
  }

  // ── The screen ──

  /** What it leads to is shown by the conversation; until then nothing is asked. */
  #during(work: Promise<unknown>): void {
    this.#isSending = true;
    const over = () => {
      this.#isSending = false;
      this.#look();
    };
    work.then(over, (error: unknown) => {
      this.#print(errorMessage(error));
      over();
    });
  }

  /** Undefined: the user may type what comes to mind. */
  #ask(asked: Question | undefined): void {
    const before = this.#question;
    if (asked === undefined && before !== undefined) this.#screen.setLine(this.#draft);
    if (asked !== undefined && before === undefined) {
      this.#draft = this.#screen.line;
      this.#screen.setLine("");
    }
    this.#question = asked;
    const { paint } = this.#screen;
    this.#screen.setPrompt(asked === undefined ? paint("green", PROMPT) : paint("yellow", asked.prompt));
  }

  #say(text: string): void {
    this.#print(text, ["dim"]);
  }

  #print(text: string, styles: readonly "dim"[] = []): void {
    const { width, paint } = this.#screen;
    this.#screen.print(wrapSpans([{ text: printable(text), styles }], { width, paint }));
  }
}

function isYes(text: string): boolean {
  return /^y(es)?$/i.test(text.trim());
}
