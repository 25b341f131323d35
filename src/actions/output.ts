// What the model is shown of an action's result: JSON, at most MAX_OUTPUT_CHARS of it, with its shape kept where it is
// cut and the id under which the whole can be read in pages. Pure: keeping the whole value is the caller's.
import { sliceText, truncateText, truncateToolOutput } from "../util/truncate-value.ts";
import { isObject, type Json } from "../util/json.ts";
import { whereTheRestIs } from "../think/read-result.ts";
import { jsonCopy } from "./json-copy.ts";

/** Characters of a text, or of the JSON of anything else. */
export const MAX_OUTPUT_CHARS = 20_000;

export interface PreparedOutput {
  /** Undefined when there was no result. */
  readonly output: Json | undefined;
  /** The whole result as text, when `output` is only a part of it. */
  readonly whole?: string;
  /** The result could not be made JSON; why. */
  readonly problem?: string;
}

/** `keep` is asked for an id only when the output must be cut; undefined when the whole cannot be kept. */
export function prepareOutput(value: unknown, keep: (whole: string) => string | undefined): PreparedOutput {
  const copied = jsonCopy(value);
  if (!copied.ok) return { output: { serialized: false, error: copied.error }, problem: copied.error };
  const output = copied.value;
  if (typeof output === "string") {
    return output.length <= MAX_OUTPUT_CHARS ? { output } : { output: cutText(output, keep(output)), whole: output };
  }
  const whole = output === undefined ? "" : JSON.stringify(output);
  if (whole.length <= MAX_OUTPUT_CHARS) return { output };
  return { output: cutValue(output, whole, keep(whole)), whole };
}

function cutText(text: string, resultId: string | undefined): string {
  const start = sliceText(text, MAX_OUTPUT_CHARS);
  const rest = resultId === undefined ? "" : `; ${whereTheRestIs(resultId)}`;
  return `${start}\n... [truncated ${text.length - start.length} chars${rest}]`;
}

function cutValue(value: unknown, whole: string, resultId: string | undefined): Json {
  return {
    truncated: true,
    chars: whole.length,
    preview: previewOf(value, whole),
    ...(resultId !== undefined && { resultId })
  };
}

/** The value with its shape, or where nothing but a note would be left of it, the beginning of its JSON. */
function previewOf(value: unknown, whole: string): Json {
  // What shrinks JSON gives JSON.
  const shrunk = truncateToolOutput(value, MAX_OUTPUT_CHARS) as Json;
  const isOnlyNote = isObject(shrunk) && Object.keys(shrunk).every((key) => key.startsWith("__") || key === "note");
  return isOnlyNote ? truncateText(whole, MAX_OUTPUT_CHARS) : shrunk;
}
