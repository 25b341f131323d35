// A key that the provider refuses: people read what to set, get their answer all the same, and never see the key.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchBrowser } from "../browser/browser.ts";
import { type ExampleServer, startProduction } from "./example-server.ts";
import { Visitor } from "./visitor.ts";

const KEY = "sk-refused-0123456789";

let provider: Server;
let server: ExampleServer;
let browser: Browser;
const asked: (string | undefined)[] = [];

beforeAll(async () => {
  provider = createServer((request, response) => {
    asked.push(request.headers.authorization);
    // As providers do, it repeats the key.
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${KEY}`, code: "invalid_api_key" } }));
  });
  await once(provider.listen(0, "127.0.0.1"), "listening");
  const { port } = provider.address() as AddressInfo;
  const variables = {
    OPENAI_COMPATIBLE_URL: `http://127.0.0.1:${port}/v1`,
    OPENAI_COMPATIBLE_API_KEY: KEY,
    MODEL: "lamp-1"
  };
  [server, browser] = await Promise.all([startProduction(variables), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  provider?.close();
  provider?.closeAllConnections();
});

test("with a key that is refused, a banner says what failed and what to set, and the offline model answers", async () => {
  const visitor = await Visitor.arrive(browser, server);
  const received: string[] = [];
  visitor.page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => received.push(String(payload))));
  await visitor.reload();
  await visitor.page.getByText("Compatible server lamp-1").waitFor();
  await visitor.askAndWait("What is 6*7?");
  await visitor.answerHas("42");
  const banner = visitor.page.getByRole("alert");
  await banner.getByText("Compatible server refused the key in OPENAI_COMPATIBLE_API_KEY (401).").waitFor();
  await banner.getByText("Set OPENAI_COMPATIBLE_API_KEY to a valid key and start again.").waitFor();
  await visitor.page.getByText("Built-in offline model").waitFor();
  await visitor.photograph("wrong-key");

  expect(asked).toContain(`Bearer ${KEY}`);
  expect(received.join("")).toContain("refused the key");
  expect(received.join("")).not.toContain(KEY);
  expect(await visitor.page.content()).not.toContain(KEY);
  expect(server.output).not.toContain(KEY);
  expect(visitor.complaints()).toEqual([]);
  await visitor.leave();
});
