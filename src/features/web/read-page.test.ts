import { describe, expect, test, vi } from "vitest";
import type { PageFormat } from "./options.ts";
import { readPage } from "./read-page.ts";
import { pdfOf } from "./pdf-sample.test-support.ts";

const URL_OF_PAGE = new URL("https://example.com/dir/page");

function read(content: string | Uint8Array, contentType: string | undefined, format: PageFormat = "markdown") {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return readPage({ url: URL_OF_PAGE, contentType, bytes }, format, new AbortController().signal);
}

const PAGE = `<!doctype html><html><head><title>Tea &amp; cake</title><style>p{}</style><script>alert("no")</script></head><body>
<h1>Tea</h1><p>Take <b>two</b> <a href="../cups?a=1&amp;b=2">cups</a>.</p><ul><li>black<li>green</ul>
<table><tr><th>Kind<th>Minutes<tr><td>green<td>3</table><pre><code class="language-sh">boil 1</code></pre></body></html>`;

describe("HTML", () => {
  test("becomes Markdown with whole addresses, without scripts and styles", async () => {
    const page = await read(PAGE, "text/html");
    expect(page).toMatchObject({ kind: "text", mediaType: "text/html", title: "Tea & cake" });
    const { text } = page as { text: string };
    for (const part of [
      "# Tea",
      "Take **two** [cups](https://example.com/cups?a=1&b=2).",
      "- black\n- green",
      "| green | 3 |",
      "```sh\nboil 1\n```"
    ])
      expect(text).toContain(part);
    expect(text).not.toMatch(/alert|p\{\}/);
  });

  test("becomes text, or stays as it is", async () => {
    const { text } = (await read(PAGE, "text/html", "text")) as { text: string };
    expect(text).toContain("Take two cups.");
    expect(text).not.toMatch(/\*\*|\]\(|<b>/);
    expect(await read(PAGE, "text/html", "raw")).toMatchObject({ text: PAGE });
  });

  test("is recognised where the server does not name it, and read in the encoding that it names", async () => {
    expect(await read("<html><p>x</p></html>", undefined)).toMatchObject({ text: "x" });
    const latin = Uint8Array.from([0x3c, 0x70, 0x3e, 0xe9]);
    expect(await read(latin, "text/html; charset=ISO-8859-1")).toMatchObject({ text: "é" });
    const declared = new Uint8Array([...new TextEncoder().encode('<meta charset="windows-1252"><p>'), 0x80]);
    expect(await read(declared, "text/html")).toMatchObject({ text: "€" });
    expect(await read("<p>ü", "text/html; charset=no-such-thing")).toMatchObject({ text: "ü" });
  });

  test.each<[string, string]>([
    ["deep", "<div>".repeat(500_000)],
    ["deep lists", "<ul><li>".repeat(150_000)],
    ["deep tables", "<table><tr><td>".repeat(100_000)],
    ["deep quotes", "<blockquote>".repeat(150_000)],
    ["links in links", "<a href=x>".repeat(150_000)],
    ["ends without a beginning", "</div>".repeat(300_000)],
    ["a tag that never ends", `<a ${"x=y ".repeat(400_000)}`],
    ["a comment that never ends", `<!--${"-".repeat(2_000_000)}`],
    ["a title that never ends", "<title>".repeat(250_000)],
    ["a quote that never ends", '<a href="'.repeat(200_000)],
    ["only brackets", "<".repeat(2_000_000)],
    ["characters that are escaped", "*_`[".repeat(400_000)],
    ["white space", `<p>${" \n".repeat(1_000_000)}x`],
    ["open code", "<pre><code>".repeat(100_000)]
  ])("made to take long does not: %s", async (_what, html) => {
    const started = performance.now();
    expect(await read(html, "text/html")).toMatchObject({ kind: "text" });
    expect(performance.now() - started).toBeLessThan(8_000);
  });
});

test.each([
  ["text/plain", "a < b", "a < b"],
  ["application/json", '{"a":1}', '{"a":1}'],
  ["text/markdown", "# a <b>", "# a <b>"],
  ["application/xml", "<a/>", "<a/>"],
  ["image/svg+xml", "<svg/>", "<svg/>"]
])("%s is shown as it is", async (type, content, text) => {
  expect(await read(content, type)).toMatchObject({ kind: "text", mediaType: type, text });
});

test("images are images, and what is no text is a file, whatever the server names it", async () => {
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0);
  expect(await read(png, "image/png")).toEqual({ kind: "image", mediaType: "image/png" });
  expect(await read(png, undefined)).toEqual({ kind: "image", mediaType: "image/png" });
  expect(await read(Uint8Array.of(0, 1, 2), "application/zip")).toEqual({ kind: "file", mediaType: "application/zip" });
  expect(await read(Uint8Array.of(0, 1, 2), "text/html")).toEqual({ kind: "file", mediaType: "text/html" });
});

test("what a server names an image is one only if its bytes say so, and of the kind that they say", async () => {
  const jpeg = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0);
  expect(await read(jpeg, "image/png")).toEqual({ kind: "image", mediaType: "image/jpeg" });
  for (const [content, type] of [
    [Uint8Array.of(0x49, 0x49, 0x2a, 0), "image/tiff"],
    ["<html>not an image", "image/png"],
    ["", "image/gif"]
  ] as const) {
    expect(await read(content, type), type).toEqual({ kind: "file", mediaType: type });
  }
});

describe("PDFs", () => {
  test("become the text of their pages", async () => {
    const page = await read(pdfOf("Tea for two", "And (cake) too"), "application/pdf");
    expect(page).toEqual({
      kind: "text",
      mediaType: "application/pdf",
      text: "[page 1]\nTea for two\n\n[page 2]\nAnd (cake) too",
      note: "2 pages"
    });
  });

  test("that are broken or locked are files with a note", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    for (const content of ["%PDF-1.4 nothing", "", "%PDF-1.7\ntrailer << /Root 1 0 R /Encrypt 2 0 R >>"]) {
      expect(await read(content, "application/pdf")).toMatchObject({ kind: "file", note: "the PDF cannot be read" });
    }
    expect(warn).toHaveBeenCalled();
    warn.mockRestore();
  });
});
