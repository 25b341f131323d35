// What tools of public MCP servers take of a prompt, with and without discovery. Measured only where EVERTHINK_MCP_SERVERS names
// a folder in which the packages are installed (`npm run tokens:mcp` says how); what was measured is kept as numbers and names.
// Otherwise the page of tools is compared with it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeEach, expect, test, vi } from "vitest";
import { estimateStringTokens } from "../../src/session/tokens.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import type { ServedTool, ServerTools } from "../kit/many-tools/build.ts";
import { user } from "../kit/messages.ts";
import { agentOf, open, promptJson, scene } from "./discovery-kit.ts";

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => {}));

interface MeasuredServer {
  readonly package: string;
  readonly version: string;
  readonly licence: string;
  /** Estimated, of names, descriptions and schemas. */
  readonly tokens: number;
  readonly tools: readonly string[];
}

interface MeasuredPrompt {
  readonly servers: number;
  readonly tools: number;
  readonly described: number;
  readonly discovered: number;
  readonly searched: number;
}

interface Measured {
  readonly date: string;
  readonly servers: readonly MeasuredServer[];
  /** With the first servers of the list. */
  readonly prompts: readonly MeasuredPrompt[];
}

/** What is started, with arguments without which it does not start. No service is asked: a list of tools needs none. */
const PACKAGES: readonly (readonly [name: string, ...args: string[]])[] = [
  ["@notionhq/notion-mcp-server"],
  ["@playwright/mcp"],
  ["@modelcontextprotocol/server-github"],
  ["mongodb-mcp-server"],
  ["firecrawl-mcp"],
  ["chrome-devtools-mcp"],
  ["@sentry/mcp-server", "--access-token=none"],
  ["@modelcontextprotocol/server-filesystem", "."],
  ["@modelcontextprotocol/server-everything"],
  ["@modelcontextprotocol/server-memory"],
  ["@modelcontextprotocol/server-gitlab"],
  ["@modelcontextprotocol/server-slack"],
  ["tavily-mcp"],
  ["@upstash/context7-mcp"],
  ["figma-developer-mcp", "--stdio"],
  ["@modelcontextprotocol/server-sequential-thinking"]
];
/** Servers refuse to start without their variables; none of these is a key. */
const PLACEHOLDERS = Object.fromEntries(
  "NOTION_TOKEN TAVILY_API_KEY FIRECRAWL_API_KEY FIGMA_API_KEY GITHUB_PERSONAL_ACCESS_TOKEN GITLAB_PERSONAL_ACCESS_TOKEN SLACK_BOT_TOKEN SLACK_TEAM_ID"
    .split(" ")
    .map((name) => [name, "none"])
);
const COUNTS = [1, 3, 8, 16];

const FIXTURE = new URL("../fixtures/public-mcp-servers.json", import.meta.url);
const folder = process.env["EVERTHINK_MCP_SERVERS"];
const measured = (): Measured => JSON.parse(readFileSync(FIXTURE, "utf8")) as Measured;

interface Installed extends MeasuredServer {
  readonly served: ServerTools;
}

async function list(root: string, [name, ...args]: (typeof PACKAGES)[number]): Promise<Installed> {
  const at = join(root, "node_modules", name);
  const { version, license, bin } = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as {
    version: string;
    license: string;
    bin: string | Record<string, string>;
  };
  const program = join(at, typeof bin === "string" ? bin : (Object.values(bin)[0] ?? ""));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, ...args],
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...PLACEHOLDERS },
    stderr: "ignore"
  });
  const client = new Client({ name: "everthink-measure", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  await client.close();
  const id = name.replaceAll(/[^a-z0-9]+/g, "-").replace(/^-/, "");
  const plain = tools.map(({ name: tool, description = "", inputSchema }) => ({
    name: tool,
    description,
    inputSchema
  }));
  return {
    package: name,
    version,
    licence: license.startsWith("SEE") ? "its LICENSE" : license,
    tokens: estimateStringTokens(JSON.stringify(plain)),
    tools: plain.map((tool) => tool.name),
    // What a server lists is a schema of an object.
    served: { id, name: id, tools: plain as ServedTool[] }
  };
}

async function promptsOf(servers: readonly ServerTools[]): Promise<MeasuredPrompt> {
  const done = reply(text("Done."));
  const tokens = (call: number) => estimateStringTokens(promptJson(scene.script.calls[call]));
  const say = async (...[steps, changes]: Parameters<typeof open>) => {
    await (await agentOf(open(steps, { servers, ...changes }))).runTurn({ input: [user("q")] });
  };
  await say([done], { discovery: false, maxTools: 1_000 });
  const described = tokens(0);
  await say([reply(toolCall("search_tools", { query: "create issue" })), done], { discovery: true });
  const tools = servers.reduce((sum, one) => sum + one.tools.length, 0);
  return { servers: servers.length, tools, described, discovered: tokens(0), searched: tokens(1) };
}

test.runIf(folder !== undefined)("measures the servers of a folder", { timeout: 300_000 }, async () => {
  const installed: Installed[] = [];
  for (const one of PACKAGES) installed.push(await list(String(folder), one));
  const prompts: MeasuredPrompt[] = [];
  for (const count of COUNTS) prompts.push(await promptsOf(installed.slice(0, count).map(({ served }) => served)));
  const servers = installed.map(({ served: _served, ...one }) => one);
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(FIXTURE, `${JSON.stringify({ date, servers, prompts } satisfies Measured, null, 2)}\n`);
  console.log(tableOf({ date, servers, prompts }));
});

const count = (value: number) => value.toLocaleString("en-US");

function tableOf({ prompts }: Measured): string {
  const rows = prompts.map(({ servers, tools, described, discovered, searched }) => {
    const share = `${((discovered / described) * 100).toFixed(1)} %`;
    return `| ${[servers, tools, count(described), count(discovered), share, count(searched)].join(" | ")} |`;
  });
  return rows.join("\n");
}

test("the page of tools shows what was measured with public servers", () => {
  expect(existsSync(FIXTURE)).toBe(true);
  const page = readFileSync(new URL("../../docs/tools.md", import.meta.url), "utf8");
  for (const row of tableOf(measured()).split("\n")) expect(page).toContain(row);
  for (const one of measured().servers) expect(page).toContain(`\`${one.package}\` ${one.version}`);
});

test("with all of them, the first prompt has at most 3 % of what all tools would take", () => {
  const last = measured().prompts.at(-1);
  expect(last?.servers).toBe(PACKAGES.length);
  expect(Number(last?.discovered) / Number(last?.described)).toBeLessThan(0.03);
});
