import type { ModelMessage, ToolSet, UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  anthropicRedactedThinking,
  anthropicThinking,
  googleText,
  googleThought,
  googleToolCall,
  openaiReasoning,
  reply,
  text,
  toolCall,
  toolResult,
  type PromptMessage,
  type Step
} from "../testing/model/index.ts";
import {
  CONTINUE_TEXT,
  endInQuestion,
  NO_TEXT,
  prepareMessages,
  toModelMessages,
  unpairedCallIds
} from "./message-codec.ts";
import { closeOpenParts, foldChunks, foldedMessage, startFold } from "./message-fold.ts";
import { sanitizeMessage } from "../util/sanitize-message.ts";
import { majors, run, type TestMajor } from "./sdk-majors.test-support.ts";

const user: UIMessage = { id: "u", role: "user", parts: [{ type: "text", text: "Hi" }] };
const assistant = (...parts: object[]): UIMessage => ({
  id: "a",
  role: "assistant",
  parts: parts as UIMessage["parts"]
});
const call = (state: string, more: object = {}) => ({
  type: "tool-t",
  toolCallId: "c",
  state,
  input: { a: 1 },
  ...more
});

describe.each(majors)("with $name", (major) => {
  const convert = (messages: UIMessage[], tools: ToolSet = {}) => toModelMessages(major.sdk, messages, { tools });
  const results = (messages: ModelMessage[]) =>
    messages
      .flatMap((message) => (message.role === "tool" ? message.content : []))
      .filter((part) => part.type === "tool-result");

  describe("every call has its result and every result its call", () => {
    test.each([
      ["a result", call("output-available", { output: { ok: true } }), { type: "json", value: { ok: true } }],
      ["a text result", call("output-available", { output: "fine" }), { type: "text", value: "fine" }],
      ["an error", call("output-error", { errorText: "no" }), { type: "error-text", value: "no" }],
      [
        "a broken call",
        call("output-error", { errorText: "bad", input: undefined, rawInput: "{x" }),
        { type: "error-text", value: "bad" }
      ],
      [
        "a denial",
        call("output-denied", { approval: { id: "p", approved: false, reason: "too risky" } }),
        { type: "error-text", value: "too risky" }
      ],
      ["a denial without reason", call("output-denied"), { type: "error-text" }],
      [
        "a refused approval",
        call("approval-responded", { approval: { id: "p", approved: false } }),
        { type: "error-text" }
      ],
      [
        "an approved and executed call",
        call("output-available", { output: 1, approval: { id: "p", approved: true } }),
        { type: "json", value: 1 }
      ]
    ])("%s", async (_name, part, output) => {
      for (const messages of [
        [user, assistant(part), user],
        [user, assistant(part)]
      ]) {
        const converted = await convert(messages);
        expect(unpairedCallIds(converted)).toEqual([]);
        expect(results(converted)).toMatchObject([{ toolCallId: "c", toolName: "t", output }]);
        expect(JSON.stringify(converted)).not.toContain("approval");
      }
    });

    test.each([
      ["streaming input", call("input-streaming", { rawInput: '{"a' })],
      ["no outcome", call("input-available")],
      ["an open question", call("approval-requested", { approval: { id: "p" } })],
      ["only a preliminary output", call("output-available", { output: 1, preliminary: true })],
      ["a grant that was overtaken", call("approval-responded", { approval: { id: "p", approved: true } })]
    ])("a call with %s is left out, and said so", async (_name, part) => {
      const dropped: unknown[] = [];
      const messages = [user, assistant({ type: "text", text: "Let me see." }, part), user];
      const converted = await toModelMessages(major.sdk, messages, { onDropped: (calls) => dropped.push(...calls) });
      expect(unpairedCallIds(converted)).toEqual([]);
      expect(JSON.stringify(converted)).not.toContain("tool-call");
      expect(dropped).toEqual([{ messageId: "a", toolCallId: "c", toolName: "t" }]);
    });

    test("the second of two parts with one call id is left out", async () => {
      const done = call("output-available", { output: 1 });
      expect(unpairedCallIds(await convert([user, assistant(done, { type: "step-start" }, done)]))).toEqual([]);
    });
  });

  test("an approved call at the end is executed by the SDK before it asks the model", async () => {
    const executed: unknown[] = [];
    const tools = {
      t: major.module.tool({
        inputSchema: z.object({ a: z.number() }),
        needsApproval: true,
        execute: async (input) => void executed.push(input)
      })
    };
    const messages = await convert(
      [user, assistant({ type: "step-start" }, call("approval-responded", { approval: { id: "p", approved: true } }))],
      tools
    );
    const { chunks, outcome, model } = await run(major, { steps: [reply(text("done"))], messages, tools });
    expect(executed).toEqual([{ a: 1 }]);
    expect(outcome.status).toBe("completed");
    expect(chunks).toContainEqual(expect.objectContaining({ type: "tool-output-available", toolCallId: "c" }));
    expect(model.script.calls[0]?.prompt.at(-1)?.role).toBe("tool");
  });

  test("inputs are objects", async () => {
    const messages = ["", null, [1], "text", undefined, '{"b":2}'].map((input, index) =>
      assistant({ ...call("output-available", { output: 1 }), toolCallId: `c${index}`, input })
    );
    const inputs = (await convert([user, ...messages])).flatMap((message) =>
      message.role === "assistant" && typeof message.content !== "string"
        ? message.content.map((part) => "input" in part && part.input)
        : []
    );
    expect(inputs).toEqual([{}, {}, {}, {}, {}, { b: 2 }]);
  });

  test("messages without content for the model are left out", async () => {
    const blank: UIMessage = { id: "b", role: "user", parts: [{ type: "text", text: "" }] };
    const dataOnly: UIMessage = { id: "d", role: "user", parts: [{ type: "data-x", data: 1 }] };
    const messages = [dataOnly, blank, assistant({ type: "step-start" }), user];
    expect(await convert(messages)).toEqual([{ role: "user", content: [{ type: "text", text: "Hi" }] }]);
  });

  test.each<[string, object]>([
    ["an empty", { type: "text", text: "" }],
    ["a blank", { type: "text", text: " \n" }],
    ["a data-only", { type: "data-x", data: 1 }]
  ])("%s newest question is asked in words, once", async (_name, part) => {
    const asked = assistant({ type: "text", text: "Yes?" });
    const nothing = { ...user, parts: [part] as UIMessage["parts"] };
    const converted = await convert([nothing, asked, nothing]);
    expect(converted.map(({ role }) => role)).toEqual(["assistant", "user"]);
    expect(converted.at(-1)?.content).toEqual([{ type: "text", text: NO_TEXT }]);
  });

  test("a file without a readable address costs the file only", async () => {
    const message: UIMessage = {
      ...user,
      parts: [{ type: "file", mediaType: "image/png", url: "not a url", filename: "x.png" }]
    };
    expect(JSON.stringify(await convert([message]))).toContain("[x.png (image/png) cannot be shown]");
  });

  test("old outputs are rendered by the turn's tools, and a renderer that throws costs nothing", async () => {
    const rendering = (render: () => { type: "text"; value: string }) => ({
      t: major.module.tool({
        inputSchema: z.object({}),
        outputSchema: z.unknown(),
        execute: async () => 1,
        toModelOutput: render
      })
    });
    const history = [user, assistant(call("output-available", { output: { big: true } }))];
    expect(
      results(
        await convert(
          history,
          rendering(() => ({ type: "text", value: "rendered" }))
        )
      )
    ).toMatchObject([{ output: { value: "rendered" } }]);
    const logged: string[] = [];
    const tools = rendering(() => {
      throw new Error("shape changed");
    });
    const converted = await toModelMessages(major.sdk, history, { tools, log: (message) => void logged.push(message) });
    expect(results(converted)).toMatchObject([{ output: { type: "json", value: { big: true } } }]);
    expect(logged).toHaveLength(1);
  });

  describe("round trip: the request after a reload equals the one the provider would have got without it", () => {
    const weather = major.module.tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async () => ({ degrees: 21 })
    });

    test.each<[string, Step[]]>([
      [
        "Anthropic thinking",
        [
          reply(anthropicThinking("Let me see.", "sig-1"), toolCall("weather", { city: "Paris" }, { id: "c1" })),
          reply(anthropicThinking("Good.", "sig-2"), text("Sunny."))
        ]
      ],
      [
        "Anthropic redacted thinking",
        [
          reply(anthropicRedactedThinking("encrypted"), toolCall("weather", { city: "Paris" }, { id: "c1" })),
          reply(text("Sunny."))
        ]
      ],
      [
        "Google thought signatures",
        [
          reply(googleThought("Hm.", "sig-1"), googleToolCall("weather", { city: "Paris" }, "sig-2")),
          reply(googleText("Sunny.", "sig-3"))
        ]
      ],
      [
        "OpenAI encrypted reasoning",
        [
          reply(
            openaiReasoning("Checking.", { itemId: "rs_1", encryptedContent: "gAAA" }),
            toolCall("weather", { city: "Paris" }, { id: "c1", providerMetadata: { openai: { itemId: "fc_1" } } })
          ),
          reply(text("Sunny.", { metadata: { start: { openai: { itemId: "msg_1" } } } }))
        ]
      ],
      [
        "a tool the provider runs",
        [
          reply(
            toolCall(
              "web_search",
              { q: "x" },
              { id: "s1", providerExecuted: true, dynamic: true, providerMetadata: { anthropic: { k: 1 } } }
            ),
            toolResult("web_search", { hits: 3 }, { dynamic: true, providerMetadata: { anthropic: { r: 2 } } }),
            text("Found.")
          )
        ]
      ]
    ])("%s", async (_name, steps) => {
      const { reloaded, live } = await bothRequests(major, steps, { weather });
      expect(JSON.stringify(reloaded)).toBe(JSON.stringify(live));
    });

    test("OpenAI references removed on write leave nothing half-referenced", async () => {
      const steps = [
        reply(
          openaiReasoning("", { itemId: "rs_1", encryptedContent: "gAAA" }),
          toolCall("weather", { city: "Paris" }, { id: "c1", providerMetadata: { openai: { itemId: "fc_1" } } })
        ),
        reply(text("Sunny.", { metadata: { start: { openai: { itemId: "msg_1" }, other: { kept: true } } } }))
      ];
      const { reloaded } = await bothRequests(major, steps, { weather }, sanitizeMessage);
      const request = JSON.stringify(reloaded);
      expect(request).not.toMatch(/itemId|gAAA|reasoning/);
      expect(request).toContain('"kept":true');
    });
  });
});

/** The prompt of a second turn, once from stored messages and once from the model's own response messages. */
async function bothRequests(
  major: TestMajor,
  steps: Step[],
  tools: ToolSet,
  onWrite = (message: UIMessage) => message
) {
  const first = await run(major, {
    steps,
    tools,
    messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }]
  });
  const stored = onWrite(closeOpenParts(foldedMessage(foldChunks(startFold("a"), first.chunks))));
  // What a restart reads back.
  const reloadedMessage = JSON.parse(JSON.stringify(stored)) as UIMessage;
  const next: UIMessage = { id: "u2", role: "user", parts: [{ type: "text", text: "And now?" }] };
  const fromStorage = await toModelMessages(major.sdk, [user, reloadedMessage, next], { tools });
  const responses = first.outcome.steps.flatMap((step) => step.response.messages);
  // ai 6 reports each step's messages together with those of the steps before it.
  const responseMessages = major.sdk.major === 6 ? (first.outcome.steps.at(-1)?.response.messages ?? []) : responses;
  const inMemory: ModelMessage[] = [
    { role: "user", content: [{ type: "text", text: "Hi" }] },
    ...responseMessages,
    { role: "user", content: [{ type: "text", text: "And now?" }] }
  ];
  const prompt = async (messages: ModelMessage[]): Promise<readonly PromptMessage[] | undefined> =>
    (await run(major, { steps: [reply(text("ok"))], tools, messages })).model.script.calls[0]?.prompt;
  return { reloaded: await prompt(fromStorage), live: await prompt(inMemory) };
}

describe("the end of the prompt", () => {
  test("is a request to continue after an assistant message", () => {
    const messages: ModelMessage[] = [{ role: "assistant", content: "Once upon" }];
    expect(endInQuestion(messages).at(-1)).toEqual({ role: "user", content: [{ type: "text", text: CONTINUE_TEXT }] });
    expect(messages).toHaveLength(1);
  });

  test.each<ModelMessage[]>([[], [{ role: "user", content: "?" }], [{ role: "tool", content: [] }]])(
    "stays as it is otherwise",
    (...messages) => {
      expect(endInQuestion(messages)).toBe(messages);
    }
  );
});

test("preparing never changes what is stored", () => {
  const history = [
    user,
    assistant(call("output-available", { output: 1, approval: { id: "p", approved: true } }), call("input-available"))
  ];
  const before = JSON.stringify(history);
  prepareMessages(history);
  expect(JSON.stringify(history)).toBe(before);
});
