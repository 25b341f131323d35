// A model that needs no key and no network, so that the project runs as it is. It answers from a list of plans, and has no
// memory: it looks at the prompt and sends what is not there yet, so after a crash it goes on where it was. It is also the
// scripted model of `npm test` and `npm run chaos`. model.ts says when a real one takes its place.
import type { LanguageModel } from "ai";

type Model = Extract<LanguageModel, { specificationVersion: "v4" }>;
type ModelCall = Parameters<Model["doStream"]>[0];
type StreamPart = Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer Part> ? Part : never;

/** One model call: some text, then perhaps a tool. Tools whose name is not offered are left out. */
export interface Step {
  text?: string;
  call?: { tool: string; input: unknown };
}

export interface Plan {
  match: RegExp;
  /** `results` are what the tools of this turn returned so far. */
  steps: (match: RegExpMatchArray, results: readonly unknown[]) => readonly Step[];
}

export function offlineModel(plans: readonly Plan[], pace?: string): Model {
  const paceMs = Number(pace ?? 0);
  return {
    specificationVersion: "v4",
    provider: "offline",
    modelId: "plans",
    supportedUrls: {},
    async doStream(call) {
      return { stream: streamOf(parts(nextStep(plans, call), paceMs, call.abortSignal)) };
    },
    async doGenerate(call) {
      const step = nextStep(plans, call);
      const content = step.text ? [{ type: "text" as const, text: step.text }] : [];
      return { content, finishReason: { unified: "stop", raw: undefined }, usage: USAGE, warnings: [] };
    }
  };
}

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
};

async function* parts(step: Step, paceMs: number, signal: AbortSignal | undefined): AsyncGenerator<StreamPart> {
  yield { type: "stream-start", warnings: [] };
  if (step.text) {
    yield { type: "text-start", id: "text" };
    for (const delta of step.text.match(/\S+\s*|\s+/g) ?? []) {
      if (paceMs > 0) await new Promise((resolve) => setTimeout(resolve, paceMs));
      signal?.throwIfAborted();
      yield { type: "text-delta", id: "text", delta };
    }
    yield { type: "text-end", id: "text" };
  }
  if (step.call) {
    const toolCallId = `call-${crypto.randomUUID()}`;
    yield { type: "tool-call", toolCallId, toolName: step.call.tool, input: JSON.stringify(step.call.input) };
  }
  const unified = step.call ? "tool-calls" : "stop";
  yield { type: "finish", finishReason: { unified, raw: undefined }, usage: USAGE };
}

function streamOf(from: AsyncGenerator<StreamPart>): ReadableStream<StreamPart> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await from.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await from.return(undefined);
    }
  });
}

/** How everthink asks for the rest of an answer that a crash has cut off: no question of a person. */
const GO_ON = /^Continue your previous response/;

/** What the plan has and the prompt does not. */
function nextStep(plans: readonly Plan[], { prompt, tools }: ModelCall): Step {
  const asked = prompt.findLastIndex((message) => message.role === "user" && !GO_ON.test(textOf(message)));
  const question = textOf(prompt[asked]);
  const since = prompt.slice(asked + 1).filter(({ role }) => role !== "user");
  let said = since.map(textOf).join("");
  const results = since
    .flatMap((message) => (message.role === "tool" ? message.content : []))
    .flatMap((part) => (part.type === "tool-result" && "value" in part.output ? [part.output.value] : [""]));
  let calls = results.length;
  const offered = new Set(tools?.map(({ name }) => name));
  for (const { match, steps } of plans) {
    const found = question.match(match);
    if (!found) continue;
    for (const { text = "", call } of steps(found, results)) {
      if (said.startsWith(text)) said = said.slice(text.length);
      else return withCall({ text: text.startsWith(said) ? text.slice(said.length) : text }, call, offered);
      if (!call || !offered.has(call.tool)) continue;
      if (calls === 0) return { call };
      calls -= 1;
    }
    return {};
  }
  return { text: "I am the offline model, and have no plan for that." };
}

function withCall(step: Step, call: Step["call"], offered: ReadonlySet<string>): Step {
  return call && offered.has(call.tool) ? { ...step, call } : step;
}

function textOf(message: ModelCall["prompt"][number] | undefined): string {
  if (message === undefined || typeof message.content === "string") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
