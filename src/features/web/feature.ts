// The web as a feature: its tools in every turn, and the words in the prompt that say what their results are worth.
import type { ToolSet } from "ai";
import type { Feature, TurnPart } from "../../feature/feature.ts";
import type { ChatServices } from "../../feature/services.ts";
import { callsWithOldMedia } from "../../model/tool-media.ts";
import type { WebMembers } from "./capability.ts";
import { webErrors } from "./errors.ts";
import { PageFetcher } from "./fetch-page.ts";
import { fetchTool } from "./fetch-tool.ts";
import { fetchSettings, type WebFetchOptions } from "./options.ts";
import { PageCache } from "./page-cache.ts";
import { filesOfTurn } from "./page-files.ts";
import { searchTool } from "./search-tool.ts";
import { WEB_PROMPT } from "./untrusted.ts";

const FETCH_URL = "fetch_url";
const WEB_SEARCH = "web_search";

export class WebFeature implements Feature {
  readonly name = "web";
  readonly toolNames = [FETCH_URL, WEB_SEARCH];
  readonly #services: ChatServices;
  readonly #agent: WebMembers;
  /** The tool with the setting that it was built for: robots.txt and pages that are known belong to it. */
  #fetchUrl: { readonly setting: true | WebFetchOptions; readonly tools: ToolSet } | undefined;
  #webSearch: ToolSet | undefined;
  /** Calls whose images the attempt does not show; read only when there is an output to show. */
  #oldCalls: ReadonlySet<string> | undefined;

  constructor(services: ChatServices) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as WebMembers;
  }

  /** Throws WebSetupError. */
  inTurn(): TurnPart | undefined {
    this.#oldCalls = undefined;
    const tools = { ...this.#fetchTools(), ...this.#searchTools() };
    if (Object.keys(tools).length === 0) return undefined;
    return { tools: { workspace: tools }, prompt: [{ label: "web", text: WEB_PROMPT }] };
  }

  #fetchTools(): ToolSet {
    const { webFetch: setting } = this.#agent;
    if (setting === false) return {};
    if (this.#fetchUrl?.setting === setting) return this.#fetchUrl.tools;
    const { clock } = this.#services;
    const settings = fetchSettings(setting);
    const fetcher = new PageFetcher(settings, { clock, fetch: settings.fetch ?? currentFetch });
    const cache = new PageCache(settings.cacheMs, clock);
    const tools = {
      [FETCH_URL]: fetchTool({
        settings,
        fetcher,
        cache,
        files: filesOfTurn(this.#services),
        showsMedia: this.#showsMedia
      })
    };
    this.#fetchUrl = { setting, tools };
    return tools;
  }

  #searchTools(): ToolSet {
    const { webSearch } = this.#agent;
    if (webSearch === undefined) return {};
    if (typeof webSearch !== "function") {
      const hint = "Give what brave(), tavily(), exa() or searxng() of everthink/web returns, or a function.";
      throw webErrors.WebSetupError("webSearch is not a function.", hint);
    }
    const { clock, env } = this.#services;
    const search = () => this.#agent.webSearch ?? webSearch;
    this.#webSearch ??= { [WEB_SEARCH]: searchTool({ search, env, clock, fetch: currentFetch }) };
    return this.#webSearch;
  }

  readonly #showsMedia = (toolCallId: string) => {
    this.#oldCalls ??= callsWithOldMedia(this.#services.turns.transcript());
    return !this.#oldCalls.has(toolCallId);
  };
}

/** The platform's, as it is when a request is made. */
async function currentFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  return await fetch(url, init);
}
