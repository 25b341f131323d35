// The text of a PDF, with the package unpdf, an optional peer that is loaded with the first PDF: it has 1.6 MB.
import { lazyModule } from "../../host/lazy-module.ts";
import { err, ok, type Result } from "../../util/result.ts";

interface PdfDocument {
  readonly numPages: number;
  readonly loadingTask: { destroy(): Promise<void> };
  getPage(number: number): Promise<{ getTextContent(): Promise<{ items: readonly object[] }>; cleanup(): unknown }>;
}

/** The package, as far as it is used. Its types are repeated here because it may not be installed where ours is compiled. */
interface PdfModule {
  getDocumentProxy(data: Uint8Array, options?: object): Promise<PdfDocument>;
}

const loadPdf = lazyModule(async (): Promise<Result<PdfModule, string>> => {
  try {
    return ok(await import("unpdf"));
  } catch (error) {
    console.warn("PDFs are not read: the package unpdf does not load.", error);
    return err("PDFs cannot be read here: the package unpdf is not installed");
  }
});

/** Pages of one document, and characters of all of them. */
export const MAX_PDF_PAGES = 500;
export const MAX_PDF_CHARS = 2_000_000;

export interface PdfText {
  readonly text: string;
  readonly pages: number;
  readonly isCut: boolean;
}

/** The text of its pages, or why there is none. `signal` is looked at before each page. */
export async function readPdf(bytes: Uint8Array, signal: AbortSignal): Promise<Result<PdfText, string>> {
  const loaded = await loadPdf();
  if (!loaded.ok) return loaded;
  try {
    const document = await loaded.value.getDocumentProxy(bytes, { isEvalSupported: false, useSystemFonts: true });
    try {
      return ok(await readPages(document, signal));
    } finally {
      await document.loadingTask.destroy();
    }
  } catch (error) {
    signal.throwIfAborted();
    console.warn("A PDF could not be read.", error);
    return err("the PDF cannot be read");
  }
}

async function readPages(document: PdfDocument, signal: AbortSignal): Promise<PdfText> {
  const parts: string[] = [];
  let chars = 0;
  const last = Math.min(document.numPages, MAX_PDF_PAGES);
  for (let number = 1; number <= last && chars < MAX_PDF_CHARS; number += 1) {
    signal.throwIfAborted();
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map(textOf).join("").trim();
    page.cleanup();
    parts.push(`[page ${number}]\n${text}`);
    chars += text.length;
  }
  const text = parts.join("\n\n");
  return {
    text: text.slice(0, MAX_PDF_CHARS),
    pages: document.numPages,
    isCut: parts.length < document.numPages || text.length > MAX_PDF_CHARS
  };
}

/** Items without a text are marks of the structure. */
function textOf(item: object): string {
  const { str, hasEOL } = item as { readonly str?: unknown; readonly hasEOL?: unknown };
  return typeof str === "string" ? str + (hasEOL === true ? "\n" : "") : "";
}
