import { openai } from "@ai-sdk/openai";
import { Think } from "everthink";
import type { WebFetchOptions } from "everthink/web";

export class Librarian extends Think<{ DOCS_TOKEN: string }> {
  override getModel() {
    return openai("gpt-5-mini");
  }

  override webFetch: WebFetchOptions = {
    allow: ["*.example.com", "https://wiki.example.org/public"],
    deny: ["old.example.com"],
    as: "text",
    timeout: 10_000,
    robots: true,
    headers: ({ origin }) =>
      origin === "https://docs.example.com" ? { authorization: `Bearer ${this.env.DOCS_TOKEN}` } : {}
  };
}
