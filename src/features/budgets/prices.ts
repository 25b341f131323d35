// What models cost: data of the package, and how the price of a model is found. Providers change their prices, so each row
// says when it was compared and with what; a class replaces or extends the table with `getPrices()`. A model that no row names has no
// price: a similar name is not a similar price. Pure.

/** USD per million tokens. What a row leaves out costs what its kind costs: cached input as input, reasoning as output. */
export interface Rate {
  readonly input: number;
  readonly output: number;
  /** Input that the provider reads from its prompt cache. */
  readonly cachedInput?: number;
  /** Input that the provider writes to its prompt cache. */
  readonly cacheWrite?: number;
  /** Output that is not shown. */
  readonly reasoning?: number;
}

export interface ModelPrice extends Rate {
  /** The first part of the SDK's name of the provider: "openai" of "openai.responses". */
  readonly provider: string;
  /** A model id. A date or "latest" may follow it; `*` stands for anything. */
  readonly model: string;
  /** Of prompts with more input tokens than this. */
  readonly longPrompt?: Rate & { readonly above: number };
  /** The longest answer that the provider gives, in tokens. */
  readonly maxOutput?: number;
  /** The day on which the row was compared, or entered where it was not. */
  readonly date?: string;
  /** What it was compared with: a page of the provider, or what others say; else which page it is to be compared with. */
  readonly source?: string;
}

const DAY = "2026-11-19";
const CLAUDE_PAGE = "platform.claude.com: page of the model";
const CLAUDE_LIST = "platform.claude.com: Pricing";
const GITHUB = "not OpenAI: prices of GitHub Copilot, docs.github.com";
const BENCHLM = "not OpenAI: benchlm.ai, April 2026";
const RESPONSES = "not OpenAI: openai_responses of hex.pm, June 2025";
const NOT_COMPARED = "not compared; see the provider's page on prices";

const GOOGLE = { provider: "google", date: DAY, source: NOT_COMPARED } as const;
const WORKERS_AI = { provider: "workersai", date: DAY, source: NOT_COMPARED } as const;

type OwnRate = Rate & Pick<ModelPrice, "maxOutput" | "source">;

/** Anthropic's prices follow from the input's: reading the cache costs a part of it; writing it for an hour twice as much. */
function claude(model: string, rate: OwnRate, read = 0.1): ModelPrice {
  const { input } = rate;
  const own = { provider: "anthropic", model, date: DAY, source: CLAUDE_PAGE, maxOutput: 64_000 };
  return { ...own, cachedInput: input * read, cacheWrite: input * 2, ...rate };
}

function gpt(model: string, rate: OwnRate): ModelPrice {
  return { provider: "openai", model, date: DAY, source: NOT_COMPARED, maxOutput: 128_000, ...rate };
}

/** The first row that names a model is its price. */
export const PRICES: readonly ModelPrice[] = [
  claude("claude-fable-5-1", { input: 10, output: 50, maxOutput: 128_000 }),
  claude("claude-fable-5", { input: 10, output: 50, maxOutput: 128_000 }),
  claude("claude-opus-5-5", { input: 4, output: 20, maxOutput: 128_000 }, 0.05),
  claude("claude-opus-5", { input: 5, output: 25, maxOutput: 128_000 }),
  claude("claude-opus-4-8", { input: 5, output: 25, source: NOT_COMPARED }),
  claude("claude-opus-4-7", { input: 5, output: 25, source: NOT_COMPARED }),
  claude("claude-opus-4-6", { input: 5, output: 25, source: CLAUDE_LIST }),
  claude("claude-opus-4-5", { input: 5, output: 25, source: CLAUDE_LIST }),
  claude("claude-opus-4-1", { input: 15, output: 75, maxOutput: 32_000, source: CLAUDE_LIST }),
  claude("claude-sonnet-5-5", { input: 2, output: 10, maxOutput: 128_000 }),
  claude("claude-sonnet-5", { input: 2, output: 10, maxOutput: 128_000 }),
  claude("claude-sonnet-4-6", { input: 3, output: 15, source: CLAUDE_LIST }),
  claude("claude-sonnet-4-5", { input: 3, output: 15, source: CLAUDE_LIST }),
  {
    ...claude("claude-haiku-5-5", { input: 0.1, output: 0.5, maxOutput: 128_000 }),
    longPrompt: { above: 100_000, input: 0.5, output: 2.5, cachedInput: 0.05, cacheWrite: 1 }
  },
  claude("claude-haiku-4-5", { input: 1, output: 5, source: CLAUDE_LIST }),
  {
    ...gpt("gpt-5.4", { input: 2.5, cachedInput: 0.25, output: 15, source: GITHUB }),
    longPrompt: { above: 272_000, input: 5, cachedInput: 0.5, output: 22.5 }
  },
  gpt("gpt-5.4-mini", { input: 0.75, cachedInput: 0.075, output: 4.5, source: BENCHLM }),
  gpt("gpt-5.3-codex", { input: 1.75, cachedInput: 0.175, output: 14, source: GITHUB }),
  gpt("gpt-5.2", { input: 1.75, cachedInput: 0.175, output: 14, source: GITHUB }),
  gpt("gpt-5.2-codex", { input: 1.75, cachedInput: 0.175, output: 14, source: GITHUB }),
  gpt("gpt-5.1", { input: 1.25, cachedInput: 0.125, output: 10, source: BENCHLM }),
  gpt("gpt-5-pro", { input: 15, output: 120, source: BENCHLM }),
  gpt("gpt-5", { input: 1.25, cachedInput: 0.125, output: 10 }),
  gpt("gpt-5-mini", { input: 0.25, cachedInput: 0.025, output: 2, source: GITHUB }),
  gpt("gpt-5-nano", { input: 0.05, cachedInput: 0.005, output: 0.4 }),
  gpt("gpt-4.1", { input: 2, cachedInput: 0.5, output: 8, maxOutput: 32_768, source: GITHUB }),
  gpt("gpt-4.1-mini", { input: 0.4, cachedInput: 0.1, output: 1.6, maxOutput: 32_768, source: RESPONSES }),
  gpt("gpt-4.1-nano", { input: 0.1, cachedInput: 0.025, output: 0.4, maxOutput: 32_768, source: RESPONSES }),
  gpt("gpt-4o", { input: 2.5, cachedInput: 1.25, output: 10, maxOutput: 16_384, source: RESPONSES }),
  gpt("gpt-4o-mini", { input: 0.15, cachedInput: 0.075, output: 0.6, maxOutput: 16_384 }),
  gpt("o3", { input: 2, cachedInput: 0.5, output: 8, maxOutput: 100_000 }),
  gpt("o4-mini", { input: 1.1, cachedInput: 0.275, output: 4.4, maxOutput: 100_000 }),
  {
    ...{
      ...GOOGLE,
      model: "gemini-2.5-pro",
      input: 1.25,
      cachedInput: 0.125,
      output: 10,
      maxOutput: 65_536
    },
    longPrompt: { above: 200_000, input: 2.5, cachedInput: 0.25, output: 15 }
  },
  {
    ...GOOGLE,
    model: "gemini-2.5-flash",
    input: 0.3,
    cachedInput: 0.03,
    output: 2.5,
    maxOutput: 65_536
  },
  {
    ...GOOGLE,
    model: "gemini-2.5-flash-lite",
    input: 0.1,
    cachedInput: 0.01,
    output: 0.4,
    maxOutput: 65_536
  },
  { ...WORKERS_AI, model: "@cf/openai/gpt-oss-120b", input: 0.35, output: 0.75 },
  { ...WORKERS_AI, model: "@cf/openai/gpt-oss-20b", input: 0.2, output: 0.3 },
  {
    ...WORKERS_AI,
    model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
    input: 0.293,
    output: 2.253
  }
];

/** The price of a model as the SDK names it; undefined: no row names it. Without a provider that of any. */
export function priceOf(
  prices: readonly ModelPrice[],
  provider: string | undefined,
  modelId: string
): ModelPrice | undefined {
  const named = provider === undefined ? { provider, modelId } : namesOf(provider, modelId);
  return prices.find(
    (price) => (named.provider ?? price.provider) === price.provider && matches(price.model, named.modelId)
  );
}

/** The SDK's gateway passes on the provider's own prices, under ids such as "openai/gpt-5". */
function namesOf(provider: string, modelId: string): { provider: string; modelId: string } {
  const [first = ""] = provider.split(".");
  const slash = modelId.indexOf("/");
  if (first !== "gateway" || slash < 0) return { provider: first, modelId };
  return { provider: modelId.slice(0, slash), modelId: modelId.slice(slash + 1) };
}

/** Some names have a dot where others of the same model have a dash. */
function matches(pattern: string, modelId: string): boolean {
  const parts = dashed(pattern).split("*").map(escaped);
  return new RegExp(`^${parts.join(".*")}([-@](\\d{4}-\\d{2}-\\d{2}|\\d{8}|latest))?$`).test(dashed(modelId));
}

function dashed(name: string): string {
  return name.toLowerCase().replaceAll(".", "-");
}

function escaped(text: string): string {
  return text.replace(/[\\^$+?()[\]{}|/]/g, "\\$&");
}
