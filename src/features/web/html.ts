// HTML as Markdown or text, with a converter that needs no DOM and reads each character once: no page makes it slow or deep.
import { lazyModule } from "../../host/lazy-module.ts";

const loadConverter = lazyModule(() => import("@mdream/js/core"));

export interface ConvertedPage {
  readonly title: string | undefined;
  readonly text: string;
}

const MAX_TITLE_CHARS = 300;

/** Links and images of the result are absolute. */
export async function convertHtml(html: string, url: URL, format: "markdown" | "text"): Promise<ConvertedPage> {
  const { htmlToMarkdown } = await loadConverter();
  const text = htmlToMarkdown(html, { origin: url.href, format }).trim();
  return { title: await titleOf(html, htmlToMarkdown), text };
}

type Convert = Awaited<ReturnType<typeof loadConverter>>["htmlToMarkdown"];

async function titleOf(html: string, htmlToMarkdown: Convert): Promise<string | undefined> {
  // The first 64 KiB have it, or the page has none worth the search.
  const [, title] = /<title[^>]{0,200}>([^<]{0,1000})/i.exec(html.slice(0, 65_536)) ?? [];
  const text = title && htmlToMarkdown(`<p>${title}</p>`, { format: "text" }).trim().slice(0, MAX_TITLE_CHARS);
  return text || undefined;
}
