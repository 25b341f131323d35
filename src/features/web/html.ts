// HTML as Markdown or text, with the package @mdream/js, an optional peer that is loaded with the first page. It needs no DOM
// and reads each character once: no page makes it slow or deep.
import { lazyModule } from "../../host/lazy-module.ts";
import { err, ok, type Result } from "../../util/result.ts";
import { webErrors } from "./errors.ts";

/** The package, as far as it is used. */
interface Converter {
  htmlToMarkdown(html: string, options: { origin?: string; format: "markdown" | "text" }): string;
}

/** Loads the converter. Bundlers leave an import inside of try...catch alone when the package is not installed. */
const loadConverter = lazyModule(async (): Promise<Result<Converter, Error>> => {
  try {
    return ok(await import("@mdream/js/core"));
  } catch (error) {
    return err(webErrors.WebConverterMissingError(error));
  }
});

export interface ConvertedPage {
  readonly title: string | undefined;
  readonly text: string;
}

const MAX_TITLE_CHARS = 300;

/** Links and images of the result are absolute. Rejects with WebConverterMissingError. */
export async function convertHtml(html: string, url: URL, format: "markdown" | "text"): Promise<ConvertedPage> {
  const loaded = await loadConverter();
  if (!loaded.ok) throw loaded.error;
  const { htmlToMarkdown } = loaded.value;
  const text = htmlToMarkdown(html, { origin: url.href, format }).trim();
  return { title: titleOf(html, loaded.value), text };
}

function titleOf(html: string, { htmlToMarkdown }: Converter): string | undefined {
  // The first 64 KiB have it, or the page has none worth the search.
  const [, title] = /<title[^>]{0,200}>([^<]{0,1000})/i.exec(html.slice(0, 65_536)) ?? [];
  const text = title && htmlToMarkdown(`<p>${title}</p>`, { format: "text" }).trim().slice(0, MAX_TITLE_CHARS);
  return text || undefined;
}
