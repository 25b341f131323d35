// What a workflow asks of an agent: a submission whose metadata says where the answer goes and what shape it has. Read
// from the package's own key only: metadata and bodies of any other name configure nothing. Pure.
import type { UIMessage } from "ai";
import { isToolPart, toolNameOf } from "../../model/index.ts";
import { isObject, parseJson } from "../../util/json.ts";

/** The one name in a submission's metadata that is not the caller's. */
export const PROMPT_KEY = "__thinkWorkflowPrompt";

/** The tool a model gives its structured answer with, unless the class has one of that name. */
export const FINAL_ANSWER = "think_final_answer";

export interface WorkflowPrompt {
  readonly workflow: {
    /** The workflow's binding. */
    readonly name: string;
    readonly id: string;
    readonly stepName: string;
    readonly eventType: string;
  };
  /** Undefined: the text of the answer is the output. */
  readonly output?: { readonly schema: Record<string, unknown> };
  readonly maxSteps?: number;
  readonly modelHint?: string;
  /** Equal for the same prompt and schema. */
  readonly fingerprint: string;
}

/** From the stored metadata; undefined for a submission that no workflow made. */
export function readWorkflowPrompt(metadata: string | null): WorkflowPrompt | undefined {
  const parsed = metadata === null ? undefined : parseJson(metadata);
  const given = parsed?.ok && isObject(parsed.value) ? parsed.value[PROMPT_KEY] : undefined;
  if (!isObject(given) || !isObject(given["workflow"])) return undefined;
  const { name, id, stepName, eventType } = given["workflow"];
  const { output, maxSteps, modelHint, fingerprint } = given;
  if (typeof name !== "string" || typeof id !== "string" || typeof eventType !== "string") return undefined;
  return {
    workflow: { name, id, stepName: String(stepName), eventType },
    output: isObject(output) && isObject(output["schema"]) ? { schema: output["schema"] } : undefined,
    maxSteps: typeof maxSteps === "number" ? maxSteps : undefined,
    modelHint: typeof modelHint === "string" ? modelHint : undefined,
    fingerprint: String(fingerprint)
  };
}

/** A name that no tool of the class has. */
export function finalAnswerName(taken: ReadonlySet<string>): string {
  let name = FINAL_ANSWER;
  for (let number = 1; taken.has(name); number += 1) name = `${FINAL_ANSWER}_${number}`;
  return name;
}

export interface TakenAnswer {
  /** The input of the last call; undefined: the model made none. */
  readonly output: unknown;
  /** The message without the calls; undefined when nothing else is in it. */
  readonly message: UIMessage | undefined;
}

/** The structured answer, and what is left of the message: the calls are a means, and no part of the conversation. */
export function takeFinalAnswer(message: UIMessage | undefined, toolName: string): TakenAnswer {
  const calls =
    message?.parts.flatMap((part) => (isToolPart(part) && toolNameOf(part) === toolName ? [part] : [])) ?? [];
  if (!message || calls.length === 0) return { output: undefined, message };
  const given: ReadonlySet<unknown> = new Set(calls);
  const parts = message.parts.filter((part) => !given.has(part));
  const isEmpty = parts.every(({ type }) => type === "step-start");
  return {
    output: calls.findLast(({ state }) => state === "output-available")?.input,
    message: isEmpty ? undefined : { ...message, parts }
  };
}

/** The text of an answer, for a prompt that asks for no shape. */
export function answerText(message: UIMessage | undefined): string {
  return message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
}
