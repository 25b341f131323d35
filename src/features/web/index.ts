// `everthink/web`
export type { PageFormat, PageHeaders, WebFetchOptions } from "./options.ts";
export { brave, exa, searxng, tavily, type SearchKey } from "./search/providers.ts";
export type { WebSearch, WebSearchContext, WebSearchQuery, WebSearchResult } from "./search/search.ts";
