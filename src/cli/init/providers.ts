// Models that a new project can be made for: what is asked about each, which variables the answers are, and the one call that
// tells whether they work. The starters' models/model.ts reads the same variables. Pure, but for the call.
import { errorMessage } from "../../util/errors.ts";

export const OFFLINE = "offline";

/** What the user answers. */
export interface ModelAnswers {
  readonly provider: string;
  readonly key?: string;
  /** The development server takes it from there, so it is written nowhere. */
  readonly isKeyOfShell?: boolean;
  /** Another model than the provider's usual one. */
  readonly model?: string;
  /** Of a compatible server. */
  readonly url?: string;
  /** Of Cloudflare. */
  readonly account?: string;
}

export interface ModelProvider {
  readonly id: string;
  readonly title: string;
  /** Undefined: there is no key. */
  readonly keyVariable?: string;
  /** A key is not always wanted. */
  readonly isKeyOptional?: true;
  /** What has to be known besides the key. */
  readonly asks: readonly ("url" | "model" | "account")[];
  readonly usualModel?: string;
  /** Answers 200 when key and model can be used. Undefined when something is missing. */
  check?(answers: ModelAnswers): CheckRequest | undefined;
}

export interface CheckRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer lists models, and this one must be among them. */
  readonly listed?: string;
}

export const PROVIDERS: readonly ModelProvider[] = [
  {
    id: "openai",
    title: "OpenAI",
    keyVariable: "OPENAI_API_KEY",
    asks: [],
    usualModel: "gpt-5-mini",
    check: ({ key, model = "gpt-5-mini" }) => ({
      url: `https://api.openai.com/v1/models/${encodeURIComponent(model)}`,
      headers: { authorization: `Bearer ${key}` }
    })
  },
  {
    id: "anthropic",
    title: "Anthropic",
    keyVariable: "ANTHROPIC_API_KEY",
    asks: [],
    usualModel: "claude-sonnet-5",
    check: ({ key = "", model = "claude-sonnet-5" }) => ({
      url: `https://api.anthropic.com/v1/models/${encodeURIComponent(model)}`,
      headers: { "x-api-key": key, "anthropic-version": "2023-06-01" }
    })
  },
  {
    id: "google",
    title: "Google",
    keyVariable: "GOOGLE_GENERATIVE_AI_API_KEY",
    asks: [],
    usualModel: "gemini-flash-latest",
    check: ({ key = "", model = "gemini-flash-latest" }) => ({
      url: `https://generativelanguage.googleapis.com/v1beta/models/${encodeURIComponent(model)}`,
      headers: { "x-goog-api-key": key }
    })
  },
  {
    id: "workers-ai",
    title: "Workers AI",
    keyVariable: "WORKERS_AI_API_TOKEN",
    asks: ["account"],
    usualModel: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
    check: ({ key, account = "" }) => ({
      url: `https://api.cloudflare.com/client/v4/accounts/${encodeURIComponent(account)}/ai/models/search?per_page=1`,
      headers: { authorization: `Bearer ${key}` }
    })
  },
  {
    id: "compatible",
    title: "A compatible server, such as Ollama",
    keyVariable: "OPENAI_COMPATIBLE_API_KEY",
    isKeyOptional: true,
    asks: ["url", "model"],
    check: ({ key, url, model }) => {
      if (url === undefined || !URL.canParse(`${url}/models`)) return undefined;
      const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      return { url: `${url.replace(/\/+$/, "")}/models`, headers, listed: model };
    }
  },
  { id: OFFLINE, title: "The offline model, for now", asks: [] }
];

export function findProvider(id: string): ModelProvider | undefined {
  return PROVIDERS.find((one) => one.id === id);
}

/** The lines of .dev.vars; none for the offline model, of which the page says that it answers. */
export function variablesOf(answers: ModelAnswers): Map<string, string> {
  const { provider, model, url, account } = answers;
  const key = answers.isKeyOfShell ? undefined : answers.key;
  if (provider === OFFLINE) return new Map();
  const { keyVariable } = findProvider(provider) ?? {};
  const values: readonly (readonly [string, string | undefined])[] = [
    ["MODEL_PROVIDER", provider],
    ...(keyVariable === undefined ? [] : [[keyVariable, key] as const]),
    ["WORKERS_AI_ACCOUNT_ID", account],
    ["OPENAI_COMPATIBLE_URL", url],
    ["MODEL", model]
  ];
  return new Map(values.filter((entry): entry is readonly [string, string] => Boolean(entry[1])));
}

/** Undefined: it can be sent in a header and stand in .dev.vars. */
export function wrongKey(key: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(key)) return "A key has no spaces and no characters outside of ASCII.";
  return key.includes("'") ? "A key with an apostrophe cannot stand in .dev.vars." : undefined;
}

const CHECK_LIMIT_MS = 10_000;

/** Asks the provider once. Undefined: it works; else why not, in a sentence without the key. */
export async function checkModel(answers: ModelAnswers, signal: AbortSignal): Promise<string | undefined> {
  const request = findProvider(answers.provider)?.check?.(answers);
  if (request === undefined) return undefined;
  const { origin } = new URL(request.url);
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(CHECK_LIMIT_MS)]);
    const response = await fetch(request.url, { headers: request.headers, signal: limited });
    return refusalIn(response.status, await response.text(), { answers, request, origin });
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = isLate ? `no answer within ${CHECK_LIMIT_MS / 1000} s` : errorMessage(cause);
    return `${origin} cannot be reached (${withoutKey(reason, answers.key)}).`;
  }
}

interface CheckedCall {
  readonly answers: ModelAnswers;
  readonly request: CheckRequest;
  readonly origin: string;
}

function refusalIn(status: number, body: string, { answers, request, origin }: CheckedCall): string | undefined {
  const { provider, model } = answers;
  const { title = provider, usualModel = "" } = findProvider(provider) ?? {};
  const name = provider === "compatible" ? origin : title;
  // Google answers a wrong key with 400.
  const isKeyRefused = status === 401 || status === 403 || (status === 400 && /api.?key/i.test(body));
  if (isKeyRefused) return `${name} refuses the key (${status}).`;
  if (status === 404 && provider !== "compatible") return `${name} has no model "${model ?? usualModel}" (404).`;
  if (status === 404) return `There is no model list at ${request.url} (404). Most addresses end in /v1.`;
  if (status === 429) return `${name} takes the key, and limits it at the moment (429).`;
  if (status >= 500) return `${name} has a failure of its own at the moment (${status}).`;
  if (status >= 300) return `${name} answers ${status}.`;
  const listed = modelsIn(body);
  if (request.listed === undefined || listed === undefined || listed.includes(request.listed)) return undefined;
  const shown = listed.length === 0 ? "It has none." : `It has: ${listed.slice(0, 10).join(", ")}.`;
  return `${name} has no model "${request.listed}". ${shown}`;
}

/** Ids of a list as OpenAI's API has it; undefined for anything else. */
function modelsIn(body: string): string[] | undefined {
  try {
    const { data } = JSON.parse(body) as { data?: unknown };
    return Array.isArray(data)
      ? data.flatMap(({ id }: { id?: unknown }) => (typeof id === "string" ? [id] : []))
      : undefined;
  } catch {
    return undefined; // No JSON: what it is, is not ours to judge.
  }
}

function withoutKey(text: string, key: string | undefined): string {
  return key === undefined || key === "" ? text : text.replaceAll(key, "[key]");
}
