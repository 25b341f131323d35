import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findAsset, isServable, isWorkerFirst, notFoundPages } from "./routes.ts";
import { HTML_HANDLINGS, type HtmlHandling } from "./settings.ts";

const FILES = [
  "/index.html",
  "/about.html",
  "/docs/index.html",
  "/both.html",
  "/both/index.html",
  "/app.js",
  "/a%20b.txt"
];
const exists = (file: string) => Promise.resolve(FILES.includes(file));
const look = (path: string, handling: HtmlHandling) => findAsset(path, handling, exists);

describe("which file answers", () => {
  test.each<[HtmlHandling, string, string | undefined]>([
    ["auto-trailing-slash", "/", "/index.html"],
    ["auto-trailing-slash", "/index.html", "-> /"],
    ["auto-trailing-slash", "/index", "-> /"],
    ["auto-trailing-slash", "/index/", undefined],
    ["auto-trailing-slash", "/index/index.html", undefined],
    ["auto-trailing-slash", "/about", "/about.html"],
    ["auto-trailing-slash", "/about.html", "-> /about"],
    ["auto-trailing-slash", "/about/", "-> /about"],
    ["auto-trailing-slash", "/docs", "-> /docs/"],
    ["auto-trailing-slash", "/docs/", "/docs/index.html"],
    ["auto-trailing-slash", "/docs/index.html", "-> /docs/"],
    ["auto-trailing-slash", "/both", "/both.html"],
    ["auto-trailing-slash", "/both/", "/both/index.html"],
    ["auto-trailing-slash", "/app.js", "/app.js"],
    ["auto-trailing-slash", "/app.js/", undefined],
    ["auto-trailing-slash", "/a%20b.txt", "/a%20b.txt"],
    ["auto-trailing-slash", "/nothing", undefined],
    ["auto-trailing-slash", "/.html", undefined],
    ["auto-trailing-slash", "//about", undefined],
    ["drop-trailing-slash", "/docs/", "-> /docs"],
    ["drop-trailing-slash", "/docs", "/docs/index.html"],
    ["drop-trailing-slash", "/", "/index.html"],
    ["force-trailing-slash", "/about", "-> /about/"],
    ["force-trailing-slash", "/about/", "/about.html"],
    ["force-trailing-slash", "/docs/", "/docs/index.html"],
    ["none", "/", undefined],
    ["none", "/about", undefined],
    ["none", "/about.html", "/about.html"]
  ])("%s: %s gives %s", async (handling, path, expected) => {
    const answer = await look(path, handling);
    expect(answer?.do === "redirect" ? `-> ${answer.to}` : answer?.file).toBe(expected);
  });

  test("a redirect stays on the site and leads to a file at once", async () => {
    const segment = fc.constantFrom(
      "",
      "about",
      "docs",
      "both",
      "index",
      "index.html",
      "about.html",
      "app.js",
      "evil.example",
      "."
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(segment, { maxLength: 4 }),
        fc.constantFrom(...HTML_HANDLINGS),
        async (parts, handling) => {
          const answer = await look(`/${parts.join("/")}`, handling);
          if (answer?.do !== "redirect") return;
          expect(answer.to).not.toMatch(/^\/\//);
          expect(await look(answer.to, handling)).toMatchObject({ do: "serve" });
        }
      ),
      { numRuns: 2000 }
    );
  });
});

test.each([
  ["/a/b.txt", true],
  ["/", true],
  ["/a/", true],
  ["/.well-known/acme", true],
  ["/.git/config", false],
  ["/%2egit/config", false],
  ["/a/.env", false],
  ["/a/.well-known", false],
  ["//a", false],
  ["/a//b", false],
  ["/a%2fb", false],
  ["/a%5cb", false],
  ["/a%00", false],
  ["/%zz", false],
  ["/_headers", false],
  ["/_redirects", false]
])("%s may be served: %s", (path, expected) => {
  expect(isServable(path)).toBe(expected);
});

test.each<[string, true | string[], boolean]>([
  ["/x", true, true],
  ["/x", [], false],
  ["/api/x", ["/api/*"], true],
  ["/api", ["/api/*"], false],
  ["/api/docs/x", ["/api/*", "!/api/docs/*"], false],
  ["/a.b", ["/a.b"], true],
  ["/aXb", ["/a.b"], false]
])("%s with %j goes to the Worker first: %s", (path, patterns, expected) => {
  expect(isWorkerFirst(path, patterns)).toBe(expected);
});

test("the nearest page that says not found is looked for first", () => {
  expect(notFoundPages("/a/b/c")).toEqual(["/a/b/404.html", "/a/404.html", "/404.html"]);
  expect(notFoundPages("/x")).toEqual(["/404.html"]);
});
