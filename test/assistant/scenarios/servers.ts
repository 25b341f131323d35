// MCP servers in the demo: added by their address, logged in to, and used by the answer.
import { expect } from "vitest";
import { z } from "zod";
import { textResult } from "../../../src/features/mcp/raw-mcp.test-support.ts";
import { serveMcp } from "../../../src/features/mcp/served-mcp.test-support.ts";
import { namelessControls } from "../accessible-names.ts";
import { listen } from "../../process/mcp/http-server.ts";
import { serveProtected } from "../../process/mcp/protected-server.ts";
import { crowded } from "../rhythm.ts";
import type { Scenario } from "../scenario.ts";
import type { Visitor } from "../visitor.ts";

async function serveLibrary() {
  const lent: string[] = [];
  const { handler } = serveMcp((server) => {
    const inputSchema = z.object({ title: z.string() });
    server.registerTool("search", { inputSchema, annotations: { readOnlyHint: true } }, ({ title }) =>
      textResult(`${title} is on the shelf.`)
    );
    server.registerTool("give_away", { inputSchema, annotations: { destructiveHint: true } }, ({ title }) => {
      lent.push(title);
      return textResult(`${title} is gone for good.`);
    });
  });
  const { origin, handle } = await listen();
  handle(handler);
  return { url: `${origin}/mcp`, host: new URL(origin).host, lent };
}

async function add({ page }: Visitor, url: string): Promise<void> {
  await page.getByRole("textbox", { name: "Address of an MCP server" }).fill(url);
  await page.keyboard.press("Enter");
}

export const usesServers: Scenario = {
  name: "a server is added by its address; what only reads runs, what destroys asks and says so, what is hidden is not there",
  async play({ visitor }) {
    const { page } = visitor;
    const library = await serveLibrary();
    await page.getByRole("tab", { name: "MCP servers" }).click();
    const panel = page.getByRole("complementary", { name: "MCP servers" });
    await panel.getByRole("heading", { name: "MCP servers" }).waitFor();

    await add(visitor, "http://169.254.169.254/mcp");
    await panel.getByRole("alert").getByText("Blocked URL").waitFor();
    await add(visitor, library.url);
    await panel.getByText("2 tools").waitFor();
    await visitor.askAndWait('Use search with "Emma"');
    await visitor.answerHas("It says: Emma is on the shelf.");

    await visitor.ask('Use give_away with "Emma"');
    const card = visitor.tool("give_away");
    await card.getByText(`A tool of ${library.host}, which says that it is destructive.`).waitFor();
    expect(await namelessControls(page)).toEqual([]);
    await visitor.photograph("mcp-approval");
    await visitor.button("Switch to dark theme").click();
    await visitor.photograph("mcp-approval-dark");
    await visitor.button("Switch to light theme").click();
    await card.getByRole("button", { name: "Approve" }).click();
    await visitor.answerHas("It says: Emma is gone for good.");
    await visitor.isSettled();
    expect(library.lent).toEqual(["Emma"]);

    // By keyboard: from "ask" to "hide".
    await panel.getByRole("radiogroup", { name: "What may happen with give_away" }).getByLabel("ask").focus();
    await page.keyboard.press("ArrowRight");
    await panel.locator("li[data-hidden]").getByText("give_away").waitFor();
    await visitor.askAndWait('Use give_away with "Persuasion"');
    await visitor.answerHas("I am the built-in offline model");
    expect(library.lent).toEqual(["Emma"]);
    await visitor.photograph("mcp-servers");
    expect(await crowded(visitor)).toEqual([]);

    await visitor.reload();
    await page.getByRole("tab", { name: "MCP servers" }).click();
    await panel.locator("li[data-hidden]").getByText("give_away").waitFor();
    await panel.getByRole("button", { name: `Remove ${library.host}` }).click();
    await panel.getByText("Tools of a server that you add here").waitFor();
  }
};

export const logsIn: Scenario = {
  name: "a server that wants a login opens its page in a window, which closes by itself; the server is ready",
  async play({ visitor }) {
    const { page } = visitor;
    const { mcpUrl } = await serveProtected();
    const { host } = new URL(mcpUrl);
    await page.getByRole("tab", { name: "MCP servers" }).click();
    await add(visitor, mcpUrl);
    const login = visitor.button(`Log in to ${host}`);
    await login.waitFor();
    await visitor.photograph("mcp-login");
    const [popup] = await Promise.all([page.waitForEvent("popup"), login.click()]);
    if (!popup.isClosed()) await popup.waitForEvent("close");
    await page.getByText("1 tool", { exact: true }).waitFor();
    await visitor.askAndWait("Use whoami");
    await visitor.answerHas("It says: you");
    await visitor.reload();
    await visitor.answerHas("It says: you");
    await visitor.askAndWait("Use whoami");
    await visitor.answerHas("It says: you");
  }
};

export const serverScenarios: readonly Scenario[] = [usesServers, logsIn];
