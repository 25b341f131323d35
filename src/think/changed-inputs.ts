// What the model is told of calls that a person approved with another input: it reads the call as it ran, and would take the
// changed input for its own. Pure.
import type { UIMessage } from "ai";
import { isToolPart, toolNameOf, type ToolPart } from "../model/index.ts";
import { truncateText } from "../util/truncate-value.ts";

/** The newest that are told. */
const MAX_CALLS = 20;
/** Of each input. */
const MAX_INPUT_CHARS = 2_000;

/** Sections of the prompt. Empty: no input was changed in what the model is shown. */
export function changedInputsPrompt(
  history: readonly UIMessage[]
): { readonly label: string; readonly text: string }[] {
  const changed = history.flatMap(({ parts }) =>
    parts.flatMap((part) => (isToolPart(part) && part.askedInput !== undefined ? [part] : []))
  );
  if (changed.length === 0) return [];
  const lines = changed.slice(-MAX_CALLS).map(describeChange);
  return [{ label: "CHANGED INPUTS", text: [INTRODUCTION, ...lines].join("\n") }];
}

const INTRODUCTION =
  "The user approved these calls with another input than the one you gave. Each ran with the user's input; do not repeat it with yours.";

function describeChange(part: ToolPart): string {
  const [asked, now] = [part.askedInput, part.input].map(shownInput);
  return `- ${toolNameOf(part)} (${part.toolCallId}): the user changed ${asked} to ${now}`;
}

function shownInput(input: unknown): string {
  return truncateText(JSON.stringify(input ?? null), MAX_INPUT_CHARS);
}
