// A model server with OpenAI's chat completions, as Ollama and others have it: it wants a key, lists its model, streams, and
// calls the tool `pay` where it is offered and money is asked for. The first answer to "slowly" stops in the middle.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const KEY = "a-key-of-nobody";
export const MODEL = "fake-model";

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

export class FakeCompatible {
  readonly #server: Server;
  /** Answers that have stopped in the middle, in all. */
  stopped = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeCompatible> {
    const server = createServer();
    const fake = new FakeCompatible(server);
    server.on("request", (request, response) => {
      if (request.headers.authorization !== `Bearer ${KEY}`) return void response.writeHead(401).end("{}");
      if (request.url === "/v1/models") return void response.end(JSON.stringify({ data: [{ id: MODEL }] }));
      void request.toArray().then((pieces) => fake.#answer(JSON.parse(pieces.join("")) as Asked, response));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer({ messages, tools = [] }: Asked, response: ServerResponse): void {
    const asked = messages.filter(({ role }) => role === "user").map(({ content }) => textIn(content));
    // After a kill the answer is asked for from its start, or, if some of it was stored, from there on.
    const question = asked.findLast((text) => !text.startsWith("Continue your previous response")) ?? "";
    const isAfterTool = messages.at(-1)?.role === "tool";
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta: object, finish: string | null = null) =>
      void response.write(
        `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: MODEL, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
      );
    const amount = /pay (\d+)/i.exec(question)?.[1];
    if (amount !== undefined && !isAfterTool && tools.some(({ function: { name } }) => name === "pay")) {
      const call = { name: "pay", arguments: JSON.stringify({ amount: Number(amount), payee: "Grace" }) };
      send({
        role: "assistant",
        tool_calls: [{ index: 0, id: `call-${crypto.randomUUID()}`, type: "function", function: call }]
      });
      send({}, "tool_calls");
    } else if (/slowly/.test(question) && this.stopped === 0) {
      this.stopped += 1;
      return send({ role: "assistant", content: "It begins, " });
    } else {
      send({ role: "assistant", content: isAfterTool ? "It is paid." : `The model heard: ${question}` });
      send({}, "stop");
    }
    response.end("data: [DONE]\n\n");
  }
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? "").join("") : "";
}
