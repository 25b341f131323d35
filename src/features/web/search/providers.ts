// Searches over the APIs of their providers. Keys come from the variables of the Worker. A key is sent to the provider's
// address only: a redirect is a failure.
import { readText } from "../../../util/bytes.ts";
import { isObject } from "../../../util/json.ts";
import { webErrors } from "../errors.ts";
import type { WebSearch, WebSearchContext, WebSearchResult } from "./search.ts";

export interface SearchKey {
  /** Default: the provider's variable. */
  readonly apiKey?: string;
}

/**
 * Brave Search. The key is the variable `BRAVE_API_KEY`.
 *
 * @example
 * webSearch = brave({ country: "de" });
 */
export function brave(options: SearchKey & { readonly country?: string; readonly language?: string } = {}): WebSearch {
  return async ({ query, count }, context) => {
    const key = options.apiKey ?? variable("Brave", "BRAVE_API_KEY", context.env);
    const url = new URL("https://api.search.brave.com/res/v1/web/search");
    const { country, language } = options;
    setParameters(url, { q: query, count: String(Math.min(count, 20)), country, search_lang: language });
    const headers = { accept: "application/json", "x-subscription-token": key };
    const { web } = await askProvider("Brave", { url, headers }, context);
    return resultsOf(isObject(web) ? web["results"] : [], { snippet: "description", published: "age" });
  };
}

/**
 * Tavily. The key is the variable `TAVILY_API_KEY`.
 *
 * @example
 * webSearch = tavily({ topic: "news" });
 */
export function tavily(
  options: SearchKey & { readonly topic?: "general" | "news" | "finance"; readonly depth?: "basic" | "advanced" } = {}
): WebSearch {
  return async ({ query, count }, context) => {
    const key = options.apiKey ?? variable("Tavily", "TAVILY_API_KEY", context.env);
    const { topic, depth } = options;
    const body = { query, max_results: Math.min(count, 20), topic, search_depth: depth };
    const url = new URL("https://api.tavily.com/search");
    const { results } = await askProvider(
      "Tavily",
      { url, headers: { authorization: `Bearer ${key}` }, body },
      context
    );
    return resultsOf(results, { snippet: "content", published: "published_date" });
  };
}

/**
 * Exa. The key is the variable `EXA_API_KEY`.
 *
 * @example
 * webSearch = exa({ category: "research paper" });
 */
export function exa(options: SearchKey & { readonly type?: string; readonly category?: string } = {}): WebSearch {
  return async ({ query, count }, context) => {
    const key = options.apiKey ?? variable("Exa", "EXA_API_KEY", context.env);
    const { type, category } = options;
    const body = { query, numResults: count, type, category, contents: { text: { maxCharacters: 500 } } };
    const url = new URL("https://api.exa.ai/search");
    const { results } = await askProvider("Exa", { url, headers: { "x-api-key": key }, body }, context);
    return resultsOf(results, { snippet: "text", published: "publishedDate" });
  };
}

/**
 * A SearXNG instance with the format `json` in its settings. Its address is the variable `SEARXNG_URL`, which may be one from
 * inside of your network.
 *
 * @example
 * webSearch = searxng({ url: "https://search.example.com" });
 */
export function searxng(
  options: { readonly url?: string; readonly language?: string; readonly categories?: string } = {}
): WebSearch {
  return async ({ query }, context) => {
    const base = options.url ?? variable("SearXNG", "SEARXNG_URL", context.env);
    const url = URL.parse("search", base.endsWith("/") ? base : `${base}/`);
    if (!url) throw webErrors.WebSearchKeyError("SearXNG", "SEARXNG_URL");
    const { language, categories } = options;
    setParameters(url, { q: query, format: "json", language, categories });
    const { results } = await askProvider("SearXNG", { url, headers: { accept: "application/json" } }, context);
    return resultsOf(results, { snippet: "content", published: "publishedDate" });
  };
}

function setParameters(url: URL, parameters: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
}

function variable(provider: string, name: string, env: unknown): string {
  const value: unknown = isObject(env) ? env[name] : undefined;
  if (typeof value === "string" && value !== "") return value;
  throw webErrors.WebSearchKeyError(provider, name);
}

interface ProviderRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Posted as JSON. */
  readonly body?: object;
}

/** Bytes of one answer. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

async function askProvider(
  provider: string,
  { url, headers, body }: ProviderRequest,
  { fetch, signal }: WebSearchContext
): Promise<Readonly<Record<string, unknown>>> {
  const init: RequestInit = body
    ? { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) }
    : { headers };
  const response = await fetch(url.href, { ...init, redirect: "manual", signal });
  if (!response.ok) {
    await response.body?.cancel();
    throw webErrors.WebSearchError(provider, `it answered with ${response.status}`);
  }
  const text = await readText(response.body, MAX_ANSWER_BYTES);
  if (text === undefined)
    throw webErrors.WebSearchError(provider, `its answer is larger than ${MAX_ANSWER_BYTES} bytes`);
  const parsed = parseObject(text);
  if (parsed === undefined) throw webErrors.WebSearchError(provider, "its answer is not a JSON object");
  return parsed;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Entries that cannot be used are left out. */
function resultsOf(
  given: unknown,
  { snippet, published }: { readonly snippet: string; readonly published: string }
): WebSearchResult[] {
  const entries: readonly unknown[] = Array.isArray(given) ? given : [];
  return entries.filter(isObject).flatMap((entry) => {
    const url = textOf(entry["url"]);
    if (url === undefined) return [];
    const title = textOf(entry["title"]) ?? url;
    return [{ title, url, snippet: textOf(entry[snippet]), published: textOf(entry[published]) }];
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
