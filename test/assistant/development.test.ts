// The example in `vite dev`, in a real browser: it streams, calls tools of the page, and goes on after a kill.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { launchBrowser } from "../browser/browser.ts";
import { type ExampleServer, startDevelopment } from "./example-server.ts";
import { declare, type Scenario } from "./scenario.ts";
import { answersASuggestion } from "./scenarios/answers.ts";
import { survivesThePlug } from "./scenarios/plug.ts";
import { asksThePage } from "./scenarios/tools.ts";

let server: ExampleServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startDevelopment(), launchBrowser()]);
});
afterAll(() => browser?.close());

const linksToStudio: Scenario = {
  name: "a link leads to Studio, which is started for it",
  async play({ visitor, server }) {
    if ((await visitor.panel.count()) === 0) await visitor.button("Show what happens underneath").click();
    const [studio] = await Promise.all([
      visitor.page.context().waitForEvent("page"),
      visitor.panel.getByRole("link", { name: "Look inside with Studio" }).click()
    ]);
    await studio.getByText("everthink Studio").waitFor();
    // It looks at this server.
    await studio.getByText(new URL(server.url).host).first().waitFor();
    expect(new URL(studio.url()).origin).not.toBe(server.url);
    // A name that was pointed at this machine is told nothing.
    const { status } = await visitor.page.request
      .get(`${server.url}/__think/studio`, { headers: { host: "evil.example" }, maxRedirects: 0 })
      .then((response) => ({ status: response.status() }));
    expect(status).toBe(403);
  }
};

describe("the assistant in development:", () => {
  declare([linksToStudio, answersASuggestion, survivesThePlug, asksThePage], () => ({ server, browser }));
});
