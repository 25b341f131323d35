// An OpenAI that runs here and is asked over HTTP: it calls the tool it was given (`log` with what the last question says,
// `soundHorn` with the number in it), and once it sees the tool's result it repeats that as its answer. Speaks the
// streaming Responses API.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

interface Item {
  type?: string;
  role?: string;
  content?: string | { text?: string }[];
  output?: unknown;
}

export class FakeOpenAi {
  readonly keys = new Set<string | undefined>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeOpenAi> {
    const server = createServer();
    const fake = new FakeOpenAi(server);
    server.on("request", (request, response) => {
      fake.keys.add(request.headers.authorization);
      void request.toArray().then((pieces) => {
        const { input, tools = [] } = JSON.parse(pieces.join("")) as { input: Item[]; tools?: { name?: string }[] };
        response.writeHead(200, { "content-type": "text/event-stream" });
        const hasHorn = tools.some(({ name }) => name === "soundHorn");
        for (const event of answerTo(input, hasHorn)) response.write(`data: ${JSON.stringify(event)}\n\n`);
        response.end();
      });
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
}

function answerTo(input: readonly Item[], hasHorn: boolean): object[] {
  const last = input.at(-1);
  const question = questionIn(input);
  const call = hasHorn ? { name: "soundHorn", arguments: { seconds: numberIn(question) } } : logCall(question);
  const content = last?.type === "function_call_output" ? textEvents(String(last.output)) : callEvents(call);
  return [
    { type: "response.created", response: { id: "r1", created_at: 1, model: "gpt-5-mini" } },
    ...content,
    { type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 1 } } }
  ];
}

function questionIn(input: readonly Item[]): string {
  const content = input.findLast(({ role }) => role === "user")?.content ?? "";
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("");
}

function textEvents(text: string): object[] {
  const item = { type: "message", id: "m1" };
  return [
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_text.delta", item_id: item.id, delta: text },
    { type: "response.output_item.done", output_index: 0, item }
  ];
}

function logCall(line: string) {
  return { name: "log", arguments: { line } };
}

function numberIn(text: string): number {
  return Number(/\d+/.exec(text)?.[0] ?? 1);
}

function callEvents(call: { name: string; arguments: object }): object[] {
  const callId = `call-${crypto.randomUUID()}`;
  const item = { type: "function_call", id: "f1", call_id: callId, name: call.name, arguments: "" };
  const done = { ...item, arguments: JSON.stringify(call.arguments), status: "completed" };
  return [
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.function_call_arguments.delta", item_id: "f1", output_index: 0, delta: done.arguments },
    { type: "response.output_item.done", output_index: 0, item: done }
  ];
}
