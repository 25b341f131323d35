// Pages inside workerd: the converter and the reader of PDFs load there, and a body that never ends is cut off.
import { expect, test } from "vitest";
import { realTime } from "../../src/host/real-time.ts";
import { PageFetcher } from "../../src/features/web/fetch-page.ts";
import { fetchSettings, type WebFetchOptions } from "../../src/features/web/options.ts";
import { readPage } from "../../src/features/web/read-page.ts";
import { pdfOf } from "../../src/features/web/pdf-sample.test-support.ts";

const url = new URL("https://example.com/dir/page");
const { signal } = new AbortController();

function fetcher(answer: () => Response, options: WebFetchOptions = {}) {
  const clock = { ...realTime, now: () => Date.now() };
  return new PageFetcher(fetchSettings(options), { clock, fetch: async () => answer() });
}

test("HTML becomes Markdown in workerd", async () => {
  const html = "<title>Tea</title><h1>Tea</h1><p>Green <a href='../more'>tea</a></p><table><tr><th>a<tr><td>1</table>";
  const page = await fetcher(() => new Response(html, { headers: { "content-type": "text/html" } })).fetch(url, signal);
  const read = await readPage(page, "markdown", signal);
  expect(read).toMatchObject({ kind: "text", title: "Tea" });
  expect(read).toMatchObject({ text: expect.stringContaining("# Tea\n\nGreen [tea](https://example.com/more)") });
});

test("a PDF becomes text in workerd", async () => {
  const bytes = pdfOf("Tea for two", "And cake");
  expect(await readPage({ url, contentType: "application/pdf", bytes }, "markdown", signal)).toMatchObject({
    kind: "text",
    text: "[page 1]\nTea for two\n\n[page 2]\nAnd cake"
  });
});

test("a hostile page is converted in workerd in bounded time", async () => {
  const bytes = new TextEncoder().encode("<div><ul><li><b>".repeat(100_000));
  expect(await readPage({ url, contentType: "text/html", bytes }, "markdown", signal)).toMatchObject({ kind: "text" });
});

test("a body that never ends, and one that never comes, are given up in workerd", async () => {
  const endless = () =>
    new Response(new ReadableStream({ pull: (control) => control.enqueue(new Uint8Array(65_536)) }));
  await expect(fetcher(endless, { maxBytes: 1_000_000 }).fetch(url, signal)).rejects.toThrow(
    "larger than 1000000 bytes"
  );
  const silent = () => new Response(new ReadableStream({ pull: () => new Promise(() => undefined) }));
  await expect(fetcher(silent, { timeout: 100 }).fetch(url, signal)).rejects.toThrow("longer than 100 ms");
});
