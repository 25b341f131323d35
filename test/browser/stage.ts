// One conversation with its tabs, as a scenario plays on it. A scenario that fails is reported with what every tab last
// exchanged with the server.
import { join } from "node:path";
import type { Browser, BrowserContext } from "playwright-core";
import type { WorkerServer } from "../process/workerd-process.ts";
import { expectAgreement } from "./agreement.ts";
import { Conversation } from "./conversation.ts";
import type { GenerationName } from "./page-bundle.ts";
import type { PageServer } from "./page-server.ts";
import type { ShownMessage } from "./page/chat-view.tsx";
import { pageQuery, type PageSettings } from "./page/settings.ts";
import { Tab } from "./tab.ts";

const FRAMES_TOLD = 40;
const FRAME_CHARACTERS = 700;
const LOG_CHARACTERS = 3_000;

export interface StageInit {
  browser: Browser;
  pages: PageServer;
  server: WorkerServer;
  generation: GenerationName;
  /** The conversation's name; a fresh one per stage. */
  name: string;
  /** Messages stored before the scenario begins. */
  history: number;
}

export class Stage {
  readonly conversation: Conversation;
  readonly server: WorkerServer;
  readonly tabs: Tab[] = [];
  readonly #init: StageInit;
  readonly #context: BrowserContext;

  private constructor(init: StageInit, context: BrowserContext) {
    this.#init = init;
    this.#context = context;
    this.server = init.server;
    this.conversation = new Conversation(init.server, init.name);
  }

  static async set(init: StageInit): Promise<Stage> {
    const stage = new Stage(init, await init.browser.newContext());
    if (init.history > 0) await stage.conversation.writeHistory(init.history);
    return stage;
  }

  /** Opens a tab and waits until it is connected. */
  async open(answers: PageSettings["answers"] = "by-button"): Promise<Tab> {
    const { pages, generation, server, name } = this.#init;
    const url = pages.url(generation, pageQuery({ host: new URL(server.url).host, name, answers }));
    const tab = await Tab.open(this.#context, `tab ${"ABCDEF"[this.tabs.length]}`, url);
    this.tabs.push(tab);
    await tab.fence();
    tab.startCounting();
    return tab;
  }

  /** Every tab shows what is stored. Returns it without the history. */
  async agree(): Promise<ShownMessage[]> {
    const stored = await expectAgreement(this.conversation, this.tabs);
    return stored.slice(this.#init.history);
  }

  /** A picture of the tab, for people; only when EVERTHINK_SCREENSHOTS names a folder. */
  async photograph(tab: Tab, subject: string): Promise<void> {
    const folder = process.env["EVERTHINK_SCREENSHOTS"];
    if (folder === undefined) return;
    await tab.page.screenshot({ path: join(folder, `browser-${subject}-${this.#init.generation}.png`) });
  }

  /** What each tab last exchanged with the server, and what the server printed. */
  report(): string {
    const reports = this.tabs.map(({ label, frames, complaints }) => {
      const last = frames
        .slice(-FRAMES_TOLD)
        .map(({ direction, text }) => `${direction === "sent" ? ">" : "<"} ${text.slice(0, FRAME_CHARACTERS)}`);
      return [`--- ${label}`, ...last, ...complaints.map((text) => `! ${text}`)].join("\n");
    });
    return [...reports, "--- workerd", this.server.log.slice(-LOG_CHARACTERS)].join("\n");
  }

  async strike(): Promise<void> {
    await this.#context.close();
  }
}
