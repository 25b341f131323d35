// The documentation as a site, built by the command of README and opened in Chromium: its links, its search and its pages on a
// small screen.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { SECTIONS } from "../../site/navigation.ts";
import { launchBrowser } from "../browser/browser.ts";

// Installs the generator on a fresh clone, and builds some 900 pages.
vi.setConfig({ hookTimeout: 600_000 });

const root = new URL("../../", import.meta.url).pathname;
const dist = join(root, "docs/dist");
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  svg: "image/svg+xml",
  png: "image/png",
  txt: "text/plain",
  wasm: "application/wasm"
};

let server: Server;
let browser: Browser;
let origin: string;

beforeAll(async () => {
  // What Vitest says of itself would build a site for development.
  const isOfVitest = /^(?:VITEST|NODE_ENV$|TEST$|MODE$|DEV$|PROD$|SSR$|BASE_URL$)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfVitest.test(name)));
  execFileSync("npm", ["run", "docs"], { cwd: root, stdio: "pipe", env });
  server = createServer((request, response) => {
    const file = fileOf(new URL(request.url ?? "/", "http://localhost").pathname);
    response.statusCode = file === undefined ? 404 : 200;
    if (file !== undefined)
      response.setHeader("content-type", TYPES[file.split(".").pop() ?? ""] ?? "application/octet-stream");
    response.end(file === undefined ? "" : readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  server?.close();
});

/** Undefined: the site has no such address. */
function fileOf(path: string): string | undefined {
  const file = join(dist, decodeURIComponent(path));
  if (!existsSync(file)) return undefined;
  if (!statSync(file).isDirectory()) return file;
  const index = join(file, "index.html");
  return existsSync(index) ? index : undefined;
}

interface Opened {
  readonly page: Page;
  readonly errors: readonly string[];
}

async function open(
  path: string,
  { width = 1_280, ...look }: { width?: number; colorScheme?: "dark" } = {}
): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, ...look });
  const errors: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && errors.push(message.text())));
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(origin + path);
  return { page, errors };
}

test("every link of every page leads to a page of the site, and to a place that it has", () => {
  const pages = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
  expect(pages.length).toBeGreaterThan(SECTIONS.flatMap((section) => section.pages).length);
  const texts = new Map<string, string>();
  const textOf = (file: string) => {
    const text = texts.get(file) ?? readFileSync(file, "utf8");
    texts.set(file, text);
    return text;
  };
  const broken: string[] = [];
  for (const name of pages) {
    for (const [, href = ""] of textOf(join(dist, name)).matchAll(/<a[^>]*\shref="([^"]*)"/g)) {
      if (/^[a-z]+:/.test(href)) continue;
      const { pathname, hash } = new URL(
        href.replaceAll("&amp;", "&"),
        `http://localhost/${name.replace(/index\.html$/, "")}`
      );
      const file = fileOf(pathname);
      const isThere =
        file !== undefined && (hash === "" || textOf(file).includes(`id="${decodeURIComponent(hash.slice(1))}"`));
      if (!isThere) broken.push(`${name}: ${href}`);
    }
  }
  expect(broken).toEqual([]);
});

test("words are searched without a network, and the page that has them is found", async () => {
  const { page, errors } = await open("/");
  await page.locator("button[data-open-modal]").click();
  await page.locator(".pagefind-ui__search-input").fill("idempotencyKey");
  const found = page
    .locator(".pagefind-ui__result-link")
    .filter({ hasText: /^Actions$/ })
    .first();
  await found.click();
  await page.waitForURL(/\/actions\//);
  expect(errors).toEqual([]);
});

test("a stranger comes from the first page to a deployed agent, and on to the checklist, without leaving the site", async () => {
  const { page, errors } = await open("/");
  const shown = async () => (await page.locator("main").innerText()).replaceAll(/\s+/g, " ");
  const walk = async (link: RegExp, to: string) => {
    await page.locator("main").getByRole("link", { name: link }).first().click();
    await page.waitForURL(`${origin}${to}`);
  };
  expect(await shown()).toContain("npm create everthink@latest shop");
  expect(await shown()).toContain("npm run dev");
  await walk(/^getting started$/i, "/getting-started/");
  expect(await shown()).toContain("node ask.ts");
  await walk(/^deploying$/, "/deploy/");
  const deploy = await shown();
  const commands = [
    "npx wrangler login",
    "npx everthink user",
    "everthink deploy --dry-run",
    "everthink deploy --secrets"
  ];
  const places = commands.map((command) => deploy.indexOf(command));
  expect(places.every((place, index) => place > (places[index - 1] ?? -1))).toBe(true);
  await walk(/^troubleshooting$/, "/troubleshooting/");
  await page.goBack();
  await walk(/^production checklist$/, "/production/");
  expect(await shown()).toContain("What to decide before people depend on an agent");
  expect(errors).toEqual([]);
});

test.each(["/", "/actions/", "/events/", "/deploy/", "/limits/", "/architecture/", "/api/everthink/classes/think/"])(
  "%s is read on a phone without scrolling sideways, and dark where the reader wants it",
  async (path) => {
    const { page, errors } = await open(path, { width: 390, colorScheme: "dark" });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(Math.max(...(background.match(/\d+/g) ?? ["255"]).slice(0, 3).map(Number))).toBeLessThan(80);
    expect(errors).toEqual([]);
  }
);

const said = async (page: Page) => (await page.locator(".playground-assistant").allInnerTexts()).join(" ");

test("the playground's server is killed in the middle of a story, and the story is told to its end, once", async () => {
  const { page, errors } = await open("/playground/");
  await page.getByRole("button", { name: "Tell me a story" }).click();
  await expect.poll(() => said(page), { timeout: 30_000 }).toContain("lit the lamp");
  await page.getByRole("button", { name: "Pull the plug" }).click();
  await page.getByText("Killed after").waitFor();
  await expect.poll(() => said(page), { timeout: 60_000 }).toContain("not one line was missing.");
  const story = await said(page);
  expect(story.match(/Once there was/g)).toHaveLength(1);
  expect(story.match(/lit the lamp/g)).toHaveLength(1);
  expect(errors).toEqual([]);
});

test("the playground's server dies at a write and before a decision, and everything happens once", async () => {
  const { page, errors } = await open("/playground/");
  await page.getByRole("button", { name: "Write into the log" }).waitFor();
  await page.getByRole("button", { name: "Arm" }).click();
  await page.getByRole("button", { name: "Write into the log" }).click();
  await page.getByText("Killed after").waitFor({ timeout: 30_000 });
  await expect.poll(() => said(page), { timeout: 60_000 }).toContain("It is in the log, once.");
  await page.getByRole("button", { name: "Sound the horn" }).click();
  await page.getByRole("button", { name: "Approve" }).waitFor({ timeout: 30_000 });
  await page.getByRole("button", { name: "Pull the plug" }).click();
  await expect.poll(() => page.locator("#playground-server").innerText(), { timeout: 30_000 }).toContain("Deaths: 2");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect.poll(() => said(page), { timeout: 60_000 }).toContain("The horn has sounded.");
  const rows = await page.locator("#playground-tables tr").allInnerTexts();
  expect(rows.map((row) => row.replaceAll(/\s+/g, " ").trim())).toEqual(expect.arrayContaining(["horn 1", "log 1"]));
  expect(errors).toEqual([]);
});

test("diagrams are drawn, and code can be copied", async () => {
  const { page, errors } = await open("/architecture/");
  await page.locator("pre.mermaid svg, .mermaid svg").first().waitFor();
  expect(await page.locator("button[title*='Copy']").count()).toBeGreaterThan(0);
  expect(errors).toEqual([]);
});

test("coding agents find an index and the whole text", async () => {
  const index = await (await fetch(`${origin}/llms.txt`)).text();
  const all = await (await fetch(`${origin}/llms-full.txt`)).text();
  for (const path of SECTIONS.flatMap(({ pages }) => pages)) expect(index).toContain(`(docs/${path}.md)`);
  expect(all).toContain("# Actions\n");
});
