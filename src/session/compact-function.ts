// The usual way to compact: the first messages and the newest ones stay, what is between becomes a summary that a model
// writes. A second run updates the first summary instead of summarizing it again. More than fits into one question is
// given in several, each updating the summary so far.
import {
  alignBoundaryBackward,
  alignBoundaryForward,
  findTailCutByTokens,
  firstOpenCall
} from "./compaction-boundary.ts";
import { chunksOf, summaryBudget, summaryPrompt } from "./compact-function-prompt.ts";
import { sessionErrors } from "./errors.ts";
import { isCompactionMessage, type SessionMessage } from "./session-message.ts";
import { checkedCount, estimateMessageTokens, estimateStringTokens, type SessionTokenCounter } from "./tokens.ts";

/** What a compaction function decided: the summary stands for the messages from one to another. */
export interface CompactResult {
  readonly fromMessageId: string;
  readonly toMessageId: string;
  readonly summary: string;
}

/** Asks a model for a summary. */
export type Summarize = (prompt: string) => Promise<string>;

export interface CompactContext {
  /** The agent's own model, each call of which counts for its budgets. */
  readonly summarize?: Summarize;
  /** The session's own counter, if it has one. */
  readonly tokenCounter?: SessionTokenCounter;
  /** How many tokens the provider counts for this history, when that is known. */
  readonly tokenEstimate?: number;
}

/** `null`: nothing worth a summary. */
export type CompactFunction = (
  messages: SessionMessage[],
  context?: CompactContext
) => Promise<CompactResult | null> | CompactResult | null;

export interface CompactOptions {
  /** Asks a model. Default: the agent's own, whose calls count for its budgets. */
  readonly summarize?: Summarize;
  /** Messages at the start that stay. Default 3. */
  readonly protectHead?: number;
  /** Newest messages that stay, by tokens. Default 20,000. */
  readonly tailTokenBudget?: number;
  /** Newest messages that stay, whatever their size. Default 2. */
  readonly minTailMessages?: number;
  /** What is shown to the summarizing model at once. Default 100,000. */
  readonly maxSummaryInputTokens?: number;
  /** Default: the session's counter, else an estimate. */
  readonly tokenCounter?: (messages: SessionMessage[]) => number | Promise<number>;
}

const PROTECT_HEAD = 3;
const TAIL_TOKEN_BUDGET = 20_000;
const MIN_TAIL_MESSAGES = 2;
const MAX_SUMMARY_INPUT_TOKENS = 100_000;
/** Questions per compaction. What is left after them is for the next one. */
export const MAX_SUMMARY_STEPS = 32;

/**
 * @example
 * session.onCompaction(createCompactFunction()).compactAfter(100_000);
 */
export function createCompactFunction(
  options: CompactOptions = {}
): (messages: readonly SessionMessage[], context?: CompactContext) => Promise<CompactResult | null> {
  return async (messages, context = {}) => {
    const { start, end } = await rangeOf(messages, options, context);
    const range = messages.slice(start, end);
    const middle = range.filter((message) => !isCompactionMessage(message));
    if (middle.length === 0) return null;
    const previous = messages.slice(0, end).filter(isCompactionMessage).map(textOf).join("\n\n");
    const summarize = options.summarize ?? context.summarize;
    if (!summarize) throw sessionErrors.NoSummarizerError();
    const written = await summarizeInSteps(middle, previous === "" ? null : previous, { ...options, summarize });
    const [first, last] = [middle[0], written && middle[written.complete - 1]];
    if (!written || !first || !last) return null;
    return { fromMessageId: first.id, toMessageId: last.id, summary: written.summary };
  };
}

/** The messages between head and tail; an empty range if there is nothing between them. */
async function rangeOf(
  messages: readonly SessionMessage[],
  options: CompactOptions,
  context: CompactContext
): Promise<{ start: number; end: number }> {
  const { protectHead = PROTECT_HEAD, minTailMessages = MIN_TAIL_MESSAGES } = options;
  const nothing = { start: 0, end: 0 };
  if (messages.length <= protectHead + minTailMessages) return nothing;
  // What follows an earlier summary belongs to the next one: a gap between two would be hidden without a summary.
  const summary = messages.findIndex(isCompactionMessage);
  const head = summary === -1 ? protectHead : Math.min(protectHead, summary);
  const start = alignBoundaryForward(messages, head);
  const counts = await countAll(messages, options, context);
  const tail = findTailCutByTokens(messages, {
    headEnd: start,
    tailTokenBudget: options.tailTokenBudget ?? TAIL_TOKEN_BUDGET,
    minTailMessages,
    countTokens: (_message, index) => counts[index] ?? 0
  });
  const end = Math.min(tail, alignBoundaryBackward(messages, firstOpenCall(messages, start)));
  return end <= start ? nothing : { start, end };
}

/** Tokens of each message: its share of what the provider counted, if that is more than we count. */
async function countAll(
  messages: readonly SessionMessage[],
  options: CompactOptions,
  { tokenCounter, tokenEstimate = 0 }: CompactContext
): Promise<number[]> {
  const counts: number[] = [];
  for (const message of messages) {
    const own = options.tokenCounter?.([message]);
    const session = tokenCounter?.({ messages: [message], systemPrompt: "", contextBlocks: [] });
    counts.push(checkedCount(await (own ?? session ?? estimateMessageTokens(message))));
  }
  const sum = counts.reduce((total, count) => total + count, 0);
  const share = sum > 0 ? Math.max(1, tokenEstimate / sum) : 1;
  return counts.map((count) => count * share);
}

async function summarizeInSteps(
  middle: readonly SessionMessage[],
  previous: string | null,
  { summarize, maxSummaryInputTokens = MAX_SUMMARY_INPUT_TOKENS }: CompactOptions & { readonly summarize: Summarize }
): Promise<{ summary: string; complete: number } | null> {
  const budget = summaryBudget(estimateMessageTokens(middle));
  // While it grows from step to step, the summary may take as much of a question as it is asked to have.
  const previousTokens = Math.max(estimateStringTokens(previous ?? ""), Math.min(budget, maxSummaryInputTokens / 2));
  const chunks = chunksOf(middle, maxSummaryInputTokens, previousTokens).slice(0, MAX_SUMMARY_STEPS);
  let summary = previous;
  let complete = 0;
  for (const chunk of chunks) {
    const next = await summarize(summaryPrompt(chunk.excerpt, summary, budget));
    if (next.trim() === "") return null;
    summary = next.trim();
    complete = chunk.complete;
  }
  return summary === null || complete === 0 ? null : { summary, complete };
}

function textOf(message: SessionMessage): string {
  return message.parts.map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("\n");
}
