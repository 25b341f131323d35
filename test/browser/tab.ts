// One tab: what it shows, the buttons on it, and every WebSocket frame it sent or received.
import type { BrowserContext, Page } from "playwright-core";
import type { ShownMessage } from "./page/chat-view.tsx";
import { until } from "./until.ts";

const MESSAGES_TOLD = 4;

export interface Frame {
  readonly direction: "sent" | "received";
  readonly text: string;
  readonly at: number;
}

export interface Received {
  readonly bytes: number;
  readonly snapshots: number;
}

/** What a person, or a script on the page, can see. */
export interface TabView {
  readonly status: string;
  readonly isStreaming: boolean;
  readonly isRecovering: boolean;
  readonly error: string | undefined;
  readonly messages: readonly ShownMessage[];
  readonly checks: number;
}

export class Tab {
  readonly label: string;
  readonly frames: Frame[] = [];
  /** Exceptions that the page did not catch, and what it printed as an error. */
  readonly complaints: string[] = [];
  readonly page: Page;
  #countedFrom = 0;

  private constructor(label: string, page: Page) {
    this.label = label;
    this.page = page;
  }

  static async open(context: BrowserContext, label: string, url: string): Promise<Tab> {
    const page = await context.newPage();
    const tab = new Tab(label, page);
    const devtools = await context.newCDPSession(page);
    devtools.on("Network.webSocketFrameReceived", ({ response }) => tab.#note("received", response.payloadData));
    devtools.on("Network.webSocketFrameSent", ({ response }) => tab.#note("sent", response.payloadData));
    await devtools.send("Network.enable");
    page.on("pageerror", (error) => tab.complaints.push(`uncaught: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") tab.complaints.push(message.text());
    });
    await page.goto(url);
    return tab;
  }

  /** Undefined while the page is loading. */
  view(): Promise<TabView | undefined> {
    return this.page.evaluate(() => {
      const text = (id: string): string | undefined => document.getElementById(id)?.textContent ?? undefined;
      const status = text("status");
      if (status === undefined) return undefined;
      return {
        status,
        isStreaming: text("streaming") !== undefined,
        isRecovering: text("recovering") !== undefined,
        error: text("error"),
        messages: JSON.parse(text("messages") ?? "[]"),
        checks: Number(text("checks"))
      };
    });
  }

  async until(what: string, fits: (view: TabView) => boolean, deadlineMs?: number): Promise<TabView> {
    const view = await until({
      what: `${this.label} ${what}`,
      look: () => this.view(),
      fits: (seen) => seen !== undefined && fits(seen),
      tell: (seen) => JSON.stringify(seen && { ...seen, messages: seen.messages.slice(-MESSAGES_TOLD) }, null, 1),
      ...(deadlineMs !== undefined && { deadlineMs })
    });
    // `fits` refuses undefined.
    return view as TabView;
  }

  untilShows(text: string, deadlineMs?: number): Promise<TabView> {
    return this.until(`shows "${text}"`, ({ messages }) => textOf(messages.at(-1)).includes(text), deadlineMs);
  }

  untilIdle(deadlineMs?: number): Promise<TabView> {
    const isIdle = (view: TabView): boolean =>
      (view.status === "ready" || view.status === "error") && !view.isStreaming && !view.isRecovering;
    return this.until("is idle", isIdle, deadlineMs);
  }

  /** Loaded, and its socket carries frames both ways. All frames sent to it before have been handled then. */
  async fence(deadlineMs?: number): Promise<void> {
    const before = await this.until("is loaded", () => true, deadlineMs);
    await this.click("#check");
    await this.until("hears from the server", ({ checks }) => checks > before.checks, deadlineMs);
  }

  async send(text: string): Promise<void> {
    await this.page.fill("#text", text);
    await this.click("#send");
  }

  async edit(messageId: string, text: string): Promise<void> {
    await this.page.fill("#text", text);
    await this.click(`[data-message="${messageId}"] .edit`);
  }

  click(selector: string): Promise<void> {
    return this.page.click(selector);
  }

  async reload(): Promise<void> {
    await this.page.reload();
  }

  /** From here on received bytes count: connecting is over. */
  startCounting(): void {
    this.#countedFrom = this.frames.length;
  }

  /** Bytes and whole transcripts it was sent. */
  received(): Received {
    const counted = this.frames.slice(this.#countedFrom).filter(({ direction }) => direction === "received");
    return {
      bytes: counted.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
      snapshots: counted.filter(isSnapshot).length
    };
  }

  lastSnapshotAgeMs(): number {
    const last = this.frames.findLast(isSnapshot);
    return performance.now() - (last?.at ?? -Infinity);
  }

  #note(direction: Frame["direction"], text: string): void {
    this.frames.push({ direction, text, at: performance.now() });
  }
}

function isSnapshot({ direction, text }: Frame): boolean {
  return direction === "received" && text.startsWith('{"type":"cf_agent_chat_messages"');
}

export function textOf(message: ShownMessage | undefined): string {
  return (message?.parts ?? []).map(({ type, text }) => (type === "text" ? text : "")).join("");
}
