// What an OpenAI client is sent back: events of a stream, or one object when the answer is over.
import { jsonResponse } from "../../../util/json.ts";
import { DONE, TextStream } from "../plain/text-stream.ts";

/** Makes the body of an error, as the API reports it. */
export function errorBody(message: string, type: "invalid_request_error" | "server_error") {
  return { error: { message, type, param: null, code: null } };
}

export class EventReply extends TextStream {
  event(data: object, name?: string): boolean {
    return this.write(eventText(data, name));
  }

  /** A comment of server-sent events: the API has no event for it, and readers skip it. */
  silent(sinceMs: number): boolean {
    return this.write(`: The model has said nothing since ${new Date(sinceMs).toISOString()}.\n\n`);
  }

  end(last = ""): void {
    this.close(last);
  }

  protected override errorText(message: string): string {
    return eventText(errorBody(message, "server_error")) + DONE;
  }
}

export function eventText(data: object, name?: string): string {
  const head = name === undefined ? "" : `event: ${name}\n`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}

/** The one object that a request waits for. */
export class ObjectReply {
  readonly response: Promise<Response>;
  readonly #resolve: (response: Response) => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
  }

  send(value: object): void {
    this.#resolve(jsonResponse(value));
  }

  fail(errorText: string): void {
    this.#resolve(jsonResponse(errorBody(errorText, "server_error"), 500));
  }
}
