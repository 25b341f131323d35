// A person in front of the page: what they see, by the names that assistive technology reads, and what they can do.
// What the page complains about in the console is kept; the test that ends with complaints fails.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { ExampleServer } from "./example-server.ts";

/** The deadline of every wait: generous, for a busy machine. */
const PATIENCE_MS = 30_000;
const LOOK_AGAIN_MS = 50;
const DESKTOP = { width: 1440, height: 900 };
/** What browsers say about a server that is gone. */
const SERVER_IS_GONE = /WebSocket|Failed to load resource|net::ERR_|\[vite\]/;

export class Visitor {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #server: ExampleServer;
  readonly #complaints: string[] = [];
  hasPulledThePlug = false;

  private constructor(context: BrowserContext, page: Page, server: ExampleServer) {
    this.#context = context;
    this.page = page;
    this.#server = server;
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("pageerror", (error) => this.#complaints.push(`uncaught: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.#complaints.push(message.text());
    });
  }

  /** In a browser that was never here before. */
  static async arrive(browser: Browser, server: ExampleServer, options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({ viewport: DESKTOP, colorScheme: "light", ...options });
    const visitor = new Visitor(context, await context.newPage(), server);
    await visitor.page.goto(server.url);
    await visitor.isConnected();
    return visitor;
  }

  /** Another tab of the same browser. */
  async anotherTab(path = new URL(this.page.url()).pathname): Promise<Visitor> {
    const other = new Visitor(this.#context, await this.#context.newPage(), this.#server);
    await other.page.goto(this.#server.url + path);
    await other.isConnected();
    return other;
  }

  async leave(): Promise<void> {
    await this.#context.close();
  }

  // ── What there is ──

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: typeof name === "string" });
  }

  get field(): Locator {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  get log(): Locator {
    return this.page.getByRole("log", { name: "Conversation" });
  }

  get answers(): Locator {
    return this.log.getByRole("article", { name: "Assistant said" });
  }

  get questions(): Locator {
    return this.log.getByRole("article", { name: "You said" });
  }

  get answer(): Locator {
    return this.answers.last();
  }

  get conversations(): Locator {
    return this.page.getByRole("navigation", { name: "Conversations" });
  }

  get board(): Locator {
    return this.page.getByRole("region", { name: "Board" });
  }

  get panel(): Locator {
    return this.page.getByRole("complementary", { name: "Underneath" });
  }

  /** Messages that wait while an answer is written. */
  get waiting(): Locator {
    return this.page.getByRole("list", { name: "Waiting messages" }).getByRole("listitem");
  }

  tool(name: string): Locator {
    return this.log.getByRole("group", { name: `Tool ${name}`, exact: true }).last();
  }

  /** Of the conversation that is shown. */
  get conversationId(): string {
    return new URL(this.page.url()).pathname.split("/").at(-1) ?? "";
  }

  // ── What they do ──

  /** An empty one: the one that is shown, if it is. */
  async newConversation(): Promise<string> {
    await this.button("New conversation").click();
    await this.button(/^Tell a long story/).waitFor();
    await this.isConnected();
    return this.conversationId;
  }

  async ask(question: string): Promise<void> {
    await this.field.fill(question);
    await this.field.press("Enter");
  }

  /** And waits for the answer's end. */
  async askAndWait(question: string): Promise<Locator> {
    const before = await this.answers.count();
    await this.ask(question);
    await this.counts(this.answers, before + 1);
    await this.isSettled();
    return this.answer;
  }

  async suggest(title: string): Promise<void> {
    await this.button(new RegExp(`^${title}`)).click();
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.isConnected();
  }

  /** Kills the server's process. */
  async pullThePlug(): Promise<void> {
    this.hasPulledThePlug = true;
    await this.button("Pull the plug").click();
  }

  // ── What they wait for ──

  async isConnected(): Promise<void> {
    await this.page.locator('[role="status"][data-connection="open"]').waitFor();
  }

  async status(status: string): Promise<void> {
    await this.page.locator(`[role="status"][data-status="${status}"]`).waitFor();
  }

  async isSettled(): Promise<void> {
    await this.page.locator('[role="status"][data-status="settled"][data-connection="open"]').waitFor();
  }

  async counts(what: Locator, count: number): Promise<void> {
    await eventually(() => what.count()).toBe(count);
  }

  /** The answer in the making is at least this long. */
  async reads(characters: number): Promise<void> {
    await eventually(() => textIn(this.answer)).satisfy((text: string) => text.length >= characters);
  }

  async answerHas(text: string | RegExp): Promise<void> {
    // What went into and came out of a tool is folded away.
    await this.answer.getByText(text).filter({ visible: true }).first().waitFor();
  }

  // ── What people are shown of it ──

  /** Only when EVERTHINK_SCREENSHOTS names a folder. */
  async photograph(subject: string): Promise<void> {
    const folder = process.env["EVERTHINK_SCREENSHOTS"];
    if (folder === undefined || folder === "" || this.page.isClosed()) return;
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `assistant-${this.#server.mode}-${subject}.png`);
    await this.page.screenshot({ path, animations: "disabled" });
  }

  /** What the console said. A server that was killed may be missed. */
  complaints({ wasServerKilled = false } = {}): string[] {
    return this.#complaints.filter((text) => !wasServerKilled || !SERVER_IS_GONE.test(text));
  }
}

export function eventually<Seen>(look: () => Promise<Seen> | Seen) {
  return expect.poll(look, { timeout: PATIENCE_MS, interval: LOOK_AGAIN_MS });
}

/** The words of an answer as they are shown. Empty while there is none. */
export async function textIn(answer: Locator): Promise<string> {
  const texts = await answer.locator(".think-markdown").allInnerTexts();
  return texts.join("\n");
}
