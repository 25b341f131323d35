// Pages that have the AI SDK alone: the real `AbstractChat` and transports of `ai` 7 and 6, on the in-process host. Only
// the network is played: a fetch that leads to the host, breaks when the process dies, and leaves when it is aborted.
import {
  AbstractChat,
  DefaultChatTransport,
  WebSocketChatTransport,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  type ChatTransport,
  type UIMessage
} from "ai";
import * as ai6 from "ai6";
import { expect } from "vitest";
import type { TestHost, TestSocket } from "../../src/testing/index.ts";
import { storedMessages } from "../kit/messages.ts";

/** What a page of either major has. The two differ in types of options that these tests do not use. */
export const SDKS = {
  "ai 7": { AbstractChat, DefaultChatTransport },
  "ai 6": ai6 as object as { AbstractChat: typeof AbstractChat; DefaultChatTransport: typeof DefaultChatTransport }
} as const;

export type SdkName = keyof typeof SDKS;

class PageState implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }

  pushMessage = (message: UIMessage) => void (this.messages = [...this.messages, structuredClone(message)]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: UIMessage) =>
    void (this.messages = this.messages.with(index, structuredClone(message)));
  snapshot = <T>(value: T): T => structuredClone(value);
}

export interface PageInit extends Pick<
  ChatInit<UIMessage>,
  "sendAutomaticallyWhen" | "onToolCall" | "onFinish" | "onData"
> {
  readonly sdk?: SdkName;
  readonly over?: "http" | "socket";
  readonly address?: string;
  /** What the page was rendered with. */
  readonly messages?: UIMessage[];
  readonly headers?: Record<string, string>;
}

export type Page = AbstractChat<UIMessage>;

export class PlainNetwork {
  readonly #host: TestHost<object>;
  /** Requests that pages made, newest last. */
  readonly requests: { method: string; url: string; status: number }[] = [];

  constructor(host: TestHost<object>) {
    this.#host = host;
  }

  open({
    sdk = "ai 7",
    over = "http",
    address = "/agents/chat/a",
    messages = [],
    headers,
    ...rest
  }: PageInit = {}): Page {
    const { AbstractChat: Base, DefaultChatTransport: Http } = SDKS[sdk];
    // An abstract class whose state is given to its constructor.
    const Chat = Base as unknown as new (init: ChatInit<UIMessage> & { state: ChatState<UIMessage> }) => Page;
    const url = `http://localhost${address}/chat`;
    const transport: ChatTransport<UIMessage> =
      over === "http"
        ? new Http({ api: url, fetch: (input, init) => this.fetch(input, init), ...(headers && { headers }) })
        : new WebSocketChatTransport({ url, webSocket: socketClass(this.#host) as never });
    return new Chat({ ...rest, transport, state: new PageState(messages) });
  }

  async fetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
    const { signal, ...rest } = init;
    const request = new Request(input, rest);
    const response = await this.#host.fetch(request).catch(() => {
      throw new TypeError("fetch failed");
    });
    this.requests.push({ method: request.method, url: request.url, status: response.status });
    if (!response.body) return response;
    return new Response(networkBody(response.body, signal ?? undefined), response);
  }
}

/** The body as a page reads it: a dead server is a network error, and an abort is a reader that leaves. */
function networkBody(body: ReadableStream<Uint8Array>, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const leave = () => {
          controller.error(signal?.reason);
          void reader.cancel().catch(() => undefined);
        };
        if (signal?.aborted) leave();
        signal?.addEventListener("abort", leave, { once: true });
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (signal?.aborted) return;
          if (done) controller.close();
          else controller.enqueue(value);
        } catch {
          controller.error(new TypeError("network error"));
        }
      },
      cancel: (reason) => reader.cancel(reason)
    },
    { highWaterMark: 0 }
  );
}

/** A WebSocket class that leads to the host. */
export function socketClass(host: TestHost<object>) {
  return class HostWebSocket {
    readyState = 0;
    bufferedAmount = 0;
    onopen: ((event: object) => void) | null = null;
    onmessage: ((event: { data: string }) => void) | null = null;
    onerror: ((event: object) => void) | null = null;
    onclose: ((event: { code: number; reason: string }) => void) | null = null;
    #socket: TestSocket | undefined;

    constructor(url: string | URL) {
      const { pathname, search } = new URL(url);
      void this.#open(`${pathname}${search}`);
    }

    async #open(path: string) {
      try {
        const socket = await host.connect(path);
        this.#socket = socket;
        this.readyState = 1;
        this.onopen?.({});
        socket.listen((frame) => this.onmessage?.({ data: JSON.stringify(frame) }));
        void this.#watch(socket);
      } catch {
        this.readyState = 3;
        this.onerror?.({});
        this.onclose?.({ code: 1006, reason: "" });
      }
    }

    /** The test kit has no event for it. */
    async #watch(socket: TestSocket) {
      while (!socket.closed) await new Promise((resolve) => setImmediate(resolve));
      this.readyState = 3;
      this.onclose?.(socket.closed);
    }

    send(data: string) {
      this.#socket?.send(data);
    }

    close(code?: number, reason?: string) {
      this.readyState = 3;
      this.#socket?.close(code, reason);
    }
  };
}

/** Sends a request as a program does that has no library at all. */
export function postChat(
  host: TestHost<object>,
  body: unknown,
  init: { path?: string; headers?: HeadersInit } = {}
): Promise<Response> {
  return host.fetch(init.path ?? "/agents/chat/a/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...init.headers },
    body: typeof body === "string" ? body : JSON.stringify(body)
  });
}

/** Until nothing happens any more, short pauses included. */
export async function settle(host: TestHost<object>): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await host.advance(50);
  }
}

/** What a page shows, as far as a person can see it: both folds write details of their own. */
export const shown = (messages: readonly UIMessage[]) =>
  messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.flatMap((part): unknown[] => {
      if (part.type === "step-start") return [];
      if ("toolCallId" in part) {
        const { toolCallId, state, input, type } = part;
        const end = "output" in part && part.output !== undefined ? { output: part.output } : {};
        const why = "errorText" in part && part.errorText !== undefined ? { errorText: part.errorText } : {};
        return [{ type, toolCallId, state, input, ...end, ...why }];
      }
      return "text" in part ? [`${part.type}:${part.text}`] : [{ ...part }];
    })
  }));

export async function expectAsStored(page: Page, host: TestHost<object>, path?: string): Promise<void> {
  expect(shown(page.messages)).toEqual(shown(await storedMessages(host, path)));
}

export const answerText = ({ messages }: Page) =>
  (messages.at(-1)?.parts ?? []).map((part) => ("text" in part ? part.text : "")).join("");

/** How a page may talk to an agent. */
export const WAYS: readonly [string, Pick<PageInit, "sdk" | "over">][] = [
  ["ai 7 over HTTP", { sdk: "ai 7", over: "http" }],
  ["ai 6 over HTTP", { sdk: "ai 6", over: "http" }],
  ["ai 7 over a WebSocket", { sdk: "ai 7", over: "socket" }]
];
