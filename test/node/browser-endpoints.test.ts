// How a browser is reached: by Cloudflare's binding, whose public requests a fake answers with a real Chromium, and by the
// address of a browser of one's own.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { BrowserActions } from "../../src/features/browser/actions.ts";
import { cdpBrowser, cloudflareBrowser, type Browser } from "../../src/features/browser/index.ts";
import { BrowserSessions } from "../../src/features/browser/sessions.ts";
import { send, serveWeb, type WebServer } from "../../src/features/web/web-server.test-support.ts";
import { startChromium, type Chromium } from "../kit/chromium.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let chromium: Chromium;
let server: WebServer;
beforeAll(async () => {
  chromium = await startChromium();
  server = await serveWeb({ "/": send("<p>Tea</p>") });
});
afterAll(async () => {
  await Promise.all([chromium.close(), server.close()]);
});

const use = { key: "test", signal: undefined };

function opened(browser: Browser, env: unknown) {
  const sessions = new BrowserSessions({ env, browser: () => browser, newId: () => "r" });
  return { sessions, seen: new BrowserActions(sessions, () => undefined).open(use, `${server.origin}/`) };
}

/** Answers as Cloudflare's documents say: a session is acquired, connected to, and closed. */
function fakeBinding(status = 200) {
  const asked: string[] = [];
  const fetch = async (url: string, init?: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(url);
    asked.push(`${init?.method ?? "GET"} ${pathname}${search}`);
    if (init?.method === "POST") return Response.json({ sessionId: "one" }, { status });
    if (init?.method === "DELETE") return Response.json({ status: "closed" });
    expect(new Headers(init?.headers).get("upgrade")).toBe("websocket");
    const version: unknown = await (await globalThis.fetch(`${chromium.url}/json/version`)).json();
    const socket = new WebSocket((version as { webSocketDebuggerUrl: string }).webSocketDebuggerUrl);
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    return { webSocket: Object.assign(socket, { accept: () => undefined }) } as never;
  };
  return { asked, binding: { fetch } };
}

test("Cloudflare's binding: a session is acquired for as long as it may be idle, and ended with the turn", async () => {
  const { asked, binding } = fakeBinding();
  const browser = cloudflareBrowser({ allow: [server.origin], idleMs: 60_000 });
  const { sessions, seen } = opened(browser, { BROWSER: binding });
  expect(await seen).toMatchObject({ content: "Tea" });
  sessions.closeAll("the turn was over");
  await vi.waitFor(() =>
    expect(asked).toEqual([
      "POST /v1/devtools/browser?keep_alive=60000",
      "GET /v1/devtools/browser/one",
      "DELETE /v1/devtools/browser/one"
    ])
  );
});

test("Cloudflare's binding: one that is missing fails with its setting, one without free sessions is a result", async () => {
  await expect(opened(cloudflareBrowser({ binding: "OTHER" }), {}).seen).rejects.toMatchObject({
    code: "browser-setup"
  });
  const { binding } = fakeBinding(429);
  const busy = opened(cloudflareBrowser({ binding }), {}).seen;
  expect(await busy).toEqual({ error: "The browser is not available: all of its sessions are in use." });
});

test("a browser of one's own is reached by its port, by its socket, and by the variable", async () => {
  const version: unknown = await (await fetch(`${chromium.url}/json/version`)).json();
  const { webSocketDebuggerUrl } = version as { webSocketDebuggerUrl: string };
  const lists = { allow: [server.origin] };
  for (const [browser, env] of [
    [cdpBrowser({ url: chromium.url, ...lists }), {}],
    [cdpBrowser({ url: webSocketDebuggerUrl, ...lists }), {}],
    [cdpBrowser(lists), { BROWSER_URL: chromium.url }]
  ] as const) {
    const { sessions, seen } = opened(browser, env);
    expect(await seen).toMatchObject({ content: "Tea" });
    sessions.closeAll("done");
  }
  await expect(opened(cdpBrowser(lists), {}).seen).rejects.toMatchObject({ code: "browser-setup" });
});
