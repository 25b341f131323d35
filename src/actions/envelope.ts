// A failed call, as the model reads it. Only name and message: stacks, causes and hints stay here. Pure.
import { errorMessage } from "../util/errors.ts";
import { truncateText } from "../util/truncate-value.ts";
import { ActionError } from "./errors.ts";

/** Characters of an error's text. */
export const MAX_ERROR_CHARS = 4_000;
const MAX_NAME_CHARS = 100;

export interface ErrorEnvelope {
  readonly error: { readonly name: string; readonly message: string; readonly [field: string]: string | string[] };
}

export function errorEnvelope(error: unknown): ErrorEnvelope {
  const extra = error instanceof ActionError ? error.extra : undefined;
  return {
    error: { ...extra, name: nameOf(error), message: truncateText(textOf(error), MAX_ERROR_CHARS) }
  };
}

function nameOf(error: unknown): string {
  // An aborted signal's reason is a DOMException, which is an Error in every host.
  const name: unknown = error instanceof Error ? error.name : undefined;
  return typeof name === "string" && name !== "" ? name.slice(0, MAX_NAME_CHARS) : "Error";
}

/** Whatever was thrown, even what cannot be printed. */
function textOf(error: unknown): string {
  try {
    return String(errorMessage(error));
  } catch {
    return "Something was thrown that cannot be shown.";
  }
}
