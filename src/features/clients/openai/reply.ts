// What an OpenAI client is sent back: events of a stream, or one object when the answer is over.
import { TextStream } from "../plain/text-stream.ts";

export const NO_STORE = { "Cache-Control": "no-store" };

export const EVENT_HEADERS = { ...NO_STORE, "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" };

/** As the API reports errors. */
export function errorBody(message: string, type: "invalid_request_error" | "server_error") {
  return { error: { message, type, param: null, code: null } };
}

export class EventReply extends TextStream {
  event(data: object, name?: string): boolean {
    return this.write(eventText(data, name));
  }

  end(last = ""): void {
    this.close(last);
  }

  protected override errorText(message: string): string {
    return eventText(errorBody(message, "server_error")) + DONE;
  }
}

/** The last event of a stream of completions. */
export const DONE = "data: [DONE]\n\n";

export function eventText(data: object, name?: string): string {
  const head = name === undefined ? "" : `event: ${name}\n`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}

/** One answer to a request that waits for it. */
export class ObjectReply {
  readonly response: Promise<Response>;
  readonly #resolve: (response: Response) => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
  }

  send(value: object): void {
    this.#resolve(Response.json(value, { headers: NO_STORE }));
  }

  fail(errorText: string): void {
    this.#resolve(Response.json(errorBody(errorText, "server_error"), { status: 500, headers: NO_STORE }));
  }
}
