// What the login window of an MCP server shows when it comes back: the page behind it has been told already.
import type { McpOAuthResult } from "everthink";

const ESCAPES = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"]
]);

/** Closes its window if it can, which is when a page has opened it. */
export function loginPage({ authSuccess, authError }: McpOAuthResult): Response {
  const title = authSuccess ? "You are logged in" : "The login failed";
  const detail = authSuccess ? "You may close this window." : escaped(authError ?? "Please try again.");
  const closing = authSuccess ? "<script>window.close()</script>" : "";
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; display: grid; place-content: center; min-height: 90vh; text-align: center; padding: 0 1.5rem }
h1 { font: 600 1.375rem/1.3 ui-serif, Georgia, serif; margin: 0 } p { margin: .5rem 0 0; overflow-wrap: anywhere }</style>
<h1>${title}</h1>
<p>${detail}</p>
${closing}
</html>
`;
  const headers = { "content-type": "text/html; charset=utf-8", "referrer-policy": "no-referrer" };
  return new Response(html, { status: authSuccess ? 200 : 400, headers });
}

/** The error is a server's word. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ESCAPES.get(character) ?? "");
}
