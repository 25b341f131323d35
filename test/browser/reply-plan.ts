// What the model of the browser tests answers, decided from the prompt alone: the last user text says which behaviour
// is wanted, and tool results behind it mean that its calls have been answered. Pure.

/** The part of a prompt that decides. Prompts of the AI SDK fit. */
export interface PromptMessage {
  readonly role: string;
  readonly content: string | readonly PromptPart[];
}

type PromptPart = { readonly type: string };

export interface PlannedCall {
  readonly toolName: string;
  readonly input: Record<string, unknown>;
}

export interface Plan {
  readonly reasoning?: string;
  readonly words: readonly string[];
  /** Each word waits for the test. */
  readonly isGated?: boolean;
  readonly calls?: readonly PlannedCall[];
  /** Ends the stream with this error, after the words. */
  readonly failure?: string;
  /** No stream at all: the call itself fails. */
  readonly refusal?: string;
}

export const SLOW_WORDS = ["one ", "two ", "three ", "four ", "five ", "six"];
export const FAILURE = "The model broke down.";
/** What the agent makes of it for its users. */
export const SHOWN_FAILURE = "Something went wrong. Please try again.";
const LONG_WORDS = 400;

/** How a model is asked to go on with an answer that was cut off. */
const CONTINUE = /^Continue your previous response/;

export function planReply(prompt: readonly PromptMessage[], answerNumber: number): Plan {
  if (!CONTINUE.test(textOf(prompt.at(-1)))) return planAnswer(prompt, answerNumber);
  // The words that are already said are not said again.
  const said = textOf(prompt.at(-2));
  const plan = planAnswer(prompt.slice(0, -2), answerNumber);
  const words = plan.words.filter((_word, index) => plan.words.slice(0, index + 1).join("").length > said.length);
  return { ...plan, words };
}

function planAnswer(prompt: readonly PromptMessage[], answerNumber: number): Plan {
  const asked = prompt.findLastIndex(({ role }) => role === "user");
  const text = textOf(prompt[asked]).trim();
  const results = prompt.slice(asked + 1).filter(({ role }) => role === "tool");
  if (results.length > 0) {
    const words = ["The ", "tools ", "said ", `this: ${results.map(outcomeOf).join(", ")}.`];
    return { words, isGated: text === "slow tool" };
  }
  switch (text) {
    case "slow":
      return { words: SLOW_WORDS, isGated: true };
    case "slow tool":
      return { words: ["Asking ", "it. "], isGated: true, calls: [call("browserName")] };
    case "ponder":
      return { reasoning: "Let me see.", words: ["I ", "see."] };
    case "sum":
      return { words: ["Adding. "], calls: [{ toolName: "add", input: { left: 2, right: 3 } }] };
    case "slow sum":
      return { words: ["Adding ", "it. "], isGated: true, calls: [{ toolName: "add", input: { left: 2, right: 3 } }] };
    case "tool":
      return { words: ["Looking. "], calls: [call("browserName")] };
    case "own tool":
      return { words: [], calls: [call("pageWidth")] };
    case "two tools":
      return { words: [], calls: [call("browserName"), call("pageTitle")] };
    case "approve":
      return { words: [], calls: [{ toolName: "sendMail", input: { to: "ada@example.com" } }] };
    case "fail":
      return { words: ["Before ", "the ", "end"], failure: FAILURE };
    case "refuse":
      return { words: [], refusal: FAILURE };
    case "long":
      return { words: Array.from({ length: LONG_WORDS }, (_, index) => `word${index} `) };
    default:
      return { words: ["You ", "said: ", text, ` (answer ${answerNumber})`] };
  }
}

function call(toolName: string): PlannedCall {
  return { toolName, input: { detail: "short" } };
}

function textOf(message: PromptMessage | undefined): string {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => ("text" in part && typeof part.text === "string" ? part.text : "")).join("");
}

function outcomeOf({ content }: PromptMessage): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => ("output" in part ? [JSON.stringify(part.output)] : [])).join(", ");
}
