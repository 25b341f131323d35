// What the real provider packages send of a conversation in which something was left empty: an answer that was stopped or
// failed before its first word, thoughts without an answer, messages that earlier versions stored. No later turn may die of
// it. The suite runs on both majors of the SDK.
import { tool, type LanguageModel, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, type TurnConfig } from "../../src/index.ts";
import { createTestHost, type TestSocket } from "../../src/testing/index.ts";
import { Breaks, finish, misbehavingModel, text, toolCall, type Answer, type Part } from "./misbehaving-model.ts";
import { PROVIDER_APIS, type OpenApi, type ProviderApi } from "./provider-apis.ts";
import { framesOf, sendChat } from "../kit/frames.ts";

let model: LanguageModel;
let config: TurnConfig;

beforeEach(() => {
  config = {};
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

class Chat extends Think {
  override getModel(): LanguageModel {
    return model;
  }
  override getTools() {
    return {
      note: tool({
        inputSchema: z.object({}),
        execute: async () => "noted",
        // As tools of MCP servers are shown.
        toModelOutput: () => ({ type: "content", value: [{ type: "text", text: "" }] })
      })
    };
  }
  override beforeTurn() {
    return config;
  }
  async remember(messages: UIMessage[]) {
    await this.addMessages(messages);
  }
}

const message = (role: UIMessage["role"], id: string, ...parts: object[]): UIMessage => ({
  id,
  role,
  // Some are what no version of ours would store today.
  parts: parts as UIMessage["parts"]
});
const said = (words: string) => ({ type: "text", text: words });

class Talk {
  readonly #host = createTestHost({ agents: { Chat } });
  readonly #socket: Promise<TestSocket> = this.#host.connect("/agents/chat/a");

  async remember(messages: UIMessage[]): Promise<void> {
    await (await this.#host.get(Chat, "a")).remember(messages);
  }

  async ask(id: string, question: UIMessage = message("user", `u-${id}`, said(`Question ${id}`))): Promise<void> {
    sendChat(await this.#socket, id, [question]);
    await this.#host.idle();
  }

  async stop(id: string): Promise<void> {
    (await this.#socket).send({ type: "cf_agent_chat_request_cancel", id });
    await this.#host.idle();
  }

  /** What the client was shown of a turn: its text, or its error. */
  async shown(id: string): Promise<string> {
    const frames = framesOf(await this.#socket).filter((frame) => frame.id === id);
    const error = frames.find((frame) => frame.error);
    if (error) return `error: ${error.body}`;
    const chunks = frames.flatMap(({ body, done }) => (body && !done ? [JSON.parse(body)] : []));
    return chunks.map(({ type, delta }) => (type === "text-delta" ? delta : "")).join("");
  }
}

/** Goes on until it is stopped. */
const silent = (...parts: Part[]): Answer => {
  return () => ({
    stream: new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
      }
    })
  });
};
const opening = { type: "text-start", id: "t1" };
const thinking = (id: string, more: object = {}): Part[] => [
  { type: "reasoning-start", id },
  { type: "reasoning-delta", id, delta: "Let me see." },
  { type: "reasoning-end", id, ...more }
];
const signed = {
  providerMetadata: {
    anthropic: { signature: "signed" },
    google: { thoughtSignature: "signed" },
    openai: { itemId: "rs_1", reasoningEncryptedContent: "encrypted" }
  }
};
const itemOf = (id: string) => ({ providerMetadata: { openai: { itemId: id } } });

/** Answers that end without a word. `stops`: the user stops them. */
const EMPTY_ANSWERS: readonly (readonly [string, { answers: readonly Answer[]; stops?: true }])[] = [
  ["stopped after the start of its text", { answers: [silent(opening)], stops: true }],
  [
    "stopped after the start of its text, as OpenAI sends it",
    { answers: [silent({ ...opening, ...itemOf("msg_1") })], stops: true }
  ],
  [
    "stopped while it was thinking",
    {
      answers: [silent({ type: "reasoning-start", id: "r1" }, { type: "reasoning-delta", id: "r1", delta: "Hm" })],
      stops: true
    }
  ],
  ["stopped after a whole thought", { answers: [silent(...thinking("r1", signed), opening)], stops: true }],
  [
    "stopped while it was thinking again, after a text",
    { answers: [silent(...text("So far."), ...thinking("r2", signed))], stops: true }
  ],
  ["failed after the start of its text", { answers: [[opening, new Breaks(new Error("The model is gone."))]] }],
  ["finished without a word", { answers: [[opening, { type: "text-end", id: "t1" }, finish("stop")]] }],
  ["finished with a line break", { answers: [[...text("\n\n"), finish("stop")]] }],
  ["finished with a thought", { answers: [[...thinking("r1", signed), finish("stop")]] }],
  [
    "finished after its call without a word",
    {
      answers: [
        [...thinking("r1", signed), ...text("\n"), ...toolCall("c1", "note", {}), finish("tool-calls")],
        [opening, { type: "text-end", id: "t1" }, finish("stop")]
      ]
    }
  ],
  [
    "stopped after its call",
    { answers: [[...toolCall("c1", "note", {}), finish("tool-calls")], silent(opening)], stops: true }
  ]
];

/** What a conversation may hold from before. */
const STORED: readonly (readonly [string, UIMessage[]])[] = [
  [
    "an answer with an empty text",
    [message("user", "u1", said("One")), message("assistant", "a1", { type: "step-start" }, said(""))]
  ],
  ["an answer without parts", [message("user", "u1", said("One")), message("assistant", "a1")]],
  [
    "an answer of a step without content",
    [message("user", "u1", said("One")), message("assistant", "a1", { type: "step-start" })]
  ],
  ["an answer of spaces", [message("user", "u1", said("One")), message("assistant", "a1", said("  \n"))]],
  [
    "a thought of another provider",
    [message("user", "u1", said("One")), message("assistant", "a1", { type: "reasoning", text: "Hm" })]
  ],
  ["an empty question", [message("user", "u1", said("")), message("assistant", "a1", said("Yes?"))]],
  ["a question of spaces", [message("user", "u1", said(" ")), message("assistant", "a1", said("Yes?"))]],
  [
    "a file without words",
    [
      message(
        "user",
        "u1",
        { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
        said(" ")
      )
    ]
  ],
  [
    "an empty instruction",
    [message("system", "s1", said(" ")), message("user", "u1", said("One")), message("assistant", "a1", said("Yes?"))]
  ],
  [
    "a call without words",
    [
      message("user", "u1", said("One")),
      message("assistant", "a1", {
        type: "tool-note",
        toolCallId: "c1",
        state: "output-available",
        input: {},
        output: "noted"
      })
    ]
  ]
];

describe.each(PROVIDER_APIS)("with $name, a turn goes on after", (provider: ProviderApi) => {
  const answered = async (talk: Talk): Promise<OpenApi> => {
    const api = await provider.open();
    model = api.model;
    await talk.ask("next");
    expect(await talk.shown("next"), JSON.stringify(api.bodies)).toBe("Fine.");
    await talk.ask("last");
    expect(await talk.shown("last"), JSON.stringify(api.bodies)).toBe("Fine.");
    return api;
  };

  test.each(EMPTY_ANSWERS)("an answer that was %s", async (_name, { answers, stops }) => {
    const talk = new Talk();
    model = misbehavingModel(answers).model;
    await talk.ask("first");
    if (stops) await talk.stop("first");
    const { bodies } = await answered(talk);
    expect(JSON.stringify(bodies.at(-1))).toContain("Question first");
  });

  test.each(STORED)("%s was stored", async (_name, messages) => {
    const talk = new Talk();
    await talk.remember(messages);
    await answered(talk);
  });

  test("a question without words", async () => {
    const talk = new Talk();
    model = (await provider.open()).model;
    for (const [id, words] of [
      ["first", ""],
      ["second", " "]
    ] as const) {
      await talk.ask(id, message("user", `u-${id}`, said(words)));
      expect(await talk.shown(id)).toBe("Fine.");
    }
    await answered(talk);
  });

  test("messages of a hook that hold nothing", async () => {
    const talk = new Talk();
    config = {
      system: " ",
      messages: [
        { role: "system", content: "" },
        { role: "user", content: "Hook" },
        { role: "assistant", content: "" },
        { role: "assistant", content: [] },
        { role: "user", content: [{ type: "text", text: "\n" }] },
        { role: "assistant", content: [{ type: "text", text: " " }] },
        { role: "user", content: "Hook again" }
      ]
    };
    const { bodies } = await answered(talk);
    expect(JSON.stringify(bodies[0])).toContain("Hook again");
  });
});
