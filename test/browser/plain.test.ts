// A Vite page with `@ai-sdk/react` and `ai` alone in a real browser, against a real workerd process that is killed in the
// middle of an answer: over HTTP and over a WebSocket, the page ends with the stored messages.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { build, preview, type PreviewServer } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type WorkerServer } from "../process/workerd-process.ts";
import { launchBrowser } from "./browser.ts";
import { Conversation } from "./conversation.ts";
import { SLOW_WORDS } from "./reply-plan.ts";
import { until } from "./until.ts";

const ROOT = fileURLToPath(new URL("../clients/newest/plain", import.meta.url));

let browser: Browser;
let server: WorkerServer;
let pages: PreviewServer;
let outDir: string;

beforeAll(async () => {
  server = await startWorker({ entry: new URL("./chat-worker.ts", import.meta.url), objects: ["ChatAgent"] });
  outDir = mkdtempSync(join(tmpdir(), "everthink-plain-"));
  const shared = { root: ROOT, configFile: false, logLevel: "silent" } as const;
  await build({ ...shared, build: { outDir, emptyOutDir: true, target: "es2024" } });
  pages = await preview({ ...shared, build: { outDir }, preview: { host: "127.0.0.1", port: 0 } });
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await pages?.close();
  rmSync(outDir, { recursive: true, force: true });
});

interface Seen {
  status: string;
  messages: { id: string; role: string; text: string }[];
}

class PlainTab {
  readonly page: Page;
  readonly conversation: Conversation;

  constructor(page: Page, conversation: Conversation) {
    this.page = page;
    this.conversation = conversation;
  }

  static async open(name: string, over: string): Promise<PlainTab> {
    const page = await browser.newPage();
    const query = new URLSearchParams({ host: new URL(server.url).host, name, over });
    const [url = ""] = pages.resolvedUrls?.local ?? [];
    await page.goto(`${url}?${query}`);
    return new PlainTab(page, new Conversation(server, name));
  }

  async ask(question: string): Promise<void> {
    await this.page.getByLabel("Question").fill(question);
    await this.page.keyboard.press("Enter");
  }

  async seen(): Promise<Seen> {
    const status = (await this.page.textContent("#status")) ?? "";
    return { status, messages: spoken(JSON.parse((await this.page.textContent("#messages")) ?? "[]")) };
  }

  /** Until the newest answer has this text. */
  async reads(text: string, status: string): Promise<Seen> {
    return until({
      what: `the page is ${status} and reads ${JSON.stringify(text)}`,
      look: () => this.seen(),
      fits: (seen) => seen.status === status && seen.messages.at(-1)?.text === text,
      tell: (seen) => JSON.stringify(seen)
    });
  }

  async agrees(): Promise<void> {
    const { messages } = await this.seen();
    expect(messages).toEqual(spoken((await this.conversation.messages()) as never));
  }
}

function spoken(messages: { id: string; role: string; parts: { text?: string }[] }[]): Seen["messages"] {
  return messages.map(({ id, role, parts }) => ({ id, role, text: parts.map(({ text = "" }) => text).join("") }));
}

describe.each(["http", "socket"])("a page over %s", (over) => {
  test("shows an answer while it is written, is reloaded in the middle of one, and stops one", async () => {
    const tab = await PlainTab.open(`plain-${over}`, over);
    await tab.ask("slow");
    await tab.conversation.letGo(2);
    await tab.reads("one two ", "streaming");
    await tab.page.reload();
    await tab.reads("one two ", "streaming");
    await tab.conversation.letGo(SLOW_WORDS.length - 1);
    await tab.reads(SLOW_WORDS.join(""), "ready");
    await tab.agrees();
    await tab.page.click("#regenerate");
    await tab.conversation.letGo(1);
    await tab.reads("one ", "streaming");
    await tab.page.click("#stop");
    await tab.reads("one ", "ready");
    await until({
      what: "the stopped answer is stored",
      look: async () => spoken((await tab.conversation.messages()) as never),
      fits: (messages) => messages.at(-1)?.text === "one ",
      tell: (messages) => JSON.stringify(messages)
    });
    await tab.agrees();
    await tab.page.close();
  });

  test("resumes after SIGKILL in the middle of an answer, and ends with what is stored", async () => {
    const tab = await PlainTab.open(`killed-${over}`, over);
    await tab.ask("slow");
    await tab.conversation.letGo(3);
    await tab.reads("one two three ", "streaming");
    await server.kill();
    await server.start();
    await tab.conversation.letGo();
    await tab.reads(SLOW_WORDS.join(""), "ready");
    await tab.agrees();
    await tab.ask("hello");
    await until({
      what: "the next question is answered",
      look: () => tab.seen(),
      fits: ({ status, messages }) => status === "ready" && messages.length === 4,
      tell: (seen) => JSON.stringify(seen)
    });
    await tab.agrees();
    await tab.page.close();
  });
});
