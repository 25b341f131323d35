// The example in `vite dev`, in a real browser: it streams, calls tools of the page, and goes on after a kill.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { launchBrowser } from "../browser/browser.ts";
import { type ExampleServer, startDevelopment } from "./example-server.ts";
import { declare } from "./scenario.ts";
import { answersASuggestion } from "./scenarios/answers.ts";
import { survivesThePlug } from "./scenarios/plug.ts";
import { asksThePage } from "./scenarios/tools.ts";

let server: ExampleServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startDevelopment(), launchBrowser()]);
});
afterAll(() => browser?.close());

describe("the assistant in development:", () => {
  declare([answersASuggestion, survivesThePlug, asksThePage], () => ({ server, browser }));
});
