// The durable agent as a language model of the AI SDK. One call is one request of a plain client: a question, or answers to
// calls of the last answer. Its own tools run where it is: they are shown as calls that the provider executes.
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart
} from "@ai-sdk/provider";
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { gatherContent } from "./content.ts";
import { ChunkParts } from "./parts.ts";
import { readRequest } from "./prompt.ts";

type StreamResult = Awaited<ReturnType<LanguageModelV3["doStream"]>>;

export class AgentModel implements LanguageModelV3 {
  readonly specificationVersion = "v3";
  readonly provider = "everthink";
  readonly modelId = "agent";
  /** Addresses that are passed on: the agent stores files itself. */
  readonly supportedUrls = { "*/*": [/^https?:/] };
  readonly #transport: Pick<ChatTransport<UIMessage>, "sendMessages">;
  /** The newest answer, to which calls in a prompt belong. */
  #answer: UIMessage | undefined;

  constructor(transport: Pick<ChatTransport<UIMessage>, "sendMessages">) {
    this.#transport = transport;
  }

  async doStream({ prompt, tools = [], abortSignal }: LanguageModelV3CallOptions): Promise<StreamResult> {
    const message = readRequest(prompt, this.#answer);
    const own = tools.flatMap((tool) => (tool.type === "function" ? [tool] : []));
    const clientTools = own.map(({ name, description, inputSchema }) => ({
      name,
      description,
      parameters: inputSchema
    }));
    const chunks = await this.#transport.sendMessages({
      trigger: "submit-message",
      chatId: this.modelId,
      messageId: undefined,
      messages: [message],
      abortSignal,
      body: clientTools.length > 0 ? { clientTools } : undefined
    });
    const extended = message.role === "assistant" ? message : undefined;
    const parts = new ChunkParts(extended, new Set(own.map(({ name }) => name)));
    const stream = chunks.pipeThrough(
      new TransformStream<UIMessageChunk, LanguageModelV3StreamPart>({
        start: (out) => out.enqueue({ type: "stream-start", warnings: [] }),
        transform: (chunk, out) => {
          for (const part of parts.read(chunk)) out.enqueue(part);
        },
        flush: (out) => {
          this.#answer = parts.answer;
          out.enqueue(parts.end());
        }
      })
    );
    return { stream };
  }

  async doGenerate(options: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> {
    const shown = this.#answer;
    const { stream } = await this.doStream(options);
    return gatherContent(stream, shown);
  }
}
