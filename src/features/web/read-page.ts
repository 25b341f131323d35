// What a page is for the model: text, an image, or a file that it cannot be shown.
import { ThinkError } from "../../util/errors.ts";
import { isImageType, isTextContent, mediaTypeOf } from "../../util/media-type.ts";
import type { FetchedPage } from "./fetch-page.ts";
import { convertHtml } from "./html.ts";
import type { PageFormat } from "./options.ts";
import { readPdf } from "./pdf.ts";

export type ReadPage =
  | {
      readonly kind: "text";
      readonly mediaType: string;
      readonly title?: string;
      readonly text: string;
      readonly note?: string;
    }
  | { readonly kind: "image" | "file"; readonly mediaType: string; readonly note?: string };

const HTML_TYPES: readonly string[] = ["text/html", "application/xhtml+xml"];

/** Throws only where a package is missing: what cannot be read is a file with a note. */
export async function readPage(page: FetchedPage, format: PageFormat, signal: AbortSignal): Promise<ReadPage> {
  const mediaType = mediaTypeOf(page.contentType, page.bytes);
  if (mediaType.startsWith("image/") && mediaType !== "image/svg+xml") {
    // By its first bytes: a model call with what is no image of these kinds fails, and so would every later turn.
    const kind = mediaTypeOf(undefined, page.bytes);
    return isImageType(kind) ? { kind: "image", mediaType: kind } : { kind: "file", mediaType };
  }
  if (mediaType === "application/pdf") return await readPdfPage(page.bytes, signal);
  if (!isTextContent(mediaType, page.bytes)) return { kind: "file", mediaType };
  const text = decode(page);
  const isHtml =
    HTML_TYPES.includes(mediaType) || (page.contentType === undefined && /^\s*<(?:!doctype )?html/i.test(text));
  if (!isHtml || format === "raw") return { kind: "text", mediaType, text };
  try {
    const converted = await convertHtml(text, page.url, format);
    const title = converted.title === undefined ? {} : { title: converted.title };
    return { kind: "text", mediaType, text: converted.text, ...title };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ThinkError) throw error;
    console.warn("A page could not be converted.", error);
    return { kind: "text", mediaType, text, note: "shown as HTML: it could not be converted" };
  }
}

async function readPdfPage(bytes: Uint8Array, signal: AbortSignal): Promise<ReadPage> {
  const mediaType = "application/pdf";
  // The package takes the bytes for its own.
  const read = await readPdf(bytes.slice(), signal);
  if (!read.ok) return { kind: "file", mediaType, note: read.error };
  const { text, pages, isCut } = read.value;
  const note = isCut ? `${pages} pages, of which only the first could be read` : `${pages} pages`;
  return { kind: "text", mediaType, text, note };
}

/** Bytes in which a page says its own encoding. */
const DECLARED_WITHIN = 1_024;

function decode({ bytes, contentType }: FetchedPage): string {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, DECLARED_WITHIN));
  const named = /charset\s*=\s*"?([\w-]{1,40})/i;
  const charset =
    named.exec(contentType ?? "")?.[1] ?? /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(head)?.[1];
  try {
    return new TextDecoder(charset ?? "utf-8").decode(bytes);
  } catch {
    // A name of no encoding.
    return new TextDecoder().decode(bytes);
  }
}
