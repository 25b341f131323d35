// The sessions of one agent: one for its conversation, one for each run of code. Kept in memory only: after a restart there is
// none, and each action says so.
import { errorMessage, ThinkError } from "../../util/errors.ts";
import { browserErrors } from "./errors.ts";
import type { HeldRequest } from "./gate.ts";
import type { Browser, BrowserSettings } from "./options.ts";
import { BrowserSession } from "./session.ts";

const MAX_SESSIONS = 3;

interface SessionsInit {
  readonly browser: () => Browser;
  readonly env: unknown;
  readonly newId: () => string;
}

export class BrowserSessions {
  readonly #init: SessionsInit;
  readonly #sessions = new Map<string, Promise<BrowserSession>>();
  readonly #live = new Map<string, BrowserSession>();

  constructor(init: SessionsInit) {
    this.#init = init;
  }

  get settings(): BrowserSettings {
    return this.#init.browser().options;
  }

  /** The session of this key, begun where there is none. Rejects with BrowserActionError. */
  async start(key: string): Promise<BrowserSession> {
    this.#forgetEnded();
    const known = this.#sessions.get(key);
    if (known) return await known;
    if (this.#sessions.size >= MAX_SESSIONS)
      throw browserErrors.BrowserActionError(`Not more than ${MAX_SESSIONS} browsers are open at once.`);
    const started = this.#start();
    this.#sessions.set(key, started);
    try {
      const session = await started;
      // It may have been closed while it was started.
      if (this.#sessions.get(key) === started) this.#live.set(key, session);
      else session.close("the turn was over");
      return session;
    } catch (error) {
      this.#sessions.delete(key);
      throw error;
    }
  }

  /** Throws BrowserActionError where there is none. Why one has ended is said by each action. */
  find(key: string): BrowserSession {
    const session = this.#live.get(key);
    if (session) return session;
    throw browserErrors.BrowserActionError(
      "No page is open: the browser is closed at the end of each turn, and when the agent restarts. Open the address first."
    );
  }

  /** What is held under this name. */
  held(key: string, request: string): HeldRequest | undefined {
    return this.#live.get(key)?.find(request);
  }

  /** Whether it waits with something for a person. */
  isAsking(key: string): boolean {
    return this.#live.get(key)?.isAsking === true;
  }

  close(key: string, reason: string): void {
    this.#live.get(key)?.close(reason);
    this.#live.delete(key);
    this.#sessions.delete(key);
  }

  closeAll(reason: string): void {
    for (const key of [...this.#sessions.keys()]) this.close(key, reason);
  }

  /** An ended session is known until the next address is opened, so that its end is told. */
  #forgetEnded(): void {
    for (const [key, session] of this.#live) if (session.ended !== undefined) this.close(key, session.ended);
  }

  async #start(): Promise<BrowserSession> {
    const { browser, env, newId } = this.#init;
    const { connect, options: settings } = browser();
    try {
      return await BrowserSession.start({ settings, newId, link: await connect(env, settings.idleMs) });
    } catch (error) {
      if (error instanceof ThinkError) throw error;
      console.warn(`The browser could not be reached: ${errorMessage(error)}`);
      throw browserErrors.BrowserActionError("The browser is not available: it could not be reached.", error);
    }
  }
}
