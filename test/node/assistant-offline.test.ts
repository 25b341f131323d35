// The offline model by itself: what it recognises, and that it goes on after any word.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelCall, Prompt, StreamPart } from "../../examples/assistant/server/language-model.ts";
import { nextStep } from "../../examples/assistant/server/offline/answer.ts";
import { offlineModel } from "../../examples/assistant/server/offline/offline-model.ts";
import type { Step } from "../../examples/assistant/server/offline/plan.ts";
import { SUGGESTIONS } from "../../examples/assistant/shared/suggestions.ts";

const CONTINUE: Prompt[number] = {
  role: "user",
  content: [{ type: "text", text: "Continue your previous response exactly where it stopped. Do not repeat anything." }]
};

const DECIDED: Prompt[number] = {
  role: "user",
  content: [
    { type: "text", text: "The action that was waiting for approval has been decided; its outcome now stands above." }
  ]
};

const ask = (text: string): Prompt => [{ role: "user", content: [{ type: "text", text }] }];

const TOOLS: NonNullable<ModelCall["tools"]> = ["browser_info", "now", "calculate", "bash"].map((name) => ({
  type: "function",
  name,
  inputSchema: {}
}));

const next = (prompt: Prompt): Step => nextStep({ prompt, tools: TOOLS });

/** What a working tool would answer. */
const RESULTS: Record<string, unknown> = {
  now: { date: "2026-11-15", time: "10:00:00", weekday: "Sunday", timeZone: "UTC" },
  calculate: { value: 47 },
  count_primes: { count: 17_984, largest: 199_999 },
  take_note: { id: 7, text: "a note" },
  list_notes: { notes: [{ id: 7, text: "a note" }] },
  delete_note: { deleted: 7 },
  publish_note: { status: "paused", executionId: "x" },
  browser_info: { width: 800, height: 600, timeZone: "Europe/Oslo" },
  set_context: "Written to memory.",
  write: { path: "/voyage/packing.md", bytesWritten: 90, lines: 8 },
  edit: { path: "/voyage/packing.md", replaced: true, lines: 8 },
  grep: { totalMatches: 2, matches: [] },
  bash: { stdout: "5\n", stderr: "", exitCode: 0 }
};

type Output = Extract<Extract<Prompt[number], { role: "tool" }>["content"][number], { type: "tool-result" }>["output"];

function withCall(prompt: Prompt, call: NonNullable<Step["call"]>, output: Output): Prompt {
  const id = { toolCallId: `c${prompt.length}`, toolName: call.tool };
  return [
    ...prompt,
    { role: "assistant", content: [{ type: "tool-call", ...id, input: call.input }] },
    { role: "tool", content: [{ type: "tool-result", ...id, output }] }
  ];
}

const resultOf = (tool: string): Output => ({ type: "json", value: JSON.parse(JSON.stringify(RESULTS[tool])) });

const withText = (prompt: Prompt, text: string): Prompt =>
  text === "" ? prompt : [...prompt, { role: "assistant", content: [{ type: "text", text }] }];

/** Plays a question to its end; `cut` may split the words of a step in two by a crash. */
function play(question: string, cut: (step: number, text: string) => number = () => -1) {
  let prompt = ask(question);
  const answers: string[] = [];
  for (let number = 0; number < 20; number += 1) {
    let step = next(prompt);
    const { text = "" } = step;
    const at = cut(number, text);
    if (at > 0) {
      prompt = withText(prompt, text.slice(0, at));
      step = next([...prompt, CONTINUE]);
      // Thoughts that led to words are not thought again.
      expect(step.reasoning).toBeUndefined();
      answers.push(text.slice(0, at) + (step.text ?? ""));
    } else answers.push(text);
    prompt = withText(prompt, step.text ?? "");
    if (step.call === undefined) return { answers, prompt, last: step };
    answers.push(`[${step.call.tool} ${JSON.stringify(step.call.input)}]`);
    prompt = withCall(prompt, step.call, resultOf(step.call.tool));
  }
  throw new Error("It never ends.");
}

const QUESTIONS = [
  ...SUGGESTIONS.map(({ prompt }) => prompt),
  "Show me some markdown.",
  "What is 2+2?",
  "Please fail after a few words.",
  "List my notes.",
  "Delete note 7.",
  "What do you think of Kant?"
];

describe("going on", () => {
  test("whatever word the process died at, the answer in the end is the same", () => {
    fc.assert(
      fc.property(fc.constantFrom(...QUESTIONS), fc.integer({ min: 0, max: 3 }), fc.nat(), (question, step, seed) => {
        const whole = play(question);
        const cut = (number: number, text: string) => (number === step && text !== "" ? seed % (text.length + 1) : -1);
        expect(play(question, cut).answers).toEqual(whole.answers);
      }),
      { numRuns: 500 }
    );
  });

  test("an answer that is there as a whole is not said again", () => {
    const { prompt } = play("Tell me a long story.");
    expect(next([...prompt, CONTINUE])).toEqual({});
  });

  test("a call that was cut off is made again, three times, and then it says so", () => {
    const interrupted: Output = {
      type: "error-text",
      value: "The call was interrupted before a result was recorded. It may or may not have taken effect."
    };
    let prompt = withText(ask("Count the primes below 100."), next(ask("Count the primes below 100.")).text ?? "");
    for (let time = 0; time < 4; time += 1) {
      const { call, text } = next(prompt);
      expect(text, `time ${time}`).toBeUndefined();
      expect(call).toEqual({ tool: "count_primes", input: { below: 100 } });
      prompt = withCall(prompt, call!, interrupted);
    }
    expect(next(prompt).text).toContain("the process died");
  });

  test("a deletion that was cut off is not repeated", () => {
    let prompt = ask('Take a note that says "x", then delete it.');
    const take = next(prompt);
    prompt = withCall(withText(prompt, take.text ?? ""), take.call!, resultOf("take_note"));
    const remove = next(prompt);
    prompt = withCall(withText(prompt, remove.text ?? ""), remove.call!, {
      type: "error-text",
      value: "The call was interrupted before a result was recorded."
    });
    expect(next(prompt)).toEqual({ text: expect.stringContaining("nobody can say whether it took effect") });
  });
});

describe("a decision", () => {
  const publish = (id: number) => ({ tool: "publish_note", input: { id, text: "x" } });
  const rejected: Output = { type: "json", value: { status: "rejected", reason: "no" } };
  const waiting: Output = { type: "json", value: { status: "paused" } };
  const report = (id: number) =>
    `It is decided: note ${id} (“x”) stays off the board: it was not allowed. The reason given: no`;
  const asked = withText(withCall(ask("Publish note 1."), publish(1), rejected), "It waits.");
  /** A second one waits, and the talk has turned to something else. */
  const moved = withText(
    [...withText(withCall([...asked, ...ask("Publish note 2.")], publish(2), waiting), "It waits."), ...ask("hello")],
    "Hello!"
  );

  test("is reported, whatever was talked about since; what still waits is not", () => {
    expect(next([...asked, DECIDED])).toEqual({ text: report(1) });
    expect(next([...moved, DECIDED])).toEqual({ text: report(1) });
  });

  test("that was being reported when the process died is reported to its end", () => {
    for (let length = 1; length <= report(1).length; length += 1) {
      const { text = "" } = next([...withText(moved, report(1).slice(0, length)), DECIDED]);
      expect(report(1).slice(0, length) + text).toBe(report(1));
    }
  });

  test("is reported once, and a second one that reads the same once more", () => {
    const answers = withText(asked, report(1));
    expect(next([...answers, DECIDED])).toEqual({});
    const again = withText(withCall([...answers, ...ask("Publish note 1.")], publish(1), rejected), "It waits.");
    expect(next([...again, DECIDED])).toEqual({ text: report(1) });
  });
});

describe("what it recognises", () => {
  const callOf = (question: string) => {
    const { call } = next(ask(question));
    return call ? `${call.tool} ${JSON.stringify(call.input)}` : undefined;
  };

  test.each([
    ["how many primes are there below 1,000?", 'count_primes {"below":1000}'],
    ["COUNT PRIMES BELOW 1 million", 'count_primes {"below":1000000}'],
    ["primes please", 'count_primes {"below":200000}'],
    ["How long is it until the New Year?", "now {}"],
    ["what is 12*(3+4)?", 'calculate {"expression":"12*(3+4)"}'],
    ["Calculate 3 × 4 ÷ 2.", 'calculate {"expression":"3 * 4 / 2"}'],
    ["2^10", 'calculate {"expression":"2^10"}'],
    ["take a note: call the harbour", 'take_note {"text":"call the harbour"}'],
    ["Make a note to call the harbour, then publish it.", 'take_note {"text":"call the harbour"}'],
    ["Please write a note that says “mind the step” and then delete it", 'take_note {"text":"mind the step"}'],
    ["show me all notes", "list_notes {}"],
    ["remove note 3", "list_notes {}"],
    ["how big is my window?", "browser_info {}"],
    ["remember: I like tea", 'set_context {"label":"memory","content":"I like tea","action":"append"}'],
    ["Please remember that I like tea.", 'set_context {"label":"memory","content":"I like tea.","action":"append"}']
  ])("%s", (question, call) => {
    expect(callOf(question)).toBe(call);
  });

  test.each([
    ["hello there", /^Hello!/],
    ["Tell me a tale", /^# The Keeper/],
    ["what do you remember?", /^Nothing stands in my memory yet/],
    ["Show me a table in Markdown", /\| Tower \|/],
    ["What is the meaning of life?", /no understanding of language/],
    ["help", /no understanding of language/],
    ["", /no understanding of language/]
  ])("%s", (question, words) => {
    expect(next(ask(question))).toEqual({ text: expect.stringMatching(words) });
  });

  test("what it does not know it says in a few words, with every suggestion and how to set a model", () => {
    const { text = "" } = next(ask("What is the meaning of life?"));
    for (const { prompt } of SUGGESTIONS) expect(text).toContain(prompt);
    for (const name of ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENAI_COMPATIBLE_URL"])
      expect(text).toContain(name);
  });

  test("a picture is admitted to with its type and size, and not described", () => {
    const data = { type: "data" as const, data: new Uint8Array(5 * 1024) };
    const prompt: Prompt = [
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "file", mediaType: "image/png", data }
        ]
      }
    ];
    expect(next(prompt).text).toContain("a picture (image/png, 5 KiB)");
    expect(next(prompt).text).toContain("cannot see");
  });

  test("the markdown has a table, a code block with a language, a list, a quote and a link", () => {
    const { text = "" } = next(ask("Show me some markdown."));
    for (const pattern of [/^\| :---/m, /^```ts$/m, /^1\. /m, /^> /m, /\]\(https:\/\//]) expect(text).toMatch(pattern);
  });
});

describe("as a model of the SDK", () => {
  async function streamed(question: string, signal?: AbortSignal): Promise<StreamPart[]> {
    const model = offlineModel({ pause: async () => undefined });
    const { stream } = await model.doStream({ prompt: ask(question), ...(signal && { abortSignal: signal }) });
    const parts: StreamPart[] = [];
    for await (const part of stream) parts.push(part);
    return parts;
  }

  test("it streams words that make up the text, and counts tokens", async () => {
    const parts = await streamed("Tell me a long story.");
    const deltas = parts.flatMap((part) => (part.type === "text-delta" ? [part.delta] : []));
    expect(deltas.length).toBeGreaterThan(400);
    expect(deltas.join("")).toBe(next(ask("Tell me a long story.")).text);
    expect(parts.at(-1)).toMatchObject({
      type: "finish",
      finishReason: { unified: "stop" },
      usage: { outputTokens: { total: Math.ceil(deltas.join("").length / 4) } }
    });
  });

  test("an abort ends the stream with its reason", async () => {
    const stop = new AbortController();
    stop.abort(new Error("enough"));
    await expect(streamed("Tell me a long story.", stop.signal)).rejects.toThrow("enough");
  });

  test("failing on purpose is final: a refusal with status 400", async () => {
    await expect(streamed("Please fail on purpose.")).rejects.toMatchObject({ statusCode: 400, isRetryable: false });
    const parts = await streamed("Please fail after a few words.");
    expect(parts.at(-1)).toMatchObject({ type: "error", error: { statusCode: 400, isRetryable: false } });
  });

  test("asked without a stream it answers the same", async () => {
    const { content } = await offlineModel({ pause: async () => undefined }).doGenerate({ prompt: ask("hello") });
    expect(content).toEqual([{ type: "text", text: next(ask("hello")).text }]);
  });
});

describe("tools of MCP servers", () => {
  const key = "tool_abc12345_get-sum";
  const properties = { note: { type: "string" }, a: { type: "number" }, b: { type: "integer" } } as const;
  const tools: ModelCall["tools"] = [{ type: "function", name: key, inputSchema: { type: "object", properties } }];
  const step = (prompt: Prompt) => nextStep({ prompt, tools });

  test.each([
    ['Use get-sum with "mine", 2 and -40.5', { note: "mine", a: 2, b: -40.5 }],
    ['Please call get-sum with {"a": 1}', { a: 1 }],
    ["run get-sum with {nonsense}", {}]
  ])("%s", (question, input) => {
    expect(step(ask(question)).call).toEqual({ tool: key, input });
  });

  test.each(["What is get-sum?", "Use get-sums with 2", "Use get with 2"])("%s is not a call", (question) => {
    expect(step(ask(question)).call?.tool).not.toBe(key);
  });

  test("a call that was cut off is not made again: it may have taken effect", () => {
    const question = ask("Use get-sum with 2 and 3");
    const { call } = step(question);
    const cut = withCall(question, call!, { type: "error-text", value: "The call was interrupted." });
    expect(step(cut)).toEqual({ text: expect.stringContaining("can say whether it took effect") });
  });
});
