// What can be done in a browser, as results that a model or code reads. A refusal and an end of the browser are results too, so
// that a turn goes on.
import type { PageFiles } from "../web/page-files.ts";
import { saveBytes, saveText } from "../web/page-files.ts";
import type { MediaOutput } from "../web/fetch-tool.ts";
import { browserErrors, isActionError } from "./errors.ts";
import type { HeldRequest } from "./gate.ts";
import type { BrowserSession, SeenPage } from "./session.ts";
import type { BrowserSessions } from "./sessions.ts";

export interface PageOutput {
  url: string;
  title: string;
  /** The text of the page. Elements that can be used have a name in brackets, such as e12. */
  content: string;
  /** Where `content` begins, and how long the whole is. */
  from?: number;
  totalChars?: number;
  /** The file with the whole of a page that is too long to be shown at once. */
  path?: string;
  /** What was refused or closed. */
  notes?: string[];
  /** What the action would send. A person must approve it. */
  asks?: HeldRequest[];
}

export interface FailedOutput {
  error: string;
}

export type BrowserOutput = PageOutput | MediaOutput | FailedOutput;

/** Of the turn, or of one run of code. */
export interface BrowserUse {
  /** Whose session it is. */
  readonly key: string;
  readonly signal: AbortSignal | undefined;
}

const MAX_URL_CHARS = 4_000;

export class BrowserActions {
  readonly #sessions: BrowserSessions;
  readonly #files: PageFiles;

  constructor(sessions: BrowserSessions, files: PageFiles) {
    this.#sessions = sessions;
    this.#files = files;
  }

  async open(use: BrowserUse, given: string): Promise<BrowserOutput> {
    const url = URL.parse(given.trim());
    if (!url || given.length > MAX_URL_CHARS)
      return { error: "This is not an address. Give one that begins with https://" };
    return await told(async () => await this.#shown(await (await this.#sessions.start(use.key)).open(url, use.signal)));
  }

  async read(use: BrowserUse, from = 0): Promise<BrowserOutput> {
    return await told(async () => await this.#shown(await this.#sessions.find(use.key).read(), from));
  }

  async click(use: BrowserUse, ref: string): Promise<BrowserOutput> {
    return await this.#acted(use, (session) => session.click(ref, use.signal));
  }

  async type(use: BrowserUse, input: { ref: string; text: string; submit?: boolean }): Promise<BrowserOutput> {
    const { ref, text, submit = false } = input;
    return await this.#acted(use, (session) => session.type({ ref, text, submits: submit }, use.signal));
  }

  async screenshot(use: BrowserUse): Promise<BrowserOutput> {
    return await told(async () => {
      const { url, bytes } = await this.#sessions.find(use.key).screenshot();
      const path = await saveBytes(this.#files, new URL(url), { bytes, mediaType: "image/jpeg" });
      const note = path === undefined ? { note: "It is not shown: this agent has no files" } : { path };
      return { kind: "image" as const, url, mediaType: "image/jpeg", sizeBytes: bytes.byteLength, ...note };
    });
  }

  /** `shown`: what a person has approved, where the caller was given it. */
  async send(use: BrowserUse, request: string, shown?: HeldRequest): Promise<BrowserOutput> {
    return await this.#acted(use, async (session) => {
      const held = session.find(request);
      const isSame = shown === undefined || (held && isSameRequest(held, shown));
      if (held && !isSame)
        throw browserErrors.BrowserActionError("Nothing was sent: this is not what the page waits with.");
      return await session.send(request, use.signal);
    });
  }

  async #acted(use: BrowserUse, act: (session: BrowserSession) => Promise<SeenPage>): Promise<BrowserOutput> {
    return await told(async () => await this.#shown(await act(this.#sessions.find(use.key))));
  }

  async #shown({ url, title, text, isCut, notes, held }: SeenPage, from = 0): Promise<PageOutput> {
    const { maxShownChars } = this.#sessions.settings;
    // Not between the two halves of a character.
    const content = text.slice(from, from + maxShownChars).replace(/[\ud800-\udbff]$/, "");
    const isPart = from > 0 || text.length > maxShownChars;
    const path = text.length > maxShownChars ? await saveText(this.#files, new URL(url), text) : undefined;
    const ends = isCut ? ["The page is longer than what can be read of one."] : [];
    const told = [...notes, ...ends];
    return {
      url,
      title,
      content,
      ...(isPart && { from, totalChars: text.length }),
      ...(path !== undefined && { path }),
      ...(told.length > 0 && { notes: told }),
      ...(held.length > 0 && { asks: [...held] })
    };
  }
}

function isSameRequest(one: HeldRequest, other: HeldRequest): boolean {
  return one.method === other.method && one.url === other.url && one.body === other.body;
}

async function told(work: () => Promise<BrowserOutput>): Promise<BrowserOutput> {
  try {
    return await work();
  } catch (error) {
    if (isActionError(error)) return { error: error.message };
    throw error;
  }
}
