import { openai } from "@ai-sdk/openai";
import { Think } from "everthink";
import type { WebSearch } from "everthink/web";

export class Clerk extends Think<{ CATALOGUE: Fetcher }> {
  override getModel() {
    return openai("gpt-5-mini");
  }

  override webSearch: WebSearch = async ({ query, count }, { signal }) => {
    const url = `https://catalogue/search?q=${encodeURIComponent(query)}&limit=${count}`;
    const found: { name: string; link: string }[] = await (await this.env.CATALOGUE.fetch(url, { signal })).json();
    return found.map(({ name, link }) => ({ title: name, url: link }));
  };
}
