// The one interface of web searches: a function that a provider gives, or the class itself. What it returns is bounded and
// cleaned by the tool, and is untrusted like the pages that it names.
import type { Fetch } from "../../../util/guarded-request.ts";
import type { MaybePromise } from "../../../util/maybe-promise.ts";

export interface WebSearchQuery {
  readonly query: string;
  /** How many results are shown at most. */
  readonly count: number;
}

export interface WebSearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet?: string | undefined;
  /** As the provider writes it. */
  readonly published?: string | undefined;
}

export interface WebSearchContext {
  /** The variables and bindings of the Worker. */
  readonly env: unknown;
  readonly fetch: Fetch;
  /** Aborted when the search takes too long, or the turn is stopped. */
  readonly signal: AbortSignal;
}

/**
 * Searches the web: what `brave()`, `tavily()`, `exa()` and `searxng()` of `everthink/web` make, or a function of the class.
 *
 * @example
 * webSearch: WebSearch = async ({ query, count }) => (await this.intranet.find(query)).slice(0, count);
 */
export type WebSearch = (query: WebSearchQuery, context: WebSearchContext) => MaybePromise<readonly WebSearchResult[]>;
