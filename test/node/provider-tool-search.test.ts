// A provider's own search for tools, as a class brings it: the real package of Anthropic against a fake of its HTTP answers.
import { createAnthropic } from "@ai-sdk/anthropic";
import { expect, test } from "vitest";
import type { ToolCallResultContext } from "../../src/index.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { Refunder } from "../docs/examples/tools-provider.ts";
import { user } from "../kit/messages.ts";

interface Sent {
  readonly tools: readonly { readonly name: string; readonly type?: string; readonly defer_loading?: boolean }[];
  readonly messages: readonly { readonly content: readonly { readonly type: string }[] }[];
}

const sent: Sent[] = [];
const called: string[] = [];
let answers: object[][] = [];

const block = (index: number, content_block: object, delta?: object) => [
  { type: "content_block_start", index, content_block },
  ...(delta ? [{ type: "content_block_delta", index, delta }] : []),
  { type: "content_block_stop", index }
];
const answer = (stop_reason: string, ...blocks: object[][]): object[] => [
  {
    type: "message_start",
    message: {
      id: "m",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5",
      content: [],
      usage: { input_tokens: 1, output_tokens: 1 }
    }
  },
  ...blocks.flat(),
  { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } },
  { type: "message_stop" }
];
const words = (text: string) => answer("end_turn", block(0, { type: "text", text: "" }, { type: "text_delta", text }));
const json = (value: object) => ({ type: "input_json_delta", partial_json: JSON.stringify(value) });

const provider = createAnthropic({
  apiKey: "none",
  fetch: async (_url, init) => {
    sent.push(JSON.parse(String(init?.body)) as Sent);
    const events = answers.shift() ?? words("Done.");
    const body = events.map(
      (event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`
    );
    return new Response(body.join(""), { headers: { "content-type": "text/event-stream" } });
  }
});

class Clerk extends Refunder {
  override workspaceTools = false;

  override getModel() {
    return provider("claude-sonnet-4-5");
  }

  override afterToolCall({ toolName, input }: ToolCallResultContext) {
    called.push(`${toolName} ${JSON.stringify(input)}`);
  }
}

test("Anthropic's search finds a tool of the class; what it found is in the transcript and sent again after a restart", async () => {
  answers = [
    answer(
      "tool_use",
      block(
        0,
        { type: "server_tool_use", id: "srvtoolu_1", name: "tool_search_tool_bm25", input: {} },
        json({ query: "refund" })
      ),
      block(1, {
        type: "tool_search_tool_result",
        tool_use_id: "srvtoolu_1",
        content: {
          type: "tool_search_tool_search_result",
          tool_references: [{ type: "tool_reference", tool_name: "refund" }]
        }
      }),
      block(2, { type: "tool_use", id: "toolu_1", name: "refund", input: {} }, json({ order: "7" }))
    ),
    words("Refunded.")
  ];
  const host = createTestHost({ agents: { Clerk } });
  await (await host.get(Clerk, "a")).saveMessages([user("u1", "Refund my order.")]);
  const [first] = sent;
  expect(first?.tools.map(({ type, name }) => type ?? name)).toContain("tool_search_tool_bm25_20251119");
  expect(first?.tools.find(({ name }) => name === "refund")).toMatchObject({ defer_loading: true });
  expect(called).toEqual(['refund {"order":"7"}']);

  await host.restart();
  await (await host.get(Clerk, "a")).saveMessages([user("u2", "Thank you.")]);
  const types = sent.at(-1)?.messages.flatMap(({ content }) => content.map(({ type }) => type)) ?? [];
  expect(types).toEqual(
    expect.arrayContaining(["server_tool_use", "tool_search_tool_result", "tool_use", "tool_result"])
  );
  expect(called).toEqual(['refund {"order":"7"}']);
});
