// The example in `vite dev`, in a real browser: what a developer sees must hold what the built one promises.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { launchBrowser } from "../browser/browser.ts";
import { type ExampleServer, startDevelopment } from "./example-server.ts";
import { declare } from "./scenario.ts";
import { answersASuggestion } from "./scenarios/answers.ts";
import { approves, parks } from "./scenarios/approvals.ts";
import { survivesThePlug } from "./scenarios/plug.ts";
import { asksThePage, showsProgress } from "./scenarios/tools.ts";
import { regenerates } from "./scenarios/versions.ts";

let server: ExampleServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startDevelopment(), launchBrowser()]);
});
afterAll(() => browser?.close());

describe("the assistant in development:", () => {
  declare([answersASuggestion, survivesThePlug, showsProgress, asksThePage, approves, parks, regenerates], () => ({
    server,
    browser
  }));
});
