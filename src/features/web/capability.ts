// The web for the model, as a capability: what it may fetch, and what searches for it. Both are off until the class says so.
import { chatCapability } from "../../feature/capability.ts";
import { WebFeature } from "./feature.ts";
import type { WebFetchOptions } from "./options.ts";
import type { WebSearch } from "./search/search.ts";

export class WebMembers {
  /**
   * Whether the model has `fetch_url`. True: for every public address.
   *
   * @example
   * webFetch = { allow: ["docs.example.com"], timeout: 10_000 };
   */
  webFetch: boolean | WebFetchOptions = false;

  /**
   * What `web_search` searches with: `brave()`, `tavily()`, `exa()` or `searxng()` of `everthink/web`, or a function. Without
   * it the model has no such tool.
   *
   * @example
   * webSearch = brave();
   */
  webSearch: WebSearch | undefined = undefined;
}

/** A class without the two settings pays nothing. */
export const web = chatCapability({
  name: "web",
  members: WebMembers,
  isUsed: (agent) => {
    // Only agents with these members are asked.
    const { webFetch, webSearch } = agent as WebMembers;
    return webFetch !== false || webSearch !== undefined;
  },
  feature: (services) => new WebFeature(services)
});
