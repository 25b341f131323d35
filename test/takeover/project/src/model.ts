// A model without a network. The newest message of the user says what it answers: `say <text>`, `call <tool> <json>`
// (then "Done."), or `hold <text>`, which streams the text and does not end while `holds` is true.

type Part = { type: string; text?: string };
type Message = { role: string; content: string | readonly Part[] };

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined }
};

const SCRIPT = /(say|call|hold) ([^]*)$/;

export function scriptedModel(holds: (text: string) => boolean) {
  return {
    specificationVersion: "v3" as const,
    provider: "offline",
    modelId: "scripted",
    supportedUrls: {},
    async doStream({ prompt }: { prompt: readonly Message[] }) {
      const parts = partsOf(prompt, holds);
      return {
        stream: new ReadableStream({
          async pull(controller) {
            const { value, done } = await parts.next();
            if (done) controller.close();
            else controller.enqueue(value);
          }
        })
      };
    },
    async doGenerate() {
      return {
        content: [{ type: "text" as const, text: "A summary of what was said." }],
        finishReason: { unified: "stop" as const, raw: undefined },
        usage: USAGE,
        warnings: []
      };
    }
  };
}

async function* partsOf(prompt: readonly Message[], holds: (text: string) => boolean) {
  const asked = prompt.findLastIndex((message) => message.role === "user" && SCRIPT.test(textOf(message)));
  const text = textOf(prompt[asked]);
  const [, verb = "say", rest = "Hello."] = SCRIPT.exec(text) ?? [];
  const isAnswered = prompt.slice(asked).some(({ role }) => role === "tool");
  yield { type: "stream-start", warnings: [] };
  if (verb === "call" && !isAnswered) {
    const [, tool = "", input = "{}"] = /^(\S+) ?([^]*)$/.exec(rest) ?? [];
    const toolCallId = `call-${crypto.randomUUID()}`;
    yield { type: "tool-call", toolCallId, toolName: tool, input };
    yield { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE };
    return;
  }
  yield { type: "text-start", id: "t" };
  const answer = verb === "call" ? "Done." : rest;
  const words = answer.split(/(?<= )/);
  // What was said before an interruption is said once.
  const said = textOf(prompt.slice(asked).findLast(({ role }) => role === "assistant"));
  const isContinued = said !== "" && answer.startsWith(said);
  for (const word of isContinued ? answer.slice(said.length).split(/(?<= )/) : words)
    yield { type: "text-delta", id: "t", delta: word };
  if (verb === "hold" && holds(text)) {
    // workerd ends a request that waits for nothing from outside, so the wait is made of timers.
    for (;;) await scheduler.wait(25);
  }
  yield { type: "text-end", id: "t" };
  yield { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: USAGE };
}

function textOf(message: Message | undefined): string {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => part.text ?? "").join("");
}
