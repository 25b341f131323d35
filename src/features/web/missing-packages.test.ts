// A project without the two optional packages.
import { expect, test, vi } from "vitest";
import type { PageFormat } from "./options.ts";
import { readPage } from "./read-page.ts";

vi.mock("@mdream/js/core", () => {
  throw new Error("Cannot find package '@mdream/js'");
});
vi.mock("unpdf", () => {
  throw new Error("Cannot find package 'unpdf'");
});

const read = (text: string, contentType: string, format: PageFormat = "markdown") =>
  readPage(
    { url: new URL("https://example.com/"), contentType, bytes: new TextEncoder().encode(text) },
    format,
    new AbortController().signal
  );

test("HTML fails and names the package; as it was sent it can be read", async () => {
  await expect(read("<p>x", "text/html")).rejects.toMatchObject({
    code: "web-converter-missing",
    hint: expect.stringContaining("npm install @mdream/js")
  });
  expect(await read("<p>x", "text/html", "raw")).toMatchObject({ text: "<p>x" });
  expect(await read("x", "text/plain")).toMatchObject({ text: "x" });
});

test("a PDF is a file with a note that names the package", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  for (const version of ["1.4", "1.7"]) {
    expect(await read(`%PDF-${version}`, "application/pdf")).toEqual({
      kind: "file",
      mediaType: "application/pdf",
      note: "PDFs cannot be read here: the package unpdf is not installed"
    });
  }
  expect(warn).toHaveBeenCalledOnce();
});
