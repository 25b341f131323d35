import { expect, test } from "vitest";
import { contentType } from "./content-type.ts";

test.each([
  ["/index.html", "text/html; charset=utf-8"],
  ["/assets/index-C0ffee.js", "text/javascript; charset=utf-8"],
  ["/a.MJS", "text/javascript; charset=utf-8"],
  ["/a.css", "text/css; charset=utf-8"],
  ["/a.svg", "image/svg+xml"],
  ["/a.png", "image/png"],
  ["/a.json", "application/json"],
  ["/a.wasm", "application/wasm"],
  ["/a.js.map", "application/json"],
  ["/a.woff2", "font/woff2"],
  ["/a.unknown", "application/octet-stream"],
  ["/folder.js/file", "application/octet-stream"],
  ["/constructor", "application/octet-stream"],
  ["/a.constructor", "application/octet-stream"]
])("%s is %s", (path, type) => {
  expect(contentType(path)).toBe(type);
});
