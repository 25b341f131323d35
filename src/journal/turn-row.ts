// How the history of a turn is stored. Most turns are alike: what is as usual is left out, and times are counted from the
// turn's end, so that a turn of one attempt takes a third of its history's text. Rows of earlier builds hold that text.
import { isObject, parseJson } from "../util/json.ts";
import type { AttemptSummary, TurnHistory } from "./history.ts";
import type { StepUsage } from "./records.ts";

/** In every row of this form. */
const FORM = 2;

/** What a row leaves out. */
const USUAL = {
  requestId: null,
  trigger: null,
  outcome: "completed",
  reason: null,
  errorCode: null,
  messageId: null,
  inputMessageIds: [],
  steps: 1,
  models: [],
  prompts: []
} as const satisfies Partial<TurnHistory>;

const NO_USAGE: StepUsage = {
  inputTokens: null,
  outputTokens: null,
  totalTokens: null,
  reasoningTokens: null,
  cachedInputTokens: null
};

const NO_TOOLS: TurnHistory["tools"] = { offered: [], called: [] };

/** Attempts as they are stored: their times in ms before the end of the turn. */
type StoredAttempt = readonly [
  kind: AttemptSummary["kind"],
  startedAt: number,
  end: AttemptSummary["end"],
  endedAt: number | null,
  errorCode: string | null,
  retryAt: number | null
];

export function encodeTurn(history: TurnHistory): string {
  const { admittedAt, startedAt, settledAt, attempts, usage, tools, ...rest } = history;
  const before = (at: number | null) => (at === null ? null : settledAt - at);
  const unusual = Object.entries(rest).filter(([name, value]) => !isSame(value, USUAL[name as keyof typeof USUAL]));
  const isPlain = isSame(attempts, [plainAttempt(startedAt, settledAt)]);
  return JSON.stringify({
    form: FORM,
    ...Object.fromEntries(unusual),
    settledAt,
    admittedAt: before(admittedAt),
    ...(startedAt !== admittedAt && { startedAt: before(startedAt) }),
    ...(!isPlain && {
      attempts: attempts.map((one): StoredAttempt => [
        one.kind,
        settledAt - one.startedAt,
        one.end,
        before(one.endedAt),
        one.errorCode,
        before(one.retryAt)
      ])
    }),
    ...(!isSame(usage, NO_USAGE) && { usage }),
    ...(!isSame(tools, NO_TOOLS) && { tools })
  });
}

/** Undefined for what cannot be read. Written by `encodeTurn`, or by a build before it. */
export function decodeTurn(body: string): TurnHistory | undefined {
  const parsed = parseJson(body);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  const { form, ...stored } = parsed.value;
  if (form === undefined) return stored as object as TurnHistory;
  if (form !== FORM || typeof stored["settledAt"] !== "number") return undefined;
  const { settledAt, admittedAt, startedAt = admittedAt, attempts, ...rest } = stored;
  if (attempts !== undefined && !isAttempts(attempts)) return undefined;
  const at = (before: unknown) => (typeof before === "number" ? settledAt - before : null);
  const started = at(startedAt);
  return {
    ...USUAL,
    usage: NO_USAGE,
    tools: NO_TOOLS,
    ...(rest as Pick<TurnHistory, "turnId">),
    admittedAt: at(admittedAt),
    startedAt: started,
    settledAt,
    attempts: attempts
      ? attempts.map(([kind, start, end, endedAt, errorCode, retryAt]) => ({
          kind,
          startedAt: settledAt - start,
          end,
          endedAt: at(endedAt),
          errorCode,
          retryAt: at(retryAt)
        }))
      : [plainAttempt(started, settledAt)]
  };
}

function isAttempts(stored: unknown): stored is readonly StoredAttempt[] {
  return Array.isArray(stored) && stored.every(Array.isArray);
}

/** The only one of a turn that went as it should. */
function plainAttempt(startedAt: number | null, settledAt: number): AttemptSummary {
  const ended = { end: "settled", endedAt: settledAt, errorCode: null, retryAt: null } as const;
  return { kind: "first", startedAt: startedAt ?? settledAt, ...ended };
}

function isSame(first: unknown, second: unknown): boolean {
  return JSON.stringify(first) === JSON.stringify(second);
}
