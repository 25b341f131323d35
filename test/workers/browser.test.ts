// The connection to a browser inside workerd: the socket that a binding hands out is used as it is. What a browser does is
// tested with a real one in Node.
import { expect, test } from "vitest";
import { BrowserActions } from "../../src/features/browser/actions.ts";
import { cloudflareBrowser } from "../../src/features/browser/index.ts";
import { BrowserSessions } from "../../src/features/browser/sessions.ts";

test("commands go through the socket of Cloudflare's binding, and its end is told", async () => {
  const said: string[] = [];
  const binding = {
    fetch: async (_url: string, init?: RequestInit): Promise<Response> => {
      if (init?.method !== undefined) return Response.json({ sessionId: "one" });
      const [client, server] = Object.values(new WebSocketPair());
      if (!client || !server) throw new Error("no pair");
      server.accept();
      server.addEventListener("message", ({ data }) => {
        const { id, method } = JSON.parse(String(data)) as { id: number; method: string };
        said.push(method);
        if (method === "Target.createBrowserContext")
          server.send(JSON.stringify({ id, result: { browserContextId: "c" } }));
        else server.close(1000, "over");
      });
      return new Response(null, { status: 101, webSocket: client });
    }
  };
  const browser = cloudflareBrowser({ binding });
  const sessions = new BrowserSessions({ env: {}, browser: () => browser, newId: () => "r" });
  const answer = await new BrowserActions(sessions, () => undefined).open(
    { key: "a", signal: undefined },
    "https://example.com/"
  );
  expect(said).toEqual(["Target.createBrowserContext", "Browser.setDownloadBehavior"]);
  expect(answer).toMatchObject({ error: expect.stringContaining("the connection to the browser was lost") });
});
