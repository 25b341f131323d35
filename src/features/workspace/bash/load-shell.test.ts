import { expect, test } from "vitest";
import { isResolved } from "./load-shell.ts";

test.each([
  ["code that no bundler has read", 'await import("just-bash")', false],
  ["Wrangler, not installed, minified", "await import('just-bash')", false],
  ["Vite in development, not installed", 'await __vite_ssr_dynamic_import__("just-bash")', false],
  [
    "Vite, an optional peer that is missing",
    'await import("./__vite-optional-peer-dep_just-bash_everthink-x.js")',
    false
  ],
  ["Vite in development, installed", 'await __vite_ssr_dynamic_import__("/node_modules/just-bash/dist/x.js")', true],
  ["Vite, installed", 'await import("./browser-4f2.js"); console.warn("just-bash does not load")', true],
  ["Wrangler, installed", "await Promise.resolve().then(() => (init_browser(), browser_exports))", true]
])("%s: whether the package was found", (_what, code, is) => {
  expect(isResolved(code, "just-bash")).toBe(is);
});
