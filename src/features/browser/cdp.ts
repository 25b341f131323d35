// The Chrome DevTools Protocol over one socket: commands with an answer, events without. What this package needs of it, typed
// where it is read. https://chromedevtools.github.io/devtools-protocol/
import { isObject } from "../../util/json.ts";
import type { CdpSocket } from "./endpoints.ts";
import { browserErrors } from "./errors.ts";

export interface CdpEvent {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Of the target that it is about; undefined: the browser. */
  readonly sessionId: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

interface Waiting {
  readonly resolve: (result: Fields) => void;
  readonly reject: (error: Error) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** A page that blocks its thread answers nothing: it is given up then. */
const COMMAND_MS = 20_000;
/** Characters of one message. A page decides about the length of some. */
const MAX_MESSAGE_CHARS = 32 * 1024 * 1024;

export class CdpConnection {
  readonly #socket: CdpSocket;
  readonly #onEvent: (event: CdpEvent) => void;
  readonly #onEnd: (reason: string) => void;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #ended: string | undefined;

  constructor(socket: CdpSocket, { onEvent, onEnd }: Pick<Handlers, "onEvent" | "onEnd">) {
    this.#socket = socket;
    this.#onEvent = onEvent;
    this.#onEnd = onEnd;
    socket.addEventListener("message", ({ data }: MessageEvent) => this.#receive(data));
    socket.addEventListener("close", () => this.end("the connection to the browser was lost"));
    socket.addEventListener("error", () => this.end("the connection to the browser failed"));
  }

  /** Rejects with BrowserActionError: a refusal of the browser, an answer that does not come, or an end of the connection. */
  async send(method: string, params: object = {}, sessionId?: string): Promise<Fields> {
    if (this.#ended !== undefined) throw gone(this.#ended);
    this.#lastId += 1;
    const id = this.#lastId;
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.end("the page did not answer"), COMMAND_MS);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  }

  /** The reason is the first one. */
  end(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(gone(reason));
    }
    this.#waiting.clear();
    closeQuietly(this.#socket);
    this.#onEnd(reason);
  }

  #receive(data: unknown): void {
    if (typeof data !== "string" || data.length > MAX_MESSAGE_CHARS) return this.end("the page sent too much");
    const message: unknown = JSON.parse(data);
    if (!isObject(message)) return;
    const { id, method, params, sessionId } = message;
    if (typeof id === "number") return this.#settle(id, message);
    if (typeof method !== "string") return;
    this.#onEvent({
      method,
      params: isObject(params) ? params : {},
      sessionId: typeof sessionId === "string" ? sessionId : undefined
    });
  }

  #settle(id: number, { result, error }: Fields): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (!isObject(error)) return waiting.resolve(isObject(result) ? result : {});
    waiting.reject(browserErrors.BrowserActionError("The browser refused it.", new Error(String(error["message"]))));
  }
}

interface Handlers {
  readonly onEvent: (event: CdpEvent) => void;
  readonly onEnd: (reason: string) => void;
}

export function gone(reason: string): Error {
  return browserErrors.BrowserActionError(
    `The browser was closed: ${reason}. What was open in it is gone; open the address again if it is still needed.`
  );
}

function closeQuietly(socket: CdpSocket): void {
  try {
    socket.close();
  } catch {
    // It is closed already.
  }
}
