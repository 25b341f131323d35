// The real provider packages, of the SDK's major that the suite runs with, before APIs that refuse what the real ones refuse.
// An API here answers "Fine." to everything else, and keeps the bodies it was sent.
import type { LanguageModel } from "ai";
import type { createAnthropic as CreateAnthropic } from "@ai-sdk/anthropic";
import type { createGoogleGenerativeAI as CreateGoogle } from "@ai-sdk/google";
import type { createOpenAI as CreateOpenAI } from "@ai-sdk/openai";
import { IS_AI_6 } from "../../src/testing/model/installed-model.test-support.ts";

export interface ProviderApi {
  readonly name: string;
  open(): Promise<OpenApi>;
}

export interface OpenApi {
  readonly model: LanguageModel;
  /** What it was sent, refused or not. */
  readonly bodies: Body[];
}

// Bodies are what the tests are about: each API reads its own out of them.
export type Body = Record<string, never[]>;
interface Block {
  readonly type?: string;
  readonly text?: string;
  readonly content?: string | readonly Block[];
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
}
interface Message {
  readonly role: string;
  readonly type?: string;
  readonly content?: string | null | readonly Block[];
  readonly parts?: readonly Block[];
  readonly tool_calls?: readonly unknown[];
}

const settings = { apiKey: "none", baseURL: "https://provider.example" };

// By a computed name: the packages of one major are not assignable to the types of the other.
const packageOf = async <Package>(name: string): Promise<Package> =>
  (await import(/* @vite-ignore */ IS_AI_6 ? `${name}-ai6` : `@ai-sdk/${name}`)) as Package;

export const PROVIDER_APIS: readonly ProviderApi[] = [
  {
    name: "Anthropic",
    open: () =>
      openApi({ refusal: refusedByAnthropic, answer: anthropicAnswer }, async (fetch) => {
        const { createAnthropic } = await packageOf<{ createAnthropic: typeof CreateAnthropic }>("anthropic");
        return createAnthropic({ ...settings, fetch })("claude-sonnet-4-5");
      })
  },
  {
    name: "Gemini",
    open: () =>
      openApi({ refusal: refusedByGemini, answer: geminiAnswer }, async (fetch) => {
        const { createGoogleGenerativeAI } = await packageOf<{ createGoogleGenerativeAI: typeof CreateGoogle }>(
          "google"
        );
        return createGoogleGenerativeAI({ ...settings, fetch })("gemini-3-pro-preview");
      })
  },
  {
    name: "OpenAI responses",
    open: () =>
      openApi({ refusal: refusedByResponses, answer: responsesAnswer }, async (fetch) => {
        const { createOpenAI } = await packageOf<{ createOpenAI: typeof CreateOpenAI }>("openai");
        return createOpenAI({ ...settings, fetch }).responses("gpt-5");
      })
  },
  {
    name: "OpenAI chat",
    open: () =>
      openApi({ refusal: refusedByCompletions, answer: completionsAnswer }, async (fetch) => {
        const { createOpenAI } = await packageOf<{ createOpenAI: typeof CreateOpenAI }>("openai");
        return createOpenAI({ ...settings, fetch }).chat("gpt-4.1");
      })
  }
];

interface Api {
  /** Why a body is refused. */
  readonly refusal: (body: Body) => string | undefined;
  readonly answer: readonly object[];
}

async function openApi(
  { refusal, answer }: Api,
  modelWith: (fetch: typeof globalThis.fetch) => Promise<LanguageModel>
): Promise<OpenApi> {
  const bodies: Body[] = [];
  const model = await modelWith(async (_url, init) => {
    const body = JSON.parse(String(init?.body)) as Body;
    bodies.push(body);
    const message = refusal(body);
    if (message !== undefined) return Response.json({ error: { message, code: 400 } }, { status: 400 });
    const events = answer.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    return new Response(events, { headers: { "content-type": "text/event-stream" } });
  });
  return { model, bodies };
}

const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === "";
const blocksOf = (content: Message["content"]): readonly Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);

function refusedByAnthropic(body: Body): string | undefined {
  const messages: Message[] = body["messages"] ?? [];
  const system: Block[] = body["system"] ?? [];
  if (messages.length === 0) return "messages: at least one message is required";
  for (const { role, content } of messages) {
    const blocks = blocksOf(content);
    if (blocks.length === 0) return "all messages must have non-empty content";
    if (role === "assistant" && blocks.at(-1)?.type?.endsWith("thinking")) return "the final block cannot be thinking";
  }
  const blocks = [...system, ...messages.flatMap(({ content }) => blocksOf(content))];
  const inner = blocks.flatMap((block) =>
    block.type === "tool_result" && typeof block.content === "object" ? block.content : []
  );
  const isRefused = [...blocks, ...inner].some(({ type, text }) => type === "text" && isBlank(text));
  return isRefused ? "text content blocks must contain non-whitespace text" : undefined;
}

function refusedByGemini(body: Body): string | undefined {
  const contents: Message[] = body["contents"] ?? [];
  if (contents.length === 0) return "contents are required";
  for (const { parts = [] } of contents) {
    if (parts.length === 0) return "contents.parts must not be empty";
    const says = parts.filter(({ text, thoughtSignature }) => text !== "" || thoughtSignature !== undefined);
    if (says.length < parts.length) return "a part must have one initialized field";
    if (parts.every(({ thought }) => thought === true)) return "contents.parts must not be thoughts only";
  }
  return undefined;
}

function refusedByResponses(body: Body): string | undefined {
  const items: Message[] = body["input"] ?? [];
  if (items.length === 0) return "input is required";
  for (const [index, { role, content, type }] of items.entries()) {
    const next = items[index + 1];
    if (type === "reasoning" && (next === undefined || next.role === "user")) {
      return "a reasoning item was provided without its required following item";
    }
    if (role !== undefined && !blocksOf(content).some((block) => block.text !== "")) return "content is empty";
  }
  return undefined;
}

function refusedByCompletions(body: Body): string | undefined {
  const messages: Message[] = body["messages"] ?? [];
  if (!messages.some(({ role }) => role !== "system")) return "messages are required";
  const isEmpty = messages.some(
    ({ content, tool_calls, role }) =>
      role !== "tool" && tool_calls === undefined && !blocksOf(content).some((block) => block.text !== "")
  );
  return isEmpty ? "content is empty" : undefined;
}

const anthropicAnswer = [
  { type: "message_start", message: { id: "m", model: "claude", usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Fine." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
  { type: "message_stop" }
];

const geminiAnswer = [
  { candidates: [{ content: { role: "model", parts: [{ text: "Fine." }] }, finishReason: "STOP" }], usageMetadata: {} }
];

const responsesAnswer = [
  { type: "response.created", response: { id: "r", created_at: 0, model: "gpt-5" } },
  { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_9" } },
  { type: "response.output_text.delta", item_id: "msg_9", delta: "Fine." },
  { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "msg_9" } },
  { type: "response.completed", response: { usage: { input_tokens: 1, output_tokens: 1 } } }
];

const completionsAnswer = [
  { id: "c", created: 0, model: "gpt-4.1", choices: [{ index: 0, delta: { role: "assistant", content: "Fine." } }] },
  { id: "c", created: 0, model: "gpt-4.1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }
];
